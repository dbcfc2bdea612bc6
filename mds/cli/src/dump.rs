//! `mds dump`: every record of a trace in one table of comma-separated values (`docs/trace-format.md`).

use mds::Metric;
use mds::emds::Scope;
use mds::mmds::{AlgorithmReport, DistributionReport, Figures, UnexpectedReport};
use mds::trace::MmdsFile;
use mds_trace::{EmdsFile, Trace};
use std::io::{self, Write};

/// Columns of every record.
const COMMON: [&str; 3] = ["record", "node", "host"];
/// Columns of MMDS records.
const MMDS: [&str; 10] =
    ["rank", "program", "name", "count", "min_ns", "max_ns", "total_ns", "bytes", "low", "high"];
/// The first column of EMDS records; the metrics follow.
const SLICE: &str = "slice";

pub fn write_csv(out: &mut dyn Write, trace: &Trace) -> io::Result<()> {
    let mut heading: Vec<String> = COMMON.map(str::to_owned).into();
    if !trace.mmds.is_empty() {
        heading.extend(MMDS.map(str::to_owned));
    }
    let before_slice = heading.len();
    if !trace.emds.is_empty() {
        heading.push(SLICE.to_owned());
        heading.extend(Metric::ALL.iter().map(|m| m.column()));
    }
    let mut csv = csv::WriterBuilder::new().from_writer(out);
    csv.write_record(&heading).map_err(io_error)?;
    let mut lines = Lines { csv, cells: vec![String::new(); heading.len()], before_slice };
    for file in &trace.mmds {
        lines.process(file)?;
    }
    for file in &trace.emds {
        lines.node(file)?;
    }
    lines.csv.flush()
}

struct Lines<W: Write> {
    csv: csv::Writer<W>,
    /// The line being written, a cell per column; cleared after each.
    cells: Vec<String>,
    before_slice: usize,
}

impl<W: Write> Lines<W> {
    fn process(&mut self, file: &MmdsFile) -> io::Result<()> {
        let report = &file.report;
        let total = |name, count, total| [("name", name), ("count", count), ("total_ns", total)];
        self.mmds(file, "time", &total("run_time".to_owned(), text(1), text(report.run_time)))?;
        let threads = total("thread_time".to_owned(), text(report.threads), text(report.thread_time));
        self.mmds(file, "time", &threads)?;
        if !report.unexpected.is_empty() {
            let UnexpectedReport { messages, most_bytes } = report.unexpected;
            self.mmds(file, "unexpected", &[("count", text(messages)), ("bytes", text(most_bytes))])?;
        }
        for AlgorithmReport { collective, algorithm, count } in &report.collectives {
            let name = format!("{collective}={algorithm}");
            self.mmds(file, "collective", &[("name", name), ("count", text(*count))])?;
        }
        if let Some(call) = &report.unfinished {
            self.mmds(file, "unfinished", &[("name", call.clone())])?;
        }
        let intervals = [("computation", &report.computation), ("communication", &report.communication)];
        for (name, interval) in intervals {
            self.figures(file, "interval", name, interval.figures, None)?;
        }
        for call in &report.calls {
            self.figures(file, "call", &call.name, call.figures, call.bytes)?;
        }
        for (name, interval) in intervals {
            self.distribution(file, "latency", name, &interval.distribution)?;
        }
        for call in &report.calls {
            for (record, distribution) in [("latency", &call.latency), ("size", &call.size)] {
                if let Some(distribution) = distribution {
                    self.distribution(file, record, &call.name, distribution)?;
                }
            }
        }
        Ok(())
    }

    fn figures(
        &mut self,
        file: &MmdsFile,
        record: &str,
        name: &str,
        Figures { count, min, max, total }: Figures,
        bytes: Option<u64>,
    ) -> io::Result<()> {
        let cells = [
            ("name", name.to_owned()),
            ("count", text(count)),
            ("min_ns", text(min)),
            ("max_ns", text(max)),
            ("total_ns", text(total)),
            ("bytes", bytes.map(text).unwrap_or_default()),
        ];
        self.mmds(file, record, &cells)
    }

    fn distribution(
        &mut self,
        file: &MmdsFile,
        record: &str,
        name: &str,
        distribution: &DistributionReport,
    ) -> io::Result<()> {
        for [low, high, count] in &distribution.buckets {
            let cells = [
                ("name", name.to_owned()),
                ("count", text(*count)),
                ("low", text(*low)),
                ("high", text(*high)),
            ];
            self.mmds(file, record, &cells)?;
        }
        Ok(())
    }

    /// A line of MMDS with `cells` by column.
    fn mmds(&mut self, file: &MmdsFile, record: &str, cells: &[(&str, String)]) -> io::Result<()> {
        let process = &file.process;
        self.begin(record, process.node, &process.host);
        let common = [("rank", text(u64::from(process.rank))), ("program", process.program.clone())];
        for (column, value) in common.iter().chain(cells) {
            let i = MMDS.iter().position(|c| c == column).expect("the callers name columns of MMDS");
            self.cells[COMMON.len() + i].clone_from(value);
        }
        self.end()
    }

    fn node(&mut self, file: &EmdsFile) -> io::Result<()> {
        for table in &file.tables {
            let record = match table.scope {
                Scope::Local => "local",
                Scope::Global => "global",
            };
            for (row, slice) in table.slices.iter().enumerate() {
                self.begin(record, file.node.node, &file.node.host);
                self.cells[self.before_slice] = text(*slice);
                for (metric, values) in &table.columns {
                    self.cells[self.before_slice + 1 + *metric as usize] = text(values[row]);
                }
                self.end()?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, record: &str, node: u32, host: &str) {
        self.cells.iter_mut().for_each(String::clear);
        self.cells[0].push_str(record);
        self.cells[1] = text(u64::from(node));
        self.cells[2].push_str(host);
    }

    fn end(&mut self) -> io::Result<()> {
        self.csv.write_record(&self.cells).map_err(io_error)
    }
}

fn text(value: u64) -> String {
    value.to_string()
}

fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(e) => e,
        other => io::Error::other(format!("{other:?}")),
    }
}

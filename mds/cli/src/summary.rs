//! `mds summary`: the paper's table 5.3 over the selected ranks, and the EMDS metrics (tables 5.1 and 5.2).

use crate::table::{Table, ranges};
use bcs_core::ByteCount;
use hdrhistogram::Histogram;
use mds::emds::{EmdsTable, Scope};
use mds::mmds::{CallReport, DistributionReport, Figures, ProcessReport};
use mds::trace::{MmdsFile, Run};
use mds::{Metric, Primitive};
use mds_trace::{EmdsFile, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

pub fn write(out: &mut dyn Write, trace: &Trace) -> io::Result<()> {
    if !trace.mmds.is_empty() {
        write_mmds(out, &trace.run, &trace.mmds)?;
    }
    if !trace.mmds.is_empty() && !trace.emds.is_empty() {
        writeln!(out)?;
    }
    if !trace.emds.is_empty() {
        write_emds(out, &trace.run, &trace.emds)?;
    }
    Ok(())
}

/// Count, extremes and sum over ranks, in nanoseconds.
#[derive(Default)]
struct Sum {
    count: u128,
    min: Option<u64>,
    max: u64,
    total: u128,
}

impl Sum {
    fn over(all: impl Iterator<Item = Figures>) -> Self {
        let mut sum = Self::default();
        for Figures { count, min, max, total } in all.filter(|figures| figures.count > 0) {
            sum.count += u128::from(count);
            sum.min = Some(sum.min.map_or(min, |m| m.min(min)));
            sum.max = sum.max.max(max);
            sum.total += u128::from(total);
        }
        sum
    }

    fn row(&self, name: &str) -> [String; 6] {
        let average = if self.count == 0 { 0.0 } else { self.total as f64 / self.count as f64 };
        [
            name.to_owned(),
            ms(self.min.unwrap_or(0) as f64),
            ms(self.max as f64),
            ms(self.total as f64),
            self.count.to_string(),
            ms(average),
        ]
    }
}

fn ms(nanoseconds: f64) -> String {
    format!("{:.6}", nanoseconds / 1e6)
}

fn write_mmds(out: &mut dyn Write, run: &Run, files: &[MmdsFile]) -> io::Result<()> {
    let programs: BTreeSet<&str> = files.iter().map(|f| f.process.program.as_str()).collect();
    let programs = programs.into_iter().collect::<Vec<_>>().join(", ");
    let numbers = ranges(files.iter().map(|f| f.process.rank));
    let of = if run.ranks == 1 { "rank" } else { "ranks" };
    writeln!(out, "MMDS: {programs}, run {}, {} of {} {of} ({numbers})\n", run.id, files.len(), run.ranks)?;

    let reports = || files.iter().map(|f| &f.report);
    let mut table = Table::new(["Primitive", "Min(ms)", "Max(ms)", "Total(ms)", "Count", "Average(ms)"]);
    for (name, calls) in calls_by_name(reports()) {
        table.row(Sum::over(calls.into_iter().map(|c| c.figures)).row(name));
    }
    let computation = Sum::over(reports().map(|r| r.computation.figures));
    let communication = Sum::over(reports().map(|r| r.communication.figures));
    table.row(computation.row("Comp Granularity"));
    table.row(communication.row("Comm Overhead"));
    let times = |count, time| Figures { count, min: time, max: time, total: time };
    let run_time = Sum::over(reports().map(|r| times(1, r.run_time)));
    let thread_time = Sum::over(reports().map(|r| times(r.threads, r.thread_time)));
    table.row(run_time.row("Run Time"));
    let empty = String::new;
    let total_row = |name: &str, total, count| [name.to_owned(), empty(), empty(), total, count, empty()];
    if reports().any(|r| r.threads > 1) {
        let threads = thread_time.count.to_string();
        table.row(total_row("Thread Time", ms(thread_time.total as f64), threads));
    }
    let sum = computation.total + communication.total;
    table.row(total_row("Comp + Comm", ms(sum as f64), empty()));
    let gap = match thread_time.total {
        0 => 0.0,
        time => 100.0 * sum.abs_diff(time) as f64 / time as f64,
    };
    table.row(total_row("Gap (%)", format!("{gap:.4}"), empty()));
    table.write(out)?;

    let unfinished = files.iter().filter_map(|f| Some((f.report.unfinished.as_deref()?, f.process.rank)));
    let mut by_call: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (call, rank) in unfinished {
        by_call.entry(call).or_default().push(rank);
    }
    for (call, in_call) in by_call {
        let s = if in_call.len() == 1 { "" } else { "s" };
        writeln!(out, "Rank{s} {} ended inside {call}", ranges(in_call.into_iter()))?;
    }
    write_unexpected(out, files)?;
    write_collectives(out, files)?;
    writeln!(out)?;
    write_distributions(out, files)
}

/// Messages that came before their receives, if there were any.
fn write_unexpected(out: &mut dyn Write, files: &[MmdsFile]) -> io::Result<()> {
    let messages: u128 = files.iter().map(|f| u128::from(f.report.unexpected.messages)).sum();
    let most = files.iter().max_by_key(|f| f.report.unexpected.most_bytes);
    let Some(most) = most.filter(|_| messages > 0) else { return Ok(()) };
    let (noun, rank) = (if messages == 1 { "message" } else { "messages" }, most.process.rank);
    let bytes = ByteCount(most.report.unexpected.most_bytes);
    writeln!(
        out,
        "{messages} {noun} came before their receives and waited in pools; the fullest was rank {rank}'s, with {bytes}"
    )
}

/// Which algorithms collectives have gone by, if any have: operations of all processes together.
fn write_collectives(out: &mut dyn Write, files: &[MmdsFile]) -> io::Result<()> {
    let mut counts: BTreeMap<(&str, &str), u128> = BTreeMap::new();
    for of in files.iter().flat_map(|file| &file.report.collectives) {
        *counts.entry((&of.collective, &of.algorithm)).or_default() += u128::from(of.count);
    }
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table = Table::new(["Collective", "Algorithm", "Operations"]);
    for ((collective, algorithm), count) in counts {
        table.row([collective.to_owned(), algorithm.to_owned(), count.to_string()]);
    }
    table.write(out)
}

/// The calls of all processes by name, in the order of the recorder's table; calls it does not know come
/// last.
fn calls_by_name<'a>(
    reports: impl Iterator<Item = &'a ProcessReport>,
) -> Vec<(&'a str, Vec<&'a CallReport>)> {
    let mut by_name: BTreeMap<(usize, &str), Vec<&CallReport>> = BTreeMap::new();
    for call in reports.flat_map(|r| &r.calls) {
        let order = Primitive::from_name(&call.name).map_or(usize::MAX, Primitive::index);
        by_name.entry((order, &call.name)).or_default().push(call);
    }
    by_name.into_iter().map(|((_, name), calls)| (name, calls)).collect()
}

fn write_distributions(out: &mut dyn Write, files: &[MmdsFile]) -> io::Result<()> {
    let reports = || files.iter().map(|f| &f.report);
    let mut table = Table::new(["Distribution", "P50", "P90", "P99", "P99.9", "Max", "Unit"]);
    let mut row = |name: String, of: Vec<&DistributionReport>, longest: Option<u64>, unit: &str| {
        let histogram = merge(&of);
        if histogram.is_empty() {
            return;
        }
        // The end of the last bucket lies above every value in it; for times the largest value is known.
        let last = of.iter().flat_map(|d| &d.buckets).map(|b| b[1]).max().unwrap_or(0);
        let max = longest.unwrap_or(last);
        let text = |v: u64| if unit == "ms" { ms(v as f64) } else { v.to_string() };
        let at = |q| text(histogram.value_at_quantile(q).min(max));
        table.row([name, at(0.5), at(0.9), at(0.99), at(0.999), text(max), unit.to_owned()]);
    };
    for (name, computation) in [("Comp Granularity", true), ("Comm Overhead", false)] {
        let intervals = || reports().map(|r| if computation { &r.computation } else { &r.communication });
        let longest = intervals().map(|i| i.figures.max).max();
        row(name.to_owned(), intervals().map(|i| &i.distribution).collect(), longest, "ms");
    }
    for (name, calls) in calls_by_name(reports()) {
        let latency = calls.iter().filter_map(|c| c.latency.as_ref()).collect();
        let longest = calls.iter().filter(|c| c.latency.is_some()).map(|c| c.figures.max).max();
        row(format!("{name} latency"), latency, longest, "ms");
        row(format!("{name} size"), calls.iter().filter_map(|c| c.size.as_ref()).collect(), None, "bytes");
    }
    table.write(out)
}

/// The distributions of several processes as one. A bucket counts at its middle, within the resolution it
/// has.
fn merge(distributions: &[&DistributionReport]) -> Histogram<u64> {
    let digits = distributions.iter().map(|d| d.digits).max().unwrap_or(1);
    let mut histogram = Histogram::new_with_bounds(1, u64::MAX, digits)
        .expect("1 to 4 digits, which reading has checked, are within hdrhistogram's 0 to 5");
    let buckets = || distributions.iter().flat_map(|d| &d.buckets);
    // hdrhistogram sums counts in 64 bits; a file may say more, and quantiles are the same at a smaller
    // scale.
    let total: u128 = buckets().map(|b| u128::from(b[2])).sum();
    let excess_bits = (u128::BITS - total.leading_zeros()).saturating_sub(u64::BITS - 1);
    for [low, high, count] in buckets() {
        histogram.saturating_record_n(low + (high - low) / 2, count.checked_shr(excess_bits).unwrap_or(0));
    }
    histogram
}

fn write_emds(out: &mut dyn Write, run: &Run, files: &[EmdsFile]) -> io::Result<()> {
    let of = if run.nodes == 1 { "node" } else { "nodes" };
    let numbers = ranges(files.iter().map(|f| f.node.node));
    writeln!(out, "EMDS: run {}, {} of {} {of} ({numbers})", run.id, files.len(), run.nodes)?;
    for (scope, name) in [(Scope::Local, "Local"), (Scope::Global, "Global")] {
        let tables: Vec<&EmdsTable> =
            files.iter().flat_map(|f| &f.tables).filter(|t| t.scope == scope).collect();
        if !tables.is_empty() {
            writeln!(out)?;
            write_metrics(out, name, scope, &tables)?;
        }
    }
    Ok(())
}

fn write_metrics(out: &mut dyn Write, name: &str, scope: Scope, tables: &[&EmdsTable]) -> io::Result<()> {
    let recorded: usize = tables.iter().map(|t| t.slices.len()).sum();
    let not_recorded = tables.iter().fold(0u64, |n, t| n.saturating_add(t.not_recorded()));
    let first = tables.iter().filter_map(|t| t.slices.iter().min()).min();
    let last = tables.iter().filter_map(|t| t.slices.iter().max()).max();
    let range = first.zip(last).map(|(f, l)| format!(" of slices {f} to {l}")).unwrap_or_default();
    writeln!(out, "{name}: {recorded} records{range}; {not_recorded} slices not recorded")?;
    let overflowed = tables.iter().fold(0u64, |n, t| n.saturating_add(t.overflowed));
    if overflowed > 0 {
        writeln!(
            out,
            "{overflowed} slices of the range found the ring full: record a shorter range, or with a step"
        )?;
    }
    let mut table = Table::new(["Metric", "Min", "Mean", "Max", "Unit"]);
    for metric in Metric::ALL.iter().filter(|m| m.scope() == scope) {
        let values = || tables.iter().filter_map(|t| t.column(*metric)).flatten().copied();
        let (Some(min), Some(max)) = (values().min(), values().max()) else { continue };
        let mean = values().map(u128::from).sum::<u128>() as f64 / values().count() as f64;
        let cells = match metric.unit() {
            "ns" => [min as f64, mean, max as f64].map(|v| format!("{:.3}", v / 1e3)),
            _ => [min.to_string(), format!("{mean:.3}"), max.to_string()],
        };
        let [min, mean, max] = cells;
        let unit = if metric.unit() == "ns" { "us" } else { "" };
        table.row([metric.name().to_owned(), min, mean, max, unit.to_owned()]);
    }
    table.write(out)
}

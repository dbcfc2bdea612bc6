//! The MMDS file of a rank: JSON, because it is small and people look into it.

use super::error::TraceError;
use super::{FORMAT_VERSION, Process, Run};
use crate::mmds::{DistributionReport, Figures, ProcessReport};
use serde::{Deserialize, Serialize};
use std::path::Path;

const FORMAT: &str = "bcs-mmds";

/// The contents of an MMDS file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MmdsFile {
    /// The run it is of.
    pub run: Run,
    /// The process it is about.
    pub process: Process,
    /// The figures.
    pub report: ProcessReport,
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    version: u64,
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    file: &'a MmdsFile,
}

impl MmdsFile {
    pub(super) fn encode(&self) -> Vec<u8> {
        let head = Head { format: FORMAT.to_owned(), version: u64::from(FORMAT_VERSION) };
        let mut json = serde_json::to_vec(&Whole { head, file: self })
            .expect("serialising numbers, strings and lists into memory does not fail");
        json.push(b'\n');
        json
    }

    /// Reads one; `path` is for what people read.
    ///
    /// # Errors
    /// It is damaged, or of another version.
    pub fn decode(path: &Path, bytes: &[u8]) -> Result<Self, TraceError> {
        let json = |e: serde_json::Error| {
            let what = if e.is_eof() { "it is truncated" } else { "it is not the JSON of an MMDS file" };
            TraceError::corrupt(path, format!("{what} ({e})"))
        };
        let head: Head = serde_json::from_slice(bytes).map_err(json)?;
        if head.format != FORMAT {
            return Err(TraceError::corrupt(
                path,
                format!("its format is {:?}, not {FORMAT:?}", head.format),
            ));
        }
        if head.version != u64::from(FORMAT_VERSION) {
            let (path, found, known) = (path.to_owned(), head.version, FORMAT_VERSION);
            return Err(TraceError::Version { path, found, known });
        }
        let file: Self = serde_json::from_slice(bytes).map_err(json)?;
        match file.inconsistency() {
            None => Ok(file),
            Some(reason) => Err(TraceError::corrupt(path, reason)),
        }
    }

    /// A figure that contradicts another, if there is one: the sign of a damaged file.
    fn inconsistency(&self) -> Option<String> {
        let report = &self.report;
        let distribution = |of: &str, d: &DistributionReport, count: u64| {
            if !(1..=4).contains(&d.digits) {
                Some(format!("{of} has a distribution of {} digits, and 1 to 4 exist", d.digits))
            } else if d.count() != count {
                Some(format!("{of} has {count} values and a distribution of {}", d.count()))
            } else if d.buckets.iter().any(|b| b[0] > b[1]) {
                Some(format!("{of} has a distribution with a bucket that ends before it begins"))
            } else {
                None
            }
        };
        let figures = |of: &str, Figures { count, min, max, total }: Figures| {
            let possible = if count == 0 { max == 0 && total == 0 } else { min <= max && max <= total };
            (!possible).then(|| format!("{of}: {count} calls of {min} to {max} ns do not make {total} ns"))
        };
        if self.process.rank >= self.run.ranks {
            return Some(format!("rank {} is not one of {} ranks", self.process.rank, self.run.ranks));
        }
        let intervals = [("computation", &report.computation), ("communication", &report.communication)];
        let of_intervals = intervals.into_iter().find_map(|(of, i)| {
            figures(of, i.figures).or_else(|| distribution(of, &i.distribution, i.figures.count))
        });
        of_intervals.or_else(|| {
            report.calls.iter().find_map(|c| {
                let mut distributions = c.latency.iter().chain(&c.size);
                figures(&c.name, c.figures)
                    .or_else(|| distributions.find_map(|d| distribution(&c.name, d, c.figures.count)))
            })
        })
    }
}

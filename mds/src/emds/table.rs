//! What a ring held, copied out: columns by metric, rows by slice.

use super::metric::Metric;
use super::scope::Scope;
use crate::config::SliceRange;

/// The recorded slices of one node, or of the strobe sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmdsTable {
    /// Who recorded it.
    pub scope: Scope,
    /// The slices that were asked for.
    pub range: SliceRange,
    /// The slice of each row, in the order of recording.
    pub slices: Vec<u64>,
    /// The recorded metrics, each with a value per row.
    pub columns: Vec<(Metric, Vec<u64>)>,
    /// Slices that were asked for and found the ring full.
    pub overflowed: u64,
    /// The last slice of the job, whether recorded or not; 0 if the job ended before it could say.
    pub last_slice: u64,
}

impl EmdsTable {
    /// Slices of the job that have no record: outside the range, between steps, or beyond the ring's end.
    pub fn not_recorded(&self) -> u64 {
        self.last_slice.saturating_sub(self.slices.len() as u64).max(self.overflowed)
    }

    /// The values of `metric` by row, if it was recorded.
    pub fn column(&self, metric: Metric) -> Option<&[u64]> {
        self.columns.iter().find(|c| c.0 == metric).map(|c| c.1.as_slice())
    }
}

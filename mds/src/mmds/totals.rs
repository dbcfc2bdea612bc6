//! What is read while a process still records.

/// Sums of calls, or of intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallTotals {
    /// How many.
    pub count: u64,
    /// Their time, in ns.
    pub total_ns: u64,
    /// Bytes that they named; 0 of calls that name none, and of intervals.
    pub bytes: u64,
}

impl CallTotals {
    /// Both together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            count: self.count.wrapping_add(other.count),
            total_ns: self.total_ns.wrapping_add(other.total_ns),
            bytes: self.bytes.wrapping_add(other.bytes),
        }
    }
}

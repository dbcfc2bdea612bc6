//! MPI_Scan and MPI_Exscan (MPI-5.0, §6.11): what there is of them.

/// Whether a member's own contribution counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanKind {
    /// MPI_Scan: it does.
    Inclusive,
    /// MPI_Exscan: it does not; rank 0 gets nothing.
    Exclusive,
}

impl ScanKind {
    /// Whether the member of this rank gets a result.
    pub(super) fn gives(self, rank: u32) -> bool {
        self == ScanKind::Inclusive || rank > 0
    }
}

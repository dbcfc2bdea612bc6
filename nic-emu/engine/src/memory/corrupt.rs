//! What is told when NIC memory holds what no healthy process writes.

/// What a holder found in NIC memory that no rank of a healthy job writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "NIC memory is corrupt: {what} {value} (limit {limit}); a process of the job wrote outside its own memory"
)]
pub struct Corrupt {
    /// The kind of index or word.
    pub what: &'static str,
    /// Its value.
    pub value: u64,
    /// What it had to be below.
    pub limit: u64,
}

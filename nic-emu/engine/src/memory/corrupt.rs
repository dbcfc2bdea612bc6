//! Checks of what other processes wrote, and what is told when it is nothing that a healthy one writes.

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

/// Checks an index or a number that another process wrote.
#[inline]
pub fn checked(what: &'static str, value: impl Into<u64>, limit: usize) -> Result<usize, Corrupt> {
    match (value.into(), limit as u64) {
        (value, limit) if value < limit => Ok(value as usize),
        (value, limit) => Err(Corrupt { what, value, limit }),
    }
}

/// Checks that so many bytes from an offset on end within a limit.
#[inline]
pub fn within(what: &'static str, offset: u64, bytes: u64, limit: u64) -> Result<(), Corrupt> {
    match offset.checked_add(bytes) {
        Some(end) if end <= limit => Ok(()),
        _ => Err(Corrupt { what, value: offset, limit }),
    }
}

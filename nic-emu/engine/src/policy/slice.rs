//! How much a slice schedules.

use crate::memory::NicMemory;

/// Ranks whose doorbells a slice answers at most; the rest are first in the next.
pub const RANKS_A_SLICE: usize = 256;

/// Bytes that an elastic slice grants a transfer at once: large enough that scheduling costs nothing
/// beside moving (80 µs and more of copying for 0.2 µs of scheduling), small enough that a grant is a
/// known amount of work.
pub const ELASTIC_GRANT_BYTES: u64 = 4 << 20;

/// Bytes a node moves in a nanosecond, for the budget of a fixed slice: 8 GB/s.
const BYTES_A_NANOSECOND: u64 = 8;

/// Bytes that all transfers of a node together are granted in one slice.
pub fn slice_budget_bytes(memory: &NicMemory) -> u64 {
    match memory.header().slice_period_ns.get() {
        0 => u64::MAX,
        period => period.saturating_mul(BYTES_A_NANOSECOND).max(64 << 10),
    }
}

/// Bytes that one transfer is granted ahead of what has been moved.
pub fn grant_bytes(memory: &NicMemory) -> u64 {
    slice_budget_bytes(memory).min(ELASTIC_GRANT_BYTES)
}

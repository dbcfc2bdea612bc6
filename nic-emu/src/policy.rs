//! How much a slice schedules, and how ranks wait: the NIC's policies, in one place.

use crate::memory::NicMemory;

/// Descriptors of one rank that a slice takes at most; more wait for the next.
pub const DESCRIPTORS_A_SLICE: u32 = 512;

/// Ranks whose doorbells a slice answers at most; the rest are first in the next.
pub const RANKS_A_SLICE: usize = 256;

/// Bytes that an elastic slice grants a transfer at once: large enough that scheduling costs nothing beside moving
/// (80 µs and more of copying for 0.2 µs of scheduling), small enough that a grant is a known amount of work.
pub const ELASTIC_GRANT_BYTES: u64 = 4 << 20;

/// Looks at its own request alone that a rank takes after it has arrived at a collective, while every rank has a core: some 6 µs.
pub const MEETING_POLLS: u32 = 400;

/// Looks at its own request between two looks at what others have posted.
pub const MEETING_POLLS_A_LOOK: u32 = 32;

/// Times that a rank that has arrived at a collective gives its core away before it waits as for anything else, where ranks share cores.
pub const MEETING_YIELDS: u32 = 16;

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

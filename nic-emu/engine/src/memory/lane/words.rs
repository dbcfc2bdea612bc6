//! The words of a lane, checked: its slots, and the heads of its chunks.

use super::slot::{HEADER_BYTES, LANE_DATA_BYTES, LANE_SLOTS, LaneSlot, PORTION_BYTES, Shape};
use crate::memory::sync::AtomicU64;
use crate::memory::{Corrupt, LocalRank, NicMemory, checked};

/// The slots of a rank's lane.
pub(super) fn slots(memory: &NicMemory, local_rank: LocalRank) -> Result<&[LaneSlot], Corrupt> {
    let start = memory.lane(local_rank)?;
    // SAFETY: a lane begins with a page that is used as slots only, which consist of atomics.
    Ok(unsafe { std::slice::from_raw_parts(start.as_ptr().cast(), LANE_SLOTS) })
}

/// Words of a rank's lane from a place among its chunks on.
pub(super) fn words(
    memory: &NicMemory,
    local_rank: LocalRank,
    at: usize,
    count: usize,
) -> Result<&[AtomicU64], Corrupt> {
    let (end, limit) = (at.saturating_add(count * size_of::<u64>()), LANE_DATA_BYTES as u64);
    if end > LANE_DATA_BYTES || !at.is_multiple_of(size_of::<u64>()) {
        return Err(Corrupt { what: "head of a chunk of a lane", value: at as u64, limit });
    }
    // SAFETY: the words lie within the lane's data, aligned, both checked.
    Ok(unsafe {
        let start = memory.lane(local_rank)?.add(HEADER_BYTES + at);
        std::slice::from_raw_parts(start.as_ptr().cast(), count)
    })
}

/// Address and length of a member's portion.
pub(super) fn portion(
    memory: &NicMemory,
    local_rank: LocalRank,
    start: usize,
    shape: Shape,
    member: u32,
) -> Result<&[AtomicU64], Corrupt> {
    let members = if shape.each { shape.members as usize } else { 0 };
    let member = checked("member with a portion of a chunk", member, members)?;
    let at = start + shape.marks() * size_of::<u64>() + member * PORTION_BYTES;
    words(memory, local_rank, at, 2)
}

//! How bytes of large collectives go through lanes.

use crate::memory::lane::LANE_CHUNK_BYTES;

/// A rank that takes longer to fill its lane has what others copy from it read by cross-memory attach.
/// Between near cores a lane takes 20 to 30 ns a KB, some 150 where ranks share cores, and between far cores
/// 100 to 400, where attach takes 75 of what the reader's cache already has.
pub fn slow_lane_ns_a_kb(crowded: bool) -> u64 {
    if crowded { 250 } else { 90 }
}

/// While lanes are slow, one of so many contributions goes by a lane again: cores change their places.
pub const LANE_TRIAL_COLLECTIVES: u32 = 64;

/// Bytes that a rank gives through its lane at most where each reader copies a block of its own: bytes of all
/// blocks. Beyond, they read them where they lie, by cross-memory attach. What all readers want goes through
/// the lane as far as a chunk holds it: with 2 ranks a gather of 64 KB takes 6 µs through lanes and 10 by
/// attach, of 128 KB 11 and 17 (`storm run -n 2 microbench gather0 --sizes 64K,128K`).
pub fn laid_blocks_bytes(crowded: bool) -> usize {
    if crowded { 32 << 10 } else { LANE_CHUNK_BYTES }
}

/// Bytes of a part of what one rank gives to all others of the node: so many that filling and draining
/// overlap, each long enough that telling of it costs little. With near cores a broadcast of 64 KB takes 2.5
/// µs in parts of 16 KB, and 3.6 in parts of 8 (`storm run -n 2 microbench bcast0 --sizes 64K`). Where ranks
/// share cores a part is a whole chunk: with 8 ranks on two cores 1 MB takes 0.2 ms so, and 0.4 to 0.6 where
/// all of it is lent (`storm run -n 8 --collective bcast=exchange microbench bcast0 --sizes 1M`).
pub fn part_bytes(crowded: bool, bytes: usize) -> usize {
    if crowded { LANE_CHUNK_BYTES } else { (bytes / 4).next_multiple_of(4096).clamp(16 << 10, 64 << 10) }
}

/// Parts that a rank gives through its lane before it asks again how fast the lane is.
pub const PARTS_A_LOOK: u32 = 8;

/// Whether the root of a large reduction combines everything itself: where more hands would not be
/// quicker than the way of their results.
pub fn root_combines(crowded: bool, members: u32) -> bool {
    members <= if crowded { 4 } else { 2 }
}

/// Whether every member of a large allreduce combines everything itself: then results have no way to go.
pub fn all_combine(crowded: bool, members: u32) -> bool {
    !crowded && members <= 2
}

//! A slot of a lane: a chunk as its readers find it, and what it is like.

use crate::memory::sync::{AtomicU32, AtomicU64};
use crate::memory::{Context, Corrupt, Word64, checked};

/// Chunks of a lane that are under way at once.
pub(crate) const LANE_SLOTS: usize = 32;
/// Slots of a lane that are set aside for each collective under way: in a step a member gives one chunk, and
/// those of its last steps may have readers left.
pub(crate) const COLLECTIVE_SLOTS: usize = 4;
/// Bytes of a lane that hold chunks: twice the L2 cache of most processors.
pub(crate) const LANE_DATA_BYTES: usize = 2 << 20;
/// Bytes that a chunk gives at most.
pub const LANE_CHUNK_BYTES: usize = 256 << 10;
/// Members that a chunk has portions for, at most.
pub const LANE_MEMBERS: u32 = 1024;
pub(super) const HEADER_BYTES: usize = 4096;
/// Bytes of a lane.
pub(crate) const LANE_BYTES: usize = HEADER_BYTES + LANE_DATA_BYTES;
/// Bytes of a portion's address and length.
pub(super) const PORTION_BYTES: usize = 16;
/// Members whose marks are in one word.
pub(super) const MARKS: u32 = u64::BITS;

const _: () = {
    assert!(LANE_SLOTS * size_of::<LaneSlot>() <= HEADER_BYTES);
    assert!(LANE_SLOTS == u32::BITS as usize, "a bit for each");
    assert!(LANE_CHUNK_BYTES * 4 <= LANE_DATA_BYTES, "a lane holds several of the largest chunks");
    assert!(Shape { members: LANE_MEMBERS, ..Shape::SAME }.head_bytes() * 2 < LANE_CHUNK_BYTES);
};

/// A chunk, as its readers find it.
#[repr(C, align(64))]
pub struct LaneSlot {
    /// 1 + the step of the collective; 0 while the slot's words change.
    pub(super) label: AtomicU64,
    pub(super) collective: Word64,
    /// Where the chunk is.
    pub(super) start: Word64,
    pub(super) bytes: Word64,
    pub(super) shape: Word64,
    /// Address and length of what is the same for all.
    pub(super) same: [Word64; 2],
    pub(super) unread: AtomicU32,
    _pad: u32,
}

const _: () = assert!(size_of::<LaneSlot>() == 64);

/// The step of a collective that a chunk is of: context, sequence number, and step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneKey(pub Context, pub u32, pub u32);

impl LaneKey {
    pub(super) fn words(self) -> (u64, u64) {
        ((self.0.0 as u64) << 32 | self.1 as u64, self.2 as u64 + 1)
    }
}

/// How the bytes of a chunk come to its readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// They lie in the chunk.
    Lane,
    /// Readers copy them from the memory of the chunk's rank.
    Attach,
    /// They come as messages.
    Message,
}

/// What a chunk is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How its bytes come to readers.
    pub by: By,
    /// Every member has a portion of its own.
    pub each: bool,
    /// Members of the collective, who read by their rank.
    pub members: u32,
}

impl Shape {
    pub(super) const SAME: Self = Self { by: By::Lane, each: false, members: 0 };

    pub(super) const fn marks(self) -> usize {
        if matches!(self.by, By::Attach) { self.members.div_ceil(MARKS) as usize } else { 0 }
    }

    /// Bytes of a chunk before those that are given.
    pub(crate) const fn head_bytes(self) -> usize {
        let portions = if self.each { self.members as usize * PORTION_BYTES } else { 0 };
        (self.marks() * size_of::<u64>() + portions).next_multiple_of(64)
    }

    pub(super) fn word(self) -> u64 {
        (self.members as u64) << 32 | (self.each as u64) << 8 | self.by as u64
    }

    pub(super) fn of(word: u64) -> Result<Self, Corrupt> {
        let by = match word & 0xff {
            0 => By::Lane,
            1 => By::Attach,
            2 => By::Message,
            value => return Err(Corrupt { what: "kind of a chunk of a lane", value, limit: 3 }),
        };
        let members = checked("members of a chunk of a lane", word >> 32, LANE_MEMBERS as usize + 1)?;
        Ok(Self { by, each: word & 0x100 != 0, members: members as u32 })
    }
}

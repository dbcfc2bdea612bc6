//! The draining end of a lane, and the chunks that it finds.

use super::slot::{By, HEADER_BYTES, LANE_DATA_BYTES, LANE_SLOTS, LaneKey, LaneSlot, MARKS, Shape};
use super::words::{portion, slots, words};
use crate::memory::sync::{Ordering, fence};
use crate::memory::{Corrupt, LocalRank, NicMemory, within};
use std::ptr::NonNull;

/// A chunk that a reader has found; [`Chunk::done`] gives it back.
#[derive(Clone, Copy)]
pub struct Chunk<'m> {
    memory: &'m NicMemory,
    local_rank: LocalRank,
    slot: &'m LaneSlot,
    start: usize,
    shape: Shape,
    reader: u32,
    portion: Portion,
    bytes: usize,
}

/// Where a reader's bytes of a chunk are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portion {
    /// In the lane. They can be read, and stay as they are until [`Chunk::done`]; a rank that wrote over them
    /// all the same has changed what is read, so nobody refers to them.
    Lane(NonNull<u8>),
    /// At this address in the memory of the lane's rank, which says so: the kernel checks it.
    Lent(u64),
    /// They come as a message.
    Message,
}

impl Chunk<'_> {
    /// Where the reader's bytes are.
    pub fn portion(&self) -> Portion {
        self.portion
    }

    /// How many there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// This reader reads it no more.
    pub fn done(self) {
        self.slot.unread.fetch_sub(1, Ordering::Release);
    }

    /// This reader is refused the memory that is lent: it is to get a message.
    pub fn refuse(self) -> Result<(), Corrupt> {
        let marks = words(self.memory, self.local_rank, self.start, self.shape.marks())?;
        if let Some(mark) = marks.get((self.reader / MARKS) as usize) {
            mark.fetch_or(1 << (self.reader % MARKS), Ordering::Relaxed);
        }
        self.done();
        Ok(())
    }
}

/// The draining end: where in a rank's lane the next chunk is expected.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaneReader {
    expected: usize,
    misses: usize,
}

/// Looks at the expected slot alone between two looks at all of them: what others take from a lane lies
/// between.
const LOOKS_AT_ONE: usize = 16;

impl LaneReader {
    /// The chunk of this step of a collective, if the rank has published it, and what of it is `reader`'s, by
    /// its rank. Answers the same until [`Self::advance`]. Of most looks it is one at the expected slot
    /// alone, unless it has to be `thorough`.
    pub fn find<'m>(
        &mut self,
        memory: &'m NicMemory,
        local_rank: LocalRank,
        key: LaneKey,
        reader: u32,
        thorough: bool,
    ) -> Result<Option<Chunk<'m>>, Corrupt> {
        let slots = slots(memory, local_rank)?;
        let (collective, label) = key.words();
        let is_it = |slot: &LaneSlot| {
            if slot.label.load(Ordering::Acquire) != label || slot.collective.get() != collective {
                return false;
            }
            fence(Ordering::Acquire);
            // Unchanged: then the words between were of this label.
            slot.label.load(Ordering::Acquire) == label
        };
        let at = self.expected % LANE_SLOTS;
        let found = if is_it(&slots[at]) {
            Some(at)
        } else {
            self.misses += 1;
            let all = thorough || self.misses.is_multiple_of(LOOKS_AT_ONE);
            all.then(|| slots.iter().position(is_it)).flatten()
        };
        let Some(found) = found else { return Ok(None) };
        self.expected = found;
        let slot = &slots[found];
        let (start, bytes) = (slot.start.get(), slot.bytes.get());
        within("end of a chunk of a lane", start, bytes, LANE_DATA_BYTES as u64)?;
        let (start, shape) = (start as usize, Shape::of(slot.shape.get())?);
        let (at, length) = if shape.each {
            let words = portion(memory, local_rank, start, shape, reader)?;
            (words[0].load(Ordering::Relaxed), words[1].load(Ordering::Relaxed))
        } else {
            (slot.same[0].get(), slot.same[1].get())
        };
        let found = match shape.by {
            By::Attach => Portion::Lent(at),
            By::Message => Portion::Message,
            By::Lane => {
                let limit = (bytes as usize).saturating_sub(shape.head_bytes()) as u64;
                within("end of a portion of a chunk", at, length, limit)?;
                let at = HEADER_BYTES + start + shape.head_bytes() + at as usize;
                // SAFETY: the portion lies within the chunk and this within the lane's data, checked.
                Portion::Lane(unsafe { memory.lane(local_rank)?.add(at) })
            }
        };
        let bytes = length as usize;
        Ok(Some(Chunk { memory, local_rank, slot, start, shape, reader, portion: found, bytes }))
    }

    /// The chunk that was found is taken: the next one is expected behind it.
    #[inline]
    pub fn advance(&mut self) {
        self.expected = (self.expected + 1) % LANE_SLOTS;
        self.misses = 0;
    }
}

//! Lanes: memory of a rank in NIC memory through which its contributions to large collectives flow to the other members, a chunk behind
//! the other (design §4, "Channels").
//!
//! Its rank fills a lane while all readers drain it, so that both sides' cores are at work; nothing is read from another process's own
//! memory, and nobody has to wait for the others at the end. A chunk is free again when every one of its readers has said so. Chunks are
//! laid round and round the whole lane, so that a line is written again only when it has left the readers' caches.
//!
//! Invariant: a chunk's label (collective and round) is published after its bytes and withdrawn before they change. Whoever fills a lane is in a
//! collective that all its members have reached, so chunks are always being drained, and lanes cannot wait for each other in a circle.
//!
//! ```text
//!  page 0            32 slots of a line: label, collective, place and length, readers that have still to read
//!  LANE_DATA_BYTES   chunks
//! ```

use crate::memory::{Corrupt, NicMemory, Word64};
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};
use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;

/// Chunks of a lane that are under way at once.
pub const LANE_SLOTS: usize = 32;
/// Bytes of a lane that hold chunks: twice the L2 cache of most processors.
pub const LANE_DATA_BYTES: usize = 2 << 20;
/// Bytes of a chunk at most.
pub const LANE_CHUNK_BYTES: usize = 256 << 10;
const HEADER_BYTES: usize = 4096;
/// Bytes of a lane.
pub const LANE_BYTES: usize = HEADER_BYTES + LANE_DATA_BYTES;

const _: () = {
    assert!(LANE_SLOTS * size_of::<LaneSlot>() <= HEADER_BYTES);
    assert!(LANE_CHUNK_BYTES * 4 <= LANE_DATA_BYTES, "a lane holds several of the largest chunks");
};

/// A chunk, as its readers find it.
#[repr(C, align(64))]
pub struct LaneSlot {
    /// 1 + the round; 0 while the slot's words change.
    label: AtomicU64,
    collective: Word64,
    start: Word64,
    bytes: Word64,
    unread: AtomicU32,
    _pad: [u32; 7],
}

/// The collective that a chunk is of: context and sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneKey(pub u32, pub u32);

impl LaneKey {
    fn word(self) -> u64 {
        (self.0 as u64) << 32 | self.1 as u64
    }
}

fn slots(memory: &NicMemory, local_index: u32) -> Result<&[LaneSlot], Corrupt> {
    let start = memory.lane(local_index)?;
    // SAFETY: a lane begins with a page that is used as slots only, which consist of atomics.
    Ok(unsafe { std::slice::from_raw_parts(start.as_ptr().cast(), LANE_SLOTS) })
}

/// The filling end of a rank's lane. Private to the rank.
#[derive(Debug, Default)]
pub struct LaneWriter {
    /// Chunks that may have readers left, oldest first: their slots and where they lie.
    laid: VecDeque<(usize, Range<usize>)>,
    next: usize,
    position: usize,
}

impl LaneWriter {
    /// The place for the next chunk of `bytes` bytes, at most [`LANE_CHUNK_BYTES`]; none while readers have still to read what lies there.
    pub fn room(
        &mut self,
        memory: &NicMemory,
        local_index: u32,
        bytes: usize,
    ) -> Result<Option<NonNull<u8>>, Corrupt> {
        let limit = LANE_CHUNK_BYTES as u64 + 1;
        if bytes > LANE_CHUNK_BYTES {
            return Err(Corrupt { what: "bytes of a chunk of a lane", value: bytes as u64, limit });
        }
        if self.position + bytes > LANE_DATA_BYTES {
            self.position = 0;
        }
        let slots = slots(memory, local_index)?;
        let wanted = self.position..self.position + bytes;
        while let Some((slot, range)) = self.laid.front() {
            let in_the_way = *slot == self.next || range.start < wanted.end && wanted.start < range.end;
            let is_read = slots[*slot].unread.load(Ordering::Acquire) == 0;
            if !is_read {
                if in_the_way || self.is_blocked(&wanted) {
                    return Ok(None);
                }
                break;
            }
            self.laid.pop_front();
        }
        let start = memory.lane(local_index)?;
        // SAFETY: `position + bytes` is at most LANE_DATA_BYTES.
        Ok(Some(unsafe { start.add(HEADER_BYTES + self.position) }))
    }

    /// Whether a chunk that is not the oldest is in the way.
    fn is_blocked(&self, wanted: &Range<usize>) -> bool {
        self.laid
            .iter()
            .any(|(slot, range)| *slot == self.next || range.start < wanted.end && wanted.start < range.end)
    }

    /// Publishes the chunk that was written where [`Self::room`] said, for so many readers.
    pub fn publish(
        &mut self,
        memory: &NicMemory,
        local_index: u32,
        (key, round): (LaneKey, u64),
        bytes: usize,
        readers: u32,
    ) -> Result<(), Corrupt> {
        let slot = &slots(memory, local_index)?[self.next];
        slot.label.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        slot.collective.set(key.word());
        slot.start.set(self.position as u64);
        slot.bytes.set(bytes as u64);
        slot.unread.store(readers, Ordering::Relaxed);
        slot.label.store(round + 1, Ordering::Release);
        self.laid.push_back((self.next, self.position..self.position + bytes));
        self.next = (self.next + 1) % LANE_SLOTS;
        self.position += bytes.next_multiple_of(64);
        Ok(())
    }
}

/// A chunk that a reader has found; [`Chunk::done`] gives it back.
#[derive(Clone, Copy)]
pub struct Chunk<'m> {
    slot: &'m LaneSlot,
    data: NonNull<u8>,
    bytes: usize,
}

impl<'m> Chunk<'m> {
    /// Its bytes: where they begin, and how many they are. They can be read, and stay as they are until [`Self::done`]; a rank that wrote over
    /// them all the same has changed what is read, so nobody refers to them.
    pub fn bytes(&self) -> (*const u8, usize) {
        (self.data.as_ptr(), self.bytes)
    }

    /// This reader reads it no more.
    pub fn done(self) {
        self.slot.unread.fetch_sub(1, Ordering::Release);
    }
}

/// The draining end: where in a rank's lane the next chunk is expected.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaneReader {
    expected: usize,
    misses: usize,
}

/// Looks at the expected slot alone between two looks at all of them, which find chunks of a rank whose threads are in several collectives.
const LOOKS_AT_ONE: usize = 16;

impl LaneReader {
    /// The chunk of this round of a collective, if the rank has published it. Answers the same until [`Self::advance`].
    pub fn find<'m>(
        &mut self,
        memory: &'m NicMemory,
        local_index: u32,
        key: LaneKey,
        round: u64,
    ) -> Result<Option<Chunk<'m>>, Corrupt> {
        let slots = slots(memory, local_index)?;
        let is_it = |slot: &LaneSlot| {
            if slot.label.load(Ordering::Acquire) != round + 1 || slot.collective.get() != key.word() {
                return false;
            }
            fence(Ordering::Acquire);
            // Unchanged: then the words between were of this label.
            slot.label.load(Ordering::Acquire) == round + 1
        };
        let at = self.expected % LANE_SLOTS;
        let found = if is_it(&slots[at]) {
            Some(at)
        } else {
            self.misses += 1;
            self.misses.is_multiple_of(LOOKS_AT_ONE).then(|| slots.iter().position(is_it)).flatten()
        };
        let Some(found) = found else { return Ok(None) };
        self.expected = found;
        let slot = &slots[found];
        let (start, bytes) = (slot.start.get(), slot.bytes.get());
        match start.checked_add(bytes) {
            Some(end) if end <= LANE_DATA_BYTES as u64 => {}
            _ => {
                let limit = LANE_DATA_BYTES as u64;
                return Err(Corrupt { what: "end of a chunk of a lane", value: start, limit });
            }
        }
        // SAFETY: the range lies within the lane's data, checked.
        let data = unsafe { memory.lane(local_index)?.add(HEADER_BYTES + start as usize) };
        Ok(Some(Chunk { slot, data, bytes: bytes as usize }))
    }

    /// The chunk that was found is taken: the next one is expected behind it.
    #[inline]
    pub fn advance(&mut self) {
        self.expected = (self.expected + 1) % LANE_SLOTS;
        self.misses = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Layout;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn readers_get_every_chunk_as_it_was_written_however_far_apart_they_are(
            chunks in proptest::collection::vec(0usize..=LANE_CHUNK_BYTES, 1..80),
            steps in proptest::collection::vec(0usize..4, 0..400),
        ) {
            let memory = NicMemory::create_private(Layout::new(4, 4, [0; 2]).unwrap(), 0, 1).unwrap();
            let key = LaneKey(7, u32::MAX);
            let mut writer = LaneWriter::default();
            let mut readers = [(LaneReader::default(), 0usize); 3];
            let mut written = 0;
            let mut write = |written: &mut usize| {
                let Some(&bytes) = chunks.get(*written) else { return false };
                let Some(to) = writer.room(&memory, 0, bytes).unwrap() else { return false };
                // SAFETY: the writer answered a place for as many bytes.
                unsafe { to.as_ptr().write_bytes(*written as u8, bytes) };
                writer.publish(&memory, 0, (key, *written as u64), bytes, 3).unwrap();
                *written += 1;
                true
            };
            let read = |(reader, next): &mut (LaneReader, usize)| {
                let Some(chunk) = reader.find(&memory, 0, key, *next as u64).unwrap() else { return false };
                let (data, bytes) = chunk.bytes();
                assert_eq!(bytes, chunks[*next]);
                // SAFETY: the chunk's bytes can be read, and its rank is this thread.
                let read = unsafe { std::slice::from_raw_parts(data, bytes) };
                assert!(read.iter().all(|byte| *byte == *next as u8));
                chunk.done();
                reader.advance();
                *next += 1;
                true
            };
            for step in steps {
                if step == 3 { write(&mut written); } else { read(&mut readers[step]); }
            }
            while written < chunks.len() || readers.iter().any(|(_, next)| *next < chunks.len()) {
                let moved = write(&mut written);
                let read = readers.iter_mut().map(&read).filter(|moved| *moved).count();
                prop_assert!(moved || read > 0, "nobody can go on");
            }
        }
    }
}

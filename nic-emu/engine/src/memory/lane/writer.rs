//! The filling end of a lane.

use super::slot::{
    By, COLLECTIVE_SLOTS, HEADER_BYTES, LANE_CHUNK_BYTES, LANE_DATA_BYTES, LANE_SLOTS, LaneKey, LaneSlot,
    MARKS, Shape,
};
use super::words::{portion, slots, words};
use crate::memory::sync::{Ordering, fence};
use crate::memory::{Corrupt, LocalRank, NicMemory, checked};
use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;

/// The filling end of a rank's lane. Private to the rank.
#[derive(Debug, Default)]
pub struct LaneWriter {
    /// Chunks that may have readers left, oldest first: their slots and where they lie.
    laid: VecDeque<(usize, Range<usize>)>,
    /// A bit for each slot of a chunk that lends and was not taken back.
    held: u32,
    next: usize,
    position: usize,
}

/// Space for a chunk, to be filled and then published.
#[derive(Debug)]
pub struct Space {
    /// Where the bytes go.
    pub data: NonNull<u8>,
    slot: usize,
    start: usize,
    bytes: usize,
    shape: Shape,
}

/// A chunk that lends.
#[derive(Debug)]
#[must_use = "its memory is read until it was taken back"]
pub struct Loan {
    slot: usize,
    start: usize,
    shape: Shape,
}

impl LaneWriter {
    /// Space for a chunk of this shape that gives `bytes` bytes, [`LANE_CHUNK_BYTES`] at most; none while
    /// readers have still to read what lies there. No member is marked, and no portion set. Chunks that
    /// others have read before older ones make room only for who is `thorough`.
    pub fn room(
        &mut self,
        memory: &NicMemory,
        local_rank: LocalRank,
        shape: Shape,
        bytes: usize,
        thorough: bool,
    ) -> Result<Option<Space>, Corrupt> {
        let head = shape.head_bytes();
        let bytes = head + checked("bytes of a chunk of a lane", bytes as u64, LANE_CHUNK_BYTES + 1)?;
        self.forget_read(slots(memory, local_rank)?, false);
        let mut place = self.free_place(bytes);
        if place.is_none() && thorough {
            self.forget_read(slots(memory, local_rank)?, true);
            place = self.free_place(bytes);
        }
        let Some((slot, start)) = place else { return Ok(None) };
        for mark in words(memory, local_rank, start, shape.marks())? {
            mark.store(0, Ordering::Relaxed);
        }
        // SAFETY: `start + bytes`, of which the head is a part, is at most LANE_DATA_BYTES.
        let data = unsafe { memory.lane(local_rank)?.add(HEADER_BYTES + start + head) };
        Ok(Some(Space { data, slot, start, bytes, shape }))
    }

    /// Forgets chunks that nobody reads any more: the oldest, or all.
    fn forget_read(&mut self, slots: &[LaneSlot], all: bool) {
        let held = self.held;
        let is_laid = |slot: usize| held & 1 << slot != 0 || slots[slot].unread.load(Ordering::Acquire) != 0;
        while self.laid.front().is_some_and(|(slot, _)| !is_laid(*slot)) {
            self.laid.pop_front();
        }
        if all {
            self.laid.retain(|(slot, _)| is_laid(*slot));
        }
    }

    /// The next slot, and the next place for so many bytes, that no chunk has.
    fn free_place(&self, bytes: usize) -> Option<(usize, usize)> {
        let is_free = |slot: &usize| self.laid.iter().all(|(laid, _)| laid != slot);
        let slot = (0..LANE_SLOTS).map(|more| (self.next + more) % LANE_SLOTS).find(is_free)?;
        let (mut start, mut is_first_lap) = (self.position, true);
        loop {
            if start + bytes > LANE_DATA_BYTES {
                if !std::mem::take(&mut is_first_lap) {
                    return None;
                }
                start = 0;
            }
            let is_in_the_way = |range: &&Range<usize>| range.start < start + bytes && start < range.end;
            match self.laid.iter().map(|(_, range)| range).find(is_in_the_way) {
                Some(range) => start = range.end.next_multiple_of(64),
                None => return Some((slot, start)),
            }
        }
    }

    /// Whether there are slots for so many collectives under way, beside those of chunks that have readers
    /// left.
    pub fn has_slots_for(
        &mut self,
        memory: &NicMemory,
        local_rank: LocalRank,
        collectives: usize,
    ) -> Result<bool, Corrupt> {
        let has_slots = |laid: usize| collectives.saturating_mul(COLLECTIVE_SLOTS) <= LANE_SLOTS - laid;
        if !has_slots(self.laid.len()) {
            self.forget_read(slots(memory, local_rank)?, true);
        }
        Ok(has_slots(self.laid.len()))
    }

    /// Says where a member's portion is: at an address of this rank's memory, or that far from where the
    /// bytes of the chunk begin.
    pub fn set_portion(
        memory: &NicMemory,
        local_rank: LocalRank,
        space: &Space,
        member: u32,
        (at, bytes): (u64, u64),
    ) -> Result<(), Corrupt> {
        let words = portion(memory, local_rank, space.start, space.shape, member)?;
        words[0].store(at, Ordering::Relaxed);
        words[1].store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Publishes a chunk for so many readers. `same` is the portion of all, unless each has its own. Answers
    /// what is lent, if anything is.
    pub fn publish(
        &mut self,
        memory: &NicMemory,
        local_rank: LocalRank,
        key: LaneKey,
        space: Space,
        same: (u64, u64),
        readers: u32,
    ) -> Result<Option<Loan>, Corrupt> {
        let Space { slot: number, start, bytes, shape, .. } = space;
        let slot = &slots(memory, local_rank)?[number];
        let (collective, label) = key.words();
        slot.label.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        slot.collective.set(collective);
        slot.start.set(start as u64);
        slot.bytes.set(bytes as u64);
        slot.shape.set(shape.word());
        slot.same[0].set(same.0);
        slot.same[1].set(same.1);
        slot.unread.store(readers, Ordering::Relaxed);
        slot.label.store(label, Ordering::Release);
        self.laid.push_back((number, start..start + bytes));
        self.next = (number + 1) % LANE_SLOTS;
        self.position = start + bytes.next_multiple_of(64);
        if shape.by != By::Attach {
            return Ok(None);
        }
        self.held |= 1 << number;
        Ok(Some(Loan { slot: number, start, shape }))
    }

    /// Takes back what was lent, once no reader reads it any more: answers the members that were refused it.
    /// None before.
    pub fn take_back(
        &mut self,
        memory: &NicMemory,
        local_rank: LocalRank,
        lent: &Loan,
    ) -> Result<Option<Vec<u32>>, Corrupt> {
        if slots(memory, local_rank)?[lent.slot].unread.load(Ordering::Acquire) != 0 {
            return Ok(None);
        }
        let marks = words(memory, local_rank, lent.start, lent.shape.marks())?;
        let is_marked = |member: &u32| {
            marks[(member / MARKS) as usize].load(Ordering::Relaxed) & 1 << (member % MARKS) != 0
        };
        self.held &= !(1 << lent.slot);
        Ok(Some((0..lent.shape.members).filter(is_marked).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::contexts::Context;
    use crate::memory::lane::{LaneReader, Portion};
    use proptest::prelude::*;

    const OWN: LocalRank = LocalRank(0);

    const SAME: Shape = Shape { members: 4, ..Shape::SAME };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn readers_get_every_chunk_as_it_was_written_however_far_apart_they_are(
            chunks in proptest::collection::vec((0usize..=LANE_CHUNK_BYTES - 64, any::<bool>()), 1..80),
            steps in proptest::collection::vec(0usize..4, 0..400),
        ) {
            let memory = NicMemory::of_ranks(4);
            let key = |number: usize| LaneKey(Context(7), u32::MAX, number as u32);
            // A chunk's bytes, or in those of which each has a portion a third of them.
            let share = |number: usize| {
                let (bytes, is_divided) = chunks[number];
                if is_divided { bytes / 3 } else { bytes }
            };
            let mut writer = LaneWriter::default();
            let mut readers = [(LaneReader::default(), 0usize); 3];
            let mut written = 0;
            let mut write = |written: &mut usize| {
                let Some(&(bytes, each)) = chunks.get(*written) else { return false };
                let shape = Shape { each, ..SAME };
                let is_thorough = written.is_multiple_of(2);
                let room = writer.room(&memory, OWN, shape, bytes, is_thorough).unwrap();
                let Some(room) = room else { return false };
                // SAFETY: the writer answered a place for as many bytes.
                unsafe { room.data.as_ptr().write_bytes(*written as u8, bytes) };
                let portion = share(*written) as u64;
                for reader in (0..4u32).filter(|_| each) {
                    let at = (reader as u64).saturating_sub(1) * portion;
                    LaneWriter::set_portion(&memory, OWN, &room, reader, (at, portion)).unwrap();
                }
                writer.publish(&memory, OWN, key(*written), room, (0, portion), 3).unwrap();
                *written += 1;
                true
            };
            let read = |number: usize, (reader, next): &mut (LaneReader, usize)| {
                let found = reader.find(&memory, OWN, key(*next), 1 + number as u32, false).unwrap();
                let Some(chunk) = found else { return false };
                assert_eq!(chunk.bytes(), share(*next));
                let Portion::Lane(data) = chunk.portion() else { panic!("nothing is lent") };
                // SAFETY: the chunk's bytes can be read, and its rank is this thread.
                let read = unsafe { std::slice::from_raw_parts(data.as_ptr(), chunk.bytes()) };
                assert!(read.iter().all(|byte| *byte == *next as u8));
                chunk.done();
                reader.advance();
                *next += 1;
                true
            };
            for step in steps {
                if step == 3 { write(&mut written); } else { read(step, &mut readers[step]); }
            }
            while written < chunks.len() || readers.iter().any(|(_, next)| *next < chunks.len()) {
                let moved = write(&mut written);
                let readers = readers.iter_mut().enumerate();
                let read = readers.map(|(number, reader)| read(number, reader)).filter(|moved| *moved).count();
                prop_assert!(moved || read > 0, "nobody can go on");
            }
        }
    }

    #[test]
    fn what_is_lent_is_held_until_it_was_taken_back_which_tells_who_was_refused() {
        let memory = NicMemory::of_ranks(4);
        let mut writer = LaneWriter::default();
        let mut readers = [LaneReader::default(); 2];
        let shape = Shape { by: By::Attach, each: true, members: 130 };
        let room = writer.room(&memory, OWN, shape, 0, true).unwrap().unwrap();
        for member in 0..130 {
            LaneWriter::set_portion(&memory, OWN, &room, member, (0xabc0 + member as u64, 1 << 30)).unwrap();
        }
        let lent = writer.publish(&memory, OWN, LaneKey(Context(7), 1, 0), room, (0, 0), 2).unwrap().unwrap();
        // Other chunks go round the lane meanwhile, past the slot that is held, and past its bytes.
        let another = |writer: &mut LaneWriter, round| {
            let room = writer.room(&memory, OWN, SAME, LANE_CHUNK_BYTES, true).unwrap();
            let publish =
                |room| writer.publish(&memory, OWN, LaneKey(Context(9), 1, round), room, (0, 0), 0).unwrap();
            room.map(publish).is_some()
        };
        assert!((0..3 * LANE_SLOTS as u32).all(|round| another(&mut writer, round)));
        let [one, other] = &mut readers;
        let key = LaneKey(Context(7), 1, 0);
        let chunk = one.find(&memory, OWN, key, 3, true).unwrap().unwrap();
        assert_eq!((chunk.portion(), chunk.bytes()), (Portion::Lent(0xabc3), 1 << 30));
        chunk.done();
        assert_eq!(writer.take_back(&memory, OWN, &lent).unwrap(), None);
        other.find(&memory, OWN, key, 129, true).unwrap().unwrap().refuse().unwrap();
        assert_eq!(writer.take_back(&memory, OWN, &lent).unwrap(), Some(vec![129]));
        assert!(another(&mut writer, 0));
        assert!(one.find(&memory, OWN, key, 130, true).is_err(), "there is no such member");
    }

    #[test]
    fn chunks_that_are_read_late_keep_their_slots_and_bytes_and_no_others() {
        let memory = NicMemory::of_ranks(4);
        let mut writer = LaneWriter::default();
        let give = |writer: &mut LaneWriter, number, bytes| {
            let room = writer.room(&memory, OWN, SAME, bytes, true).unwrap()?;
            let range = room.start..room.start + room.bytes;
            writer.publish(&memory, OWN, LaneKey(Context(7), number, 0), room, (0, bytes as u64), 1).unwrap();
            Some(range)
        };
        let read = |number| {
            let found =
                LaneReader::default().find(&memory, OWN, LaneKey(Context(7), number, 0), 1, true).unwrap();
            found.unwrap().done();
        };
        // Half of the lane has gaps: every second chunk stays.
        let laid: Vec<_> =
            (0..8).map(|number| give(&mut writer, number, LANE_CHUNK_BYTES).unwrap()).collect();
        assert_eq!(give(&mut writer, 8, 1), None, "the lane is full");
        (1..8).step_by(2).for_each(read);
        for number in (1..8).step_by(2) {
            assert_eq!(
                give(&mut writer, 8 + number, LANE_CHUNK_BYTES).as_ref(),
                Some(&laid[number as usize])
            );
        }
        assert_eq!(give(&mut writer, 20, 64), None, "the lane is full again");
        assert!(writer.has_slots_for(&memory, OWN, (LANE_SLOTS - 8) / COLLECTIVE_SLOTS).unwrap());
        assert!(!writer.has_slots_for(&memory, OWN, (LANE_SLOTS - 8) / COLLECTIVE_SLOTS + 1).unwrap());
        (0..8).step_by(2).for_each(read);
        assert!(writer.has_slots_for(&memory, OWN, (LANE_SLOTS - 4) / COLLECTIVE_SLOTS).unwrap());
        // Slots run out before bytes do.
        let more =
            (0..LANE_SLOTS as u32).filter(|number| give(&mut writer, 100 + number, 64).is_some()).count();
        assert_eq!(more, LANE_SLOTS - 4);
    }
}

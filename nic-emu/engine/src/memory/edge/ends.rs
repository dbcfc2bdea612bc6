//! The two ends of an edge: who puts messages in its cells, and who takes them.

use super::cells::{EDGE_CELLS, EDGE_INLINE_BYTES, EDGES};
use crate::memory::descriptor::Check;
use crate::memory::few;
use crate::memory::sync::Ordering;
use crate::memory::{Corrupt, LocalRank, NicMemory, SlabId};

/// Where a message's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the cell.
    Cell,
    /// In slabs of the sender, from this one on.
    Slab(SlabId),
    /// They come as a message.
    Message,
}

const IN_CELL: u8 = 0;
const IN_SLAB: u8 = 1;
const AS_MESSAGE: u8 = 2;

/// A message that has come along an edge, or of which an edge tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// What the sender says of it.
    pub check: Check,
    /// Its bytes.
    pub bytes: u64,
    /// Where they are.
    pub place: Place,
}

/// The sending end of an edge. Private to its rank.
#[derive(Debug)]
pub struct EdgeWriter {
    /// The rank that receives.
    pub receiver: LocalRank,
    edge: u32,
    /// Messages put so far.
    put: u32,
    /// So many of them were taken when this end looked last.
    taken: u32,
}

impl EdgeWriter {
    /// The sending end of an edge that this rank of the node has opened.
    pub fn new(receiver: LocalRank, edge: u32) -> Self {
        Self { receiver, edge, put: 0, taken: 0 }
    }

    /// Whether another message can be put.
    #[inline]
    pub fn has_room(&mut self, memory: &NicMemory) -> Result<bool, Corrupt> {
        let full = EDGE_CELLS as u32;
        if self.put.wrapping_sub(self.taken) >= full {
            self.taken = memory.edge(self.receiver, self.edge)?.taken.load(Ordering::Acquire);
        }
        Ok(self.put.wrapping_sub(self.taken) < full)
    }

    /// Puts a message, for which there is room; `data` is what lies in the cell.
    ///
    /// # Safety
    /// Where the place is the cell, `data` must be readable for the message's bytes, at most
    /// `EDGE_INLINE_BYTES`.
    #[inline]
    pub unsafe fn put(
        &mut self,
        memory: &NicMemory,
        message: &Arrived,
        data: *const u8,
    ) -> Result<(), Corrupt> {
        let edge = memory.edge(self.receiver, self.edge)?;
        self.put = self.put.wrapping_add(1);
        let cell = edge.cell(self.put);
        cell.bytes.set(message.bytes);
        let place = match message.place {
            Place::Cell => {
                let bytes = message.bytes as usize;
                debug_assert!(bytes <= EDGE_INLINE_BYTES);
                // SAFETY: the caller's promise.
                let words: [_; EDGE_INLINE_BYTES / 8] = unsafe { few::as_words(data, bytes) };
                for (to, word) in cell.payload.iter().zip(words).take(bytes.div_ceil(8)) {
                    to.store(word, Ordering::Relaxed);
                }
                IN_CELL
            }
            Place::Slab(first) => {
                cell.payload[0].store(first.0.into(), Ordering::Relaxed);
                IN_SLAB
            }
            Place::Message => AS_MESSAGE,
        };
        let Check { call, signature } = message.check;
        let said = (call as u64) << 32 | (place as u64) << 40 | (signature as u64) << 48;
        cell.label.store(self.put as u64 | said, Ordering::Release);
        Ok(())
    }
}

/// The receiving end of an edge. Private to its rank.
#[derive(Debug)]
pub struct EdgeReader {
    /// The rank that sends.
    pub sender: LocalRank,
    /// This rank.
    receiver: LocalRank,
    /// Its number among this rank's edges.
    pub edge: u32,
    /// Messages taken so far.
    taken: u32,
    /// Bytes of the next one that were copied out of slabs that its sender still fills.
    pub copied: u64,
}

impl EdgeReader {
    /// The receiving end of an edge that this rank (`receiver`) opens for another one, with nothing in it.
    pub fn open(
        memory: &NicMemory,
        receiver: LocalRank,
        edge: u32,
        sender: LocalRank,
    ) -> Result<Self, Corrupt> {
        let of = memory.edge(receiver, edge)?;
        of.taken.store(0, Ordering::Relaxed);
        // No message to come has this number.
        of.cells.iter().for_each(|cell| cell.label.store(0, Ordering::Relaxed));
        Ok(Self { sender, receiver, edge, taken: 0, copied: 0 })
    }

    /// The next message, if there is one. Answers the same until [`Self::done`].
    #[inline]
    pub fn next(&self, memory: &NicMemory) -> Result<Option<Arrived>, Corrupt> {
        let number = self.taken.wrapping_add(1);
        let cell = memory.edge(self.receiver, self.edge)?.cell(number);
        let label = cell.label.load(Ordering::Acquire);
        if label as u32 != number {
            return Ok(None);
        }
        let bytes = cell.bytes.get();
        let place = match (label >> 40) as u8 {
            IN_CELL if bytes <= EDGE_INLINE_BYTES as u64 => Place::Cell,
            IN_SLAB => Place::Slab(SlabId(cell.payload[0].load(Ordering::Relaxed) as u32)),
            AS_MESSAGE => Place::Message,
            _ => {
                let limit = EDGE_INLINE_BYTES as u64 + 1;
                return Err(Corrupt { what: "bytes in a cell of an edge", value: bytes, limit });
            }
        };
        let check = Check { call: (label >> 32) as u8, signature: (label >> 48) as u16 };
        Ok(Some(Arrived { check, bytes, place }))
    }

    /// Copies the next message, which lies in its cell.
    ///
    /// # Safety
    /// `to` must be writable for `bytes` bytes, which are those of the message.
    #[inline]
    pub unsafe fn copy(&self, memory: &NicMemory, to: *mut u8, bytes: usize) -> Result<(), Corrupt> {
        let cell = memory.edge(self.receiver, self.edge)?.cell(self.taken.wrapping_add(1));
        let mut words = [0u64; EDGE_INLINE_BYTES / 8];
        let bytes = bytes.min(EDGE_INLINE_BYTES);
        for (word, from) in words.iter_mut().zip(&cell.payload).take(bytes.div_ceil(8)) {
            *word = from.load(Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { few::copy(words.as_ptr().cast(), to, bytes) };
        Ok(())
    }

    /// The next message is taken: its cell may be used again.
    #[inline]
    pub fn done(&mut self, memory: &NicMemory) -> Result<(), Corrupt> {
        self.taken = self.taken.wrapping_add(1);
        self.copied = 0;
        memory.edge(self.receiver, self.edge)?.taken.store(self.taken, Ordering::Release);
        Ok(())
    }
}

/// The edges of a rank that are in use. Private to the rank.
#[derive(Debug, Default)]
pub struct EdgeAllocator {
    free: Vec<u32>,
    touched: u32,
}

impl EdgeAllocator {
    /// An edge that nobody uses; none when all are in use.
    pub fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let next = self.touched;
            self.touched += ((next as usize) < EDGES) as u32;
            ((next as usize) < EDGES).then_some(next)
        })
    }

    /// Gives one back.
    pub fn give_back(&mut self, edge: u32) {
        self.free.push(edge);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SENDER: LocalRank = LocalRank(0);
    const RECEIVER: LocalRank = LocalRank(1);

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn messages_come_as_they_were_put_and_none_is_overwritten(
            sizes in proptest::collection::vec(0usize..=EDGE_INLINE_BYTES, 1..60),
            steps in proptest::collection::vec(any::<bool>(), 0..200),
            first in any::<u32>(),
        ) {
            let memory = NicMemory::of_ranks(2);
            let mut reader = EdgeReader::open(&memory, RECEIVER, 5, SENDER).unwrap();
            let mut writer = EdgeWriter::new(RECEIVER, 5);
            // As after so many messages.
            (reader.taken, writer.put, writer.taken) = (first, first, first);
            reader.taken = first.wrapping_sub(1);
            reader.done(&memory).unwrap();
            memory.edge(RECEIVER, 5).unwrap().cells.iter().for_each(|cell| cell.label.store(first as u64, Ordering::Relaxed));
            let message = |i: usize| Arrived { check: Check { call: i as u8, signature: 3 }, bytes: sizes[i] as u64, place: Place::Cell };
            let (mut put, mut taken) = (0, 0);
            let mut step = |puts: bool| {
                if puts && put < sizes.len() {
                    let room = writer.has_room(&memory).unwrap();
                    assert_eq!(room, put - taken < EDGE_CELLS);
                    let bytes = vec![put as u8; sizes[put]];
                    // SAFETY: the message has so many bytes.
                    if room { unsafe { writer.put(&memory, &message(put), bytes.as_ptr()) }.unwrap(); put += 1; }
                } else {
                    let next = reader.next(&memory).unwrap();
                    assert_eq!(next, (taken < put).then(|| message(taken)));
                    if next.is_some() {
                        let mut bytes = vec![0xee; sizes[taken] + 1];
                        // SAFETY: there is room for so many bytes.
                        unsafe { reader.copy(&memory, bytes.as_mut_ptr(), sizes[taken]) }.unwrap();
                        assert_eq!(bytes.pop(), Some(0xee));
                        assert!(bytes.iter().all(|byte| *byte == taken as u8));
                        reader.done(&memory).unwrap();
                        taken += 1;
                    }
                }
                taken
            };
            steps.into_iter().for_each(|puts| { step(puts); });
            for _ in 0..2 * sizes.len() { step(true); step(false); }
            prop_assert_eq!(step(false), sizes.len());
        }
    }

    #[test]
    fn an_edge_is_opened_empty_and_numbers_are_given_out_once() {
        let memory = NicMemory::of_ranks(2);
        let mut edges = EdgeAllocator::default();
        let edge = edges.take().unwrap();
        let reader = EdgeReader::open(&memory, RECEIVER, edge, SENDER).unwrap();
        let message = Arrived { check: Check::NONE, bytes: 70_000, place: Place::Message };
        // SAFETY: nothing lies in the cell.
        unsafe { EdgeWriter::new(RECEIVER, edge).put(&memory, &message, std::ptr::null()) }.unwrap();
        assert_eq!(reader.next(&memory).unwrap(), Some(message));
        edges.give_back(reader.edge);
        assert_eq!(edges.take(), Some(edge));
        assert_eq!(EdgeReader::open(&memory, RECEIVER, edge, SENDER).unwrap().next(&memory).unwrap(), None);
        assert_eq!(std::iter::from_fn(|| edges.take()).count(), EDGES - 1);
    }
}

//! A rank's pool: blocks in NIC memory for the bytes of messages that it has not received yet.
//!
//! Only the processor takes blocks. The rank, which copies a message out of its block, gives the block back
//! by pushing it on a list that leads through the blocks themselves; the processor empties the list as a
//! whole. So giving back takes no lock, and no block is seen twice.
//!
//! A message that finds no room waits with its sender. The pool notes for whom ([`ForWhom`]), and who gives
//! back the next block answers whom to wake, after it has said in [`super::RoomNews`] that there is room: so
//! who waits for room has nothing to try while the news are the same, and no room comes back unseen.
//!
//! Chunks are touched when no other has room, so the pool's memory is what was in use at once. An empty
//! pool's pages go back to the system ([`trim`]). Chunks stand in lists by the largest block that is free in
//! them, and a message takes its block from the chunk whose largest one is the smallest that will do.

use super::blocks::{self, Bitmap, CHUNK_BYTES, ORDERS, UNIT_BYTES, WORDS};
use super::chunk::PoolChunk;
use super::pool_state::PoolState;
use crate::memory::linked::{LinkWord, List, NONE};
use crate::memory::queue::UnexpectedMessages;
use crate::memory::sync::{AtomicU64, Ordering, fence};
use crate::memory::{Corrupt, LocalRank, NicMemory, checked};
use std::ptr::NonNull;

/// What is in a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Messages.
    pub messages: u64,
    /// Bytes that they take up.
    pub bytes: u64,
}

/// For whom a pool has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForWhom {
    /// A rank of the pool's node.
    Rank(LocalRank),
    /// The driver of messages between nodes.
    Driver,
    /// Several of them.
    Several,
}

impl ForWhom {
    fn word(self) -> u32 {
        match self {
            ForWhom::Several => 1,
            ForWhom::Driver => 2,
            ForWhom::Rank(local_rank) => local_rank.0.saturating_add(3),
        }
    }

    fn of_word(word: u32) -> Option<Self> {
        match word {
            0 => None,
            1 => Some(ForWhom::Several),
            2 => Some(ForWhom::Driver),
            rank => Some(ForWhom::Rank(LocalRank(rank - 3))),
        }
    }
}

/// Chunks whose pages an empty pool keeps.
const KEPT_CHUNKS: u32 = 16;

/// Gives the pages of pools that are empty and in which nothing has waited since the last call back to the
/// system, but for a few of each. For who looks every now and then, and may take the run token by `try_hold`.
/// Answers the bytes.
pub fn trim<Held>(memory: &NicMemory, try_hold: impl Fn() -> Option<Held>) -> Result<u64, Corrupt> {
    let mut bytes = 0;
    for rank in memory.local_ranks() {
        let pool = UnexpectedPool::of(memory, rank)?;
        let messages = pool.messages();
        let is_still = pool.state.messages_seen.get() == messages;
        pool.state.messages_seen.set(messages);
        if is_still
            && pool.state.touched.get() > KEPT_CHUNKS
            && UnexpectedMessages::of(memory, memory.rank(rank)?).list().is_empty()
            && let Some(_held) = try_hold()
        {
            bytes += pool.forget()?;
        }
    }
    Ok(bytes)
}

/// A block, as queue entries and request slots name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PoolBlock {
    chunk: u32,
    unit: u32,
    order: u32,
}

/// Tells a block's word from "none".
const IS_BLOCK: u64 = 1 << 63;

impl PoolBlock {
    fn word(self) -> u64 {
        IS_BLOCK | (self.chunk as u64) << 24 | (self.unit as u64) << 8 | self.order as u64
    }

    fn bytes(self) -> u64 {
        (UNIT_BYTES as u64) << self.order
    }
}

/// A rank's pool.
#[derive(Clone, Copy)]
pub struct UnexpectedPool<'m> {
    memory: &'m NicMemory,
    owner: LocalRank,
    state: &'m PoolState,
}

impl<'m> UnexpectedPool<'m> {
    /// The pool of this local rank.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn of(memory: &'m NicMemory, owner: LocalRank) -> Result<Self, Corrupt> {
        Ok(Self { memory, owner, state: &memory.rank(owner)?.unexpected })
    }

    /// What is in it, as far as the processor knows: with what was received since a message was last put
    /// here.
    pub fn usage(&self) -> Usage {
        Usage { messages: self.state.used_blocks.get(), bytes: self.state.used_bytes.get() }
    }

    /// The most bytes that were in use at once.
    pub fn most_bytes(&self) -> u64 {
        self.state.most_bytes.get()
    }

    /// The same since [`Self::watch`] was called last.
    pub fn most_watched_bytes(&self) -> u64 {
        self.state.most_watched_bytes.get()
    }

    /// Begins to watch for the most bytes: it is those that are in use. The caller holds the run token.
    pub fn watch(&self) {
        self.state.most_watched_bytes.set(self.state.used_bytes.get());
    }

    /// Bytes that may be in use at once.
    pub fn limit_bytes(&self) -> u64 {
        self.memory.layout().unexpected_chunks as u64 * CHUNK_BYTES as u64
    }

    /// Messages that have waited here for their receives since the job began.
    pub fn messages(&self) -> u64 {
        self.state.messages.get()
    }

    /// Counts a message that waits here. The caller holds the run token.
    pub fn count_message(&self) {
        self.state.messages.add(1);
    }

    /// Times that a message found no room.
    pub fn refused(&self) -> u64 {
        self.state.refused.get()
    }

    /// Bytes of memory that the pool takes up.
    pub fn touched_bytes(&self) -> u64 {
        self.state.touched.get() as u64 * CHUNK_BYTES as u64
    }

    /// Bytes of the longest message that may find room; 0 at the limit. May be asked without the token, as a
    /// hint.
    pub(crate) fn room_bytes(&self) -> u64 {
        if self.state.returned.load(Ordering::Relaxed) != 0
            || self.state.touched.get() < self.memory.layout().unexpected_chunks
        {
            return CHUNK_BYTES as u64;
        }
        let order = self.state.with_room.iter().rposition(|ends| LinkWord(ends).next() != NONE);
        order.map_or(0, |order| (UNIT_BYTES as u64) << order)
    }

    /// Puts a message here; answers its block, or none when the pool is at its limit. The caller holds the
    /// run token.
    ///
    /// # Safety
    /// `from` must be readable for `bytes` bytes.
    pub unsafe fn put(&self, from: *const u8, bytes: u64, whose: ForWhom) -> Result<Option<u64>, Corrupt> {
        let Some(word) = self.take(bytes, whose)? else { return Ok(None) };
        let to = self.bytes(word, bytes)?;
        // SAFETY: the caller's promise; the block has room for the message, checked, and nobody else uses it
        // before it is named to somebody.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_ptr(), bytes as usize) };
        Ok(Some(word))
    }

    /// A block for a message of so many bytes; none when the pool is at its limit. The caller holds the run
    /// token.
    pub fn take(&self, bytes: u64, whose: ForWhom) -> Result<Option<u64>, Corrupt> {
        let Some(order) = blocks::order_of(bytes) else { return Ok(None) };
        self.collect()?;
        let mut found = self.chunk_with_room(order)?;
        if found.is_none() {
            self.want(whose);
            // What was given back before its giver could see that is here.
            self.collect()?;
            found = self.chunk_with_room(order)?;
        }
        let Some((index, chunk)) = found else {
            self.state.refused.add(1);
            return Ok(None);
        };
        let mut free = chunk.bitmap();
        let Some(unit) = blocks::find(&free, order) else {
            return Err(Corrupt { what: "room of a pool's chunk", value: index as u64, limit: 0 });
        };
        blocks::take(&mut free, unit, order);
        self.update(index, chunk, &free)?;
        let block = PoolBlock { chunk: index, unit, order };
        let used = self.state.used_bytes.get().wrapping_add(block.bytes());
        self.state.used_bytes.set(used);
        for most in [&self.state.most_bytes, &self.state.most_watched_bytes] {
            most.set(most.get().max(used));
        }
        self.state.used_blocks.add(1);
        Ok(Some(block.word()))
    }

    /// Notes that somebody found no room, before looking once more.
    #[cold]
    fn want(&self, whose: ForWhom) {
        let before = self.state.wanted.load(Ordering::Relaxed);
        let both = if before == 0 || before == whose.word() { whose } else { ForWhom::Several };
        self.state.wanted.store(both.word(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Says that room came back; answers for whom there had been none.
    fn tell(&self) -> Option<ForWhom> {
        fence(Ordering::SeqCst);
        if self.state.wanted.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let whose = ForWhom::of_word(self.state.wanted.swap(0, Ordering::Relaxed));
        self.memory.header().room.came.fetch_add(1, Ordering::SeqCst);
        whose
    }

    /// Takes a block back that its rank has not been told of: of a message that was taken back. The caller
    /// holds the run token.
    pub fn free(&self, word: u64) -> Result<(), Corrupt> {
        self.put_back(word)?;
        // Ranks that sleep look at the news every now and then: messages are seldom taken back.
        self.tell();
        Ok(())
    }

    fn put_back(&self, word: u64) -> Result<(), Corrupt> {
        let block = self.block(word)?;
        let chunk = self.memory.unexpected_chunk(self.owner, block.chunk)?;
        let mut free = chunk.bitmap();
        // Of a chunk that nobody has touched no bit says "free" either.
        let is_touched = block.chunk < self.state.touched.get();
        if !is_touched || !blocks::give_back(&mut free, block.unit, block.order) {
            return Err(Corrupt { what: "block of a pool that is free already", value: word, limit: 0 });
        }
        self.update(block.chunk, chunk, &free)?;
        self.state.used_bytes.add(-(block.bytes() as i64));
        self.state.used_blocks.add(-1);
        Ok(())
    }

    /// The first byte of a message of so many bytes in its block.
    pub fn bytes(&self, word: u64, bytes: u64) -> Result<NonNull<u8>, Corrupt> {
        let block = self.block(word)?;
        checked("bytes of a message in its block", bytes, block.bytes() as usize + 1)?;
        let at = block.chunk as u64 * CHUNK_BYTES as u64 + block.unit as u64 * UNIT_BYTES as u64;
        self.memory.unexpected_bytes(self.owner, at, bytes)
    }

    /// Gives back a block whose message was copied out: for the rank whose pool it is, which wakes those for
    /// whom there was no room.
    #[inline]
    pub fn give_back(&self, word: u64) -> Result<Option<ForWhom>, Corrupt> {
        let link = self.link(word)?;
        let mut head = self.state.returned.load(Ordering::Relaxed);
        loop {
            link.store(head, Ordering::Relaxed);
            match self.state.returned.compare_exchange_weak(head, word, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return Ok(self.tell()),
                Err(other) => head = other,
            }
        }
    }

    /// Takes in what was given back. Ends, whatever the list says: a block that is free already is an error.
    fn collect(&self) -> Result<(), Corrupt> {
        if self.state.returned.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let mut at = self.state.returned.swap(0, Ordering::Acquire);
        while at != 0 {
            let next = self.link(at)?.load(Ordering::Relaxed);
            self.put_back(at)?;
            at = next;
        }
        Ok(())
    }

    /// Gives the pages of the pool back if it is empty; answers their bytes. The caller holds the run token.
    fn forget(&self) -> Result<u64, Corrupt> {
        self.collect()?;
        let touched = self.state.touched.get();
        if self.state.used_blocks.get() != 0 || touched <= KEPT_CHUNKS {
            return Ok(0);
        }
        // As if none had ever been used.
        self.state.touched.set(0);
        self.state.with_room.iter().for_each(|ends| LinkWord(ends).set(NONE, NONE));
        for index in 0..touched.min(self.memory.layout().unexpected_chunks) {
            self.memory.unexpected_chunk(self.owner, index)?.room.set(0);
        }
        let first = KEPT_CHUNKS as u64 * CHUNK_BYTES as u64;
        let bytes = touched as u64 * CHUNK_BYTES as u64 - first;
        self.memory.forget_unexpected(self.owner, first, bytes)?;
        Ok(bytes)
    }

    /// The chunk with the smallest free block that will do, or one that was never used.
    fn chunk_with_room(&self, order: u32) -> Result<Option<(u32, &'m PoolChunk)>, Corrupt> {
        let first = self.state.with_room[order as usize..]
            .iter()
            .map(|ends| LinkWord(ends).next())
            .find(|first| *first != NONE);
        if let Some(first) = first {
            return Ok(Some((first - 1, self.memory.unexpected_chunk(self.owner, first - 1)?)));
        }
        let index = self.state.touched.get();
        if index >= self.memory.layout().unexpected_chunks {
            return Ok(None);
        }
        self.state.touched.set(index + 1);
        let chunk = self.memory.unexpected_chunk(self.owner, index)?;
        self.update(index, chunk, &[u64::MAX; WORDS])?;
        Ok(Some((index, chunk)))
    }

    /// Writes a chunk's bitmap and puts the chunk in the list where it belongs.
    fn update(&self, index: u32, chunk: &PoolChunk, free: &Bitmap) -> Result<(), Corrupt> {
        chunk.free.iter().zip(free).for_each(|(word, &value)| word.set(value));
        let room = blocks::largest(free).map_or(0, |order| order + 1);
        let before = chunk.room.get();
        if room == before {
            return Ok(());
        }
        if before != 0 {
            self.list(before)?.remove(index)?;
        }
        chunk.room.set(room);
        if room == 0 { Ok(()) } else { self.list(room)?.prepend(index) }
    }

    /// The chunks whose largest free block is of this order, plus one.
    fn list(&self, room: u32) -> Result<List<'m, impl Fn(u32) -> Result<LinkWord<'m>, Corrupt>>, Corrupt> {
        let (value, limit) = (room as u64, ORDERS as u64 + 1);
        let ends = self.state.with_room.get(room as usize - 1);
        let ends = LinkWord(ends.ok_or(Corrupt { what: "room of a pool's chunk", value, limit })?);
        let pool = *self;
        let links = move |chunk| Ok(LinkWord(&pool.memory.unexpected_chunk(pool.owner, chunk)?.links));
        Ok(List { ends, links, limit: pool.memory.layout().unexpected_chunks as usize })
    }

    /// What a word says of a block, checked: it lies in a chunk of the pool.
    fn block(&self, word: u64) -> Result<PoolBlock, Corrupt> {
        let block = PoolBlock {
            chunk: (word >> 24) as u32,
            unit: (word >> 8) as u16 as u32,
            order: word as u8 as u32,
        };
        if block.word() != word
            || block.chunk >= self.memory.layout().unexpected_chunks
            || !blocks::is_block(block.unit, block.order)
        {
            return Err(Corrupt { what: "block of a pool", value: word, limit: 0 });
        }
        Ok(block)
    }

    /// The word of a block that was given back that leads to the next one.
    fn link(&self, word: u64) -> Result<&'m AtomicU64, Corrupt> {
        // SAFETY: eight bytes in the mapping, at a multiple of 64, and atomics are valid for every bit
        // pattern.
        Ok(unsafe { self.bytes(word, 8)?.cast().as_ref() })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::Layout;
    use crate::memory::token::Holder;
    use crate::threads::processor::Processor;
    use proptest::prelude::*;

    const CHUNKS: u64 = 6;
    const RANK: ForWhom = ForWhom::Rank(LocalRank(0));
    const OTHER: ForWhom = ForWhom::Rank(LocalRank(1));

    fn memory() -> NicMemory {
        let layout = Layout::new(2, 2, [0; 2]).unwrap().with_unexpected_bytes(CHUNKS * CHUNK_BYTES as u64);
        NicMemory::create_private(layout, 0, 1).unwrap()
    }

    fn message(bytes: u64, salt: usize) -> Vec<u8> {
        (0..bytes as usize).map(|i| (i * 7 + salt) as u8).collect()
    }

    proptest! {
        #[test]
        fn messages_stay_what_they_are_until_they_are_given_back_and_memory_stays_within_the_limit(steps in proptest::collection::vec((any::<Option<(u16, bool)>>(), 0..=CHUNK_BYTES as u64), 0..300)) {
            let memory = memory();
            let pool = UnexpectedPool::of(&memory, LocalRank(1)).unwrap();
            let mut kept: Vec<(u64, Vec<u8>)> = Vec::new();
            for (salt, (step, bytes)) in steps.into_iter().enumerate() {
                match step {
                    None => {
                        let data = message(bytes >> (salt % 12), salt);
                        // SAFETY: a vector of that length.
                        match unsafe { pool.put(data.as_ptr(), data.len() as u64, RANK) }.unwrap() {
                            Some(word) => kept.push((word, data)),
                            None => prop_assert!(!kept.is_empty()),
                        }
                    }
                    Some((at, by_rank)) if !kept.is_empty() => {
                        let (word, data) = kept.swap_remove(at as usize % kept.len());
                        let from = pool.bytes(word, data.len() as u64).unwrap();
                        // SAFETY: the block holds so many bytes.
                        let held = unsafe { std::slice::from_raw_parts(from.as_ptr(), data.len()) };
                        prop_assert!(held == data);
                        if by_rank { _ = pool.give_back(word).unwrap() } else { pool.free(word).unwrap() }
                    }
                    Some(_) => {}
                }
                prop_assert!(pool.touched_bytes() <= CHUNKS * CHUNK_BYTES as u64);
            }
            for (word, _) in kept.drain(..) { _ = pool.give_back(word).unwrap() }
            // All of it serves the longest messages again.
            let whole: Vec<_> = (0..CHUNKS).map(|_| pool.take(CHUNK_BYTES as u64, RANK).unwrap().unwrap()).collect();
            prop_assert_eq!(pool.usage(), Usage { messages: CHUNKS, bytes: CHUNKS * CHUNK_BYTES as u64 });
            prop_assert_eq!(pool.take(1, RANK).unwrap(), None);
            prop_assert_eq!(pool.room_bytes(), 0);
            whole.into_iter().for_each(|word| _ = pool.give_back(word).unwrap());
            prop_assert_eq!(pool.room_bytes(), CHUNK_BYTES as u64);
        }

        #[test]
        fn words_that_name_no_block_are_errors(word: u64) {
            let memory = memory();
            let pool = UnexpectedPool::of(&memory, LocalRank(0)).unwrap();
            prop_assert!(pool.free(word).is_err());
            prop_assert!(pool.free(word & 0x00ff_ffff | IS_BLOCK).is_err());
            prop_assert!(pool.bytes(word, 1 << 40).is_err(), "longer than any block");
            // A block that could be, of a pool in which there was none.
            let could_be = PoolBlock { chunk: 0, unit: (word as u32) % blocks::UNITS, order: 0 };
            prop_assert!(pool.free(could_be.word()).is_err());
        }
    }

    #[test]
    fn a_block_that_is_given_back_twice_is_an_error() {
        let memory = memory();
        let pool = UnexpectedPool::of(&memory, LocalRank(0)).unwrap();
        let word = pool.take(100, RANK).unwrap().unwrap();
        pool.give_back(word).unwrap();
        pool.give_back(word).unwrap();
        assert!(pool.take(100, RANK).is_err(), "a list in a circle ends");
    }

    #[test]
    fn who_found_no_room_is_told_of_the_next_that_comes_back() {
        let memory = memory();
        let pool = UnexpectedPool::of(&memory, LocalRank(0)).unwrap();
        let came = || memory.header().room.came();
        let mut words: Vec<u64> =
            (0..CHUNKS).map(|_| pool.take(CHUNK_BYTES as u64, OTHER).unwrap().unwrap()).collect();
        let mut give = || pool.give_back(words.pop().unwrap()).unwrap();
        assert_eq!((give(), came()), (None, 0), "nobody wants it");
        assert!(pool.take(CHUNK_BYTES as u64, OTHER).unwrap().is_some());
        assert_eq!(pool.take(1, OTHER).unwrap(), None);
        assert_eq!(pool.take(1, OTHER).unwrap(), None);
        assert_eq!((give(), came()), (Some(OTHER), 1));
        assert_eq!((give(), came()), (None, 1), "it was told");
        assert!(pool.take(CHUNK_BYTES as u64, ForWhom::Driver).unwrap().is_some());
        assert!(pool.take(CHUNK_BYTES as u64, ForWhom::Driver).unwrap().is_some());
        for whose in [ForWhom::Driver, RANK] {
            assert_eq!(pool.take(1, whose).unwrap(), None);
        }
        pool.free(words.pop().unwrap()).unwrap();
        assert_eq!(came(), 2, "of what is taken back, too");
        for word in 0..1000 {
            assert!(ForWhom::of_word(word).is_none_or(|whose| whose.word() == word));
        }
    }

    #[test]
    fn the_pages_of_a_pool_that_has_become_empty_go_back_and_all_of_it_serves_again() {
        let chunks = 4 * KEPT_CHUNKS as u64;
        let layout = Layout::new(1, 1, [0; 2]).unwrap().with_unexpected_bytes(chunks * CHUNK_BYTES as u64);
        let memory = NicMemory::create_private(layout, 0, 1).unwrap();
        let processor = Processor::new(&memory, Holder::NIC_THREAD);
        let pool = UnexpectedPool::of(&memory, LocalRank(0)).unwrap();
        let data = message(CHUNK_BYTES as u64, 1);
        let trimmed = || trim(&memory, || processor.try_hold()).unwrap();
        for _ in 0..2 {
            // SAFETY: a vector of that length.
            let put = || unsafe { pool.put(data.as_ptr(), data.len() as u64, RANK) };
            let mut words: Vec<u64> = (0..chunks).map(|_| put().unwrap().unwrap()).collect();
            pool.count_message();
            let last = words.pop().unwrap();
            words.into_iter().for_each(|word| _ = pool.give_back(word).unwrap());
            assert_eq!(trimmed(), 0, "something has waited since the last look");
            assert_eq!(trimmed(), 0, "something is in it");
            let at = pool.bytes(last, CHUNK_BYTES as u64).unwrap();
            pool.give_back(last).unwrap();
            let expected = 3 * KEPT_CHUNKS as u64 * CHUNK_BYTES as u64;
            assert_eq!(trimmed(), expected);
            assert_eq!((pool.touched_bytes(), pool.usage()), (0, Usage::default()));
            // SAFETY: in the mapping; nobody writes.
            let first = unsafe { at.cast::<u64>().as_ptr().add(100).read_volatile() };
            assert_eq!(first, 0, "its page is a new one");
            assert_eq!(trimmed(), 0, "once");
        }
    }

    #[test]
    fn no_room_is_no_error() {
        let layout = Layout::new(1, 1, [0; 2]).unwrap().with_unexpected_bytes(0);
        let memory = NicMemory::create_private(layout, 0, 1).unwrap();
        let pool = UnexpectedPool::of(&memory, LocalRank(0)).unwrap();
        assert_eq!((pool.take(1, RANK).unwrap(), pool.room_bytes(), pool.refused()), (None, 0, 1));
        assert_eq!(pool.take(CHUNK_BYTES as u64 + 1, RANK).unwrap(), None);
    }
}

//! Slabs: buffers for payloads in NIC memory, so that a send is complete when it is posted (buffered).
//!
//! A rank owns its slabs and alone hands them out: one for a small payload, a run of neighbours for a longer
//! one. Whoever has read the bytes gives them back by setting their bits in the owner's free words. The owner
//! keeps its own word of free slabs and fetches returned ones only when it runs low.
//!
//! A longer payload is posted before its bytes are in its slabs, so that the receiver is matched, and drains
//! the first ones, while the sender fills the rest: `Filled` says how far it is. Its sender does not leave
//! its call before all are in.

use crate::memory::Word;
use crate::memory::numbers::SlabId;
use crate::memory::sync::{AtomicU32, AtomicU64, Ordering};

/// Bytes of a slab: the largest payload that needs only one.
pub const SLAB_BYTES: usize = 8 << 10;

/// Bytes of a payload from which on receivers look how far it is there: its sender may post it before it has
/// filled its slabs.
pub const PIPELINED_BYTES: usize = 2 << 10;

/// Slabs of a run at most.
const RUN_SLABS: usize = 32;

/// Bytes of the largest payload that lies in slabs.
pub const RUN_BYTES: usize = RUN_SLABS * SLAB_BYTES;

/// Bytes of the largest message that is always buffered: in slabs, or in its receiver's pool. Longer ones of
/// up to [`RUN_BYTES`] are while most of their sender's slabs are free.
pub const BUFFERED_BYTES: usize = 8 * SLAB_BYTES;

/// Slabs of a rank: four words of bits. A rank can have this many buffered messages of more than
/// [`crate::memory::descriptor::INLINE_BYTES`] bytes under way; the next one goes by rendezvous.
pub const SLABS: usize = 256;

const WORDS: usize = SLABS / 64;
/// Slabs, the first ones, that serve contributions to collectives alone: messages that nobody receives cannot
/// keep a collective waiting.
pub const OF_COLLECTIVES: usize = 16;
const _: () = assert!(OF_COLLECTIVES < 64, "they are part of the first word of bits");
const _: () = assert!(RUN_SLABS <= 64, "a run lies in one word of bits");

/// The word whose slabs can be reserved, and how many of them at most: what is left of it is still a run.
const RESERVING: usize = WORDS - 1;
const RESERVED: u32 = 24;

/// How many slabs a payload takes.
#[inline]
pub fn slabs_of(bytes: u64) -> u32 {
    bytes.div_ceil(SLAB_BYTES as u64).clamp(1, RUN_SLABS as u64) as u32
}

/// The slab that a rank probably hands out after this one: they are taken in turn, but for the first ones.
#[inline]
pub fn next_after(slab: SlabId) -> SlabId {
    match slab.0 + 1 {
        next if (next as usize) < SLABS => SlabId(next),
        _ => SlabId(OF_COLLECTIVES as u32),
    }
}

/// The bits of a run in its word, if it can be one.
#[inline]
fn run_bits(SlabId(first): SlabId, bytes: u64) -> Option<u64> {
    let count = slabs_of(bytes);
    (first % 64 + count <= 64).then(|| (u64::MAX >> (64 - count)) << (first % 64))
}

/// How many bytes of the payload that begins with a slab are in it. A line of its own, as one end writes it
/// while the other one reads.
#[repr(C, align(64))]
pub struct Filled(AtomicU32);

impl Filled {
    /// The owner begins: nothing is in it.
    #[inline]
    pub fn begin(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// The owner has written so many bytes from the start.
    #[inline]
    pub fn publish(&self, bytes: u32) {
        self.0.store(bytes, Ordering::Release);
    }

    /// How many bytes from the start may be read.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }
}

/// A message that begins in a slab and has left for another node, until it is matched there: how long it is,
/// and whether its bytes have travelled ahead of the match. Processor only; all zeros: none.
#[repr(transparent)]
pub struct Departed(Word);

impl Departed {
    const AHEAD: u32 = 1 << 31;

    /// A message has left.
    pub fn set(&self, bytes: u64, is_ahead: bool) {
        debug_assert!(bytes <= RUN_BYTES as u64, "it lies in slabs");
        self.0.set(bytes as u32 | if is_ahead { Self::AHEAD } else { 0 });
    }

    /// Its slabs come back: its bytes, and how many of them were ahead. None if there is no message.
    pub fn take(&self) -> Option<(u64, u64)> {
        let word = self.0.get();
        self.0.set(0);
        let bytes = u64::from(word & !Self::AHEAD);
        (bytes != 0).then_some((bytes, if word & Self::AHEAD == 0 { 0 } else { bytes }))
    }
}

/// The returned slabs of a rank: a set bit is a slab that was read and may be used again.
#[repr(C, align(64))]
pub struct ReturnedSlabs([AtomicU64; WORDS]);

impl ReturnedSlabs {
    /// Gives back what a payload of `bytes` bytes lay in. False when the number is none of a slab or run: the
    /// caller's memory is corrupt.
    #[inline]
    pub fn give_back(&self, first: SlabId, bytes: u64) -> bool {
        match (self.0.get(first.index() / 64), run_bits(first, bytes)) {
            (Some(word), Some(bits)) => {
                word.fetch_or(bits, Ordering::Release);
                true
            }
            _ => false,
        }
    }
}

/// The owner's side: which of its slabs are free.
///
/// Slabs are taken in turn, round all of them: a slab that the reader has just read is still in the reader's
/// cache, and writing it again at once costs several times what writing one costs that nobody holds any more
/// (`cargo bench -p nic-emu --bench channel -- lines`).
#[derive(Debug)]
pub struct SlabAllocator {
    free: [u64; WORDS],
    /// Where to look next.
    next: usize,
    /// Those of the last word that are reserved, and those of them that nobody reads: neither is free.
    reserved: u64,
    idle: u64,
}

impl Default for SlabAllocator {
    /// All slabs free.
    fn default() -> Self {
        Self { free: [u64::MAX; WORDS], next: 0, reserved: 0, idle: 0 }
    }
}

impl SlabAllocator {
    /// The first one of free neighbours that a payload of so many bytes fits in, at most [`RUN_BYTES`];
    /// none when too many are under way.
    #[inline]
    pub fn take(&mut self, bytes: usize, returned: &ReturnedSlabs) -> Option<SlabId> {
        let start = self.next;
        let count = slabs_of(bytes as u64);
        // The rest of this word, the other words, and once more the beginning of this one.
        for step in 0..=WORDS {
            let word = (start / 64 + step) % WORDS;
            let mask = if step == 0 { u64::MAX << (start % 64) } else { u64::MAX };
            let mask = if word == 0 { mask & u64::MAX << OF_COLLECTIVES } else { mask };
            let mut starts = run_starts(self.free[word], count) & mask;
            if starts == 0 && returned.0[word].load(Ordering::Relaxed) != 0 {
                self.fetch(word, returned);
                starts = run_starts(self.free[word], count) & mask;
            }
            if starts != 0 {
                let first = starts.trailing_zeros();
                self.free[word] &= !((u64::MAX >> (64 - count)) << first);
                let first = word as u32 * 64 + first;
                self.next = (first + count) as usize % SLABS;
                return Some(SlabId(first));
            }
        }
        None
    }

    /// Slabs that were taken and not given back.
    pub fn out(&self, returned: &ReturnedSlabs) -> u32 {
        let back =
            |(free, returned): (&u64, &AtomicU64)| (free | returned.load(Ordering::Relaxed)).count_zeros();
        self.free.iter().zip(&returned.0).map(back).sum()
    }

    /// Whether [`Self::take_first`] finds one.
    #[inline]
    pub fn has_first(&self, returned: &ReturnedSlabs) -> bool {
        let reserved = |word| if word == RESERVING { self.reserved } else { 0 };
        let mut words = self.free.iter().zip(&returned.0).enumerate();
        words.any(|(word, (free, back))| *free != 0 || back.load(Ordering::Relaxed) & !reserved(word) != 0)
    }

    /// A free slab for a contribution to a collective: the first one. All members read it, each from pages
    /// that it has to have mapped and at hand, so the same few slabs serve.
    #[inline]
    pub fn take_first(&mut self, returned: &ReturnedSlabs) -> Option<SlabId> {
        for word in 0..WORDS {
            if returned.0[word].load(Ordering::Relaxed) != 0 {
                self.fetch(word, returned);
            }
            let free = &mut self.free[word];
            if *free != 0 {
                let first = free.trailing_zeros();
                *free &= *free - 1;
                return Some(SlabId(word as u32 * 64 + first));
            }
        }
        None
    }

    /// Fetches the slabs of a word that were given back.
    #[inline]
    fn fetch(&mut self, word: usize, returned: &ReturnedSlabs) {
        let mut back = returned.0[word].swap(0, Ordering::Acquire);
        if word == RESERVING {
            self.idle |= back & self.reserved;
            back &= !self.reserved;
        }
        self.free[word] |= back;
    }

    /// Reserves a free slab: none takes it but [`Self::take_reserved`] until it is released. None when there
    /// are as many as there may be.
    pub fn reserve(&mut self, returned: &ReturnedSlabs) -> Option<SlabId> {
        self.fetch(RESERVING, returned);
        let bit = u64::BITS.checked_sub(self.free[RESERVING].leading_zeros() + 1)?;
        if self.reserved.count_ones() >= RESERVED {
            return None;
        }
        self.free[RESERVING] &= !(1 << bit);
        self.reserved |= 1 << bit;
        self.idle |= 1 << bit;
        Some(SlabId(RESERVING as u32 * 64 + bit))
    }

    /// Ends a reservation. Where somebody still reads the slab it is free when it is given back.
    pub fn release(&mut self, slab: SlabId) {
        let bit = self.reserved & 1 << (slab.0 % 64);
        self.reserved &= !bit;
        self.free[RESERVING] |= self.idle & bit;
        self.idle &= !bit;
    }

    /// Whether nobody reads a reserved slab any more, so that [`Self::take_reserved`] answers it.
    #[inline]
    pub fn is_idle(&mut self, slab: SlabId, returned: &ReturnedSlabs) -> bool {
        let bit = 1 << (slab.0 % 64);
        if self.idle & bit == 0 && returned.0[RESERVING].load(Ordering::Relaxed) & bit != 0 {
            self.fetch(RESERVING, returned);
        }
        self.idle & bit != 0
    }

    /// A reserved slab, if nobody reads it any more.
    #[inline]
    pub fn take_reserved(&mut self, slab: SlabId, returned: &ReturnedSlabs) -> Option<SlabId> {
        let is_idle = self.is_idle(slab, returned);
        self.idle &= !(1 << (slab.0 % 64));
        is_idle.then_some(slab)
    }
}

/// Where in a word of free slabs a run of so many begins.
#[inline]
fn run_starts(free: u64, count: u32) -> u64 {
    let (mut starts, mut length) = (free, 1);
    // Runs of one length that lie one behind the other, or overlap, are longer ones.
    while length < count {
        let step = length.min(count - length);
        starts &= starts >> step;
        length += step;
    }
    starts
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn of_a_message_that_has_left_its_slabs_come_back_once_and_as_many_bytes_as_were_ahead() {
        let departed = Departed(Word::default());
        assert_eq!(departed.take(), None);
        for bytes in [1, SLAB_BYTES as u64, SLAB_BYTES as u64 + 1, RUN_BYTES as u64] {
            for is_ahead in [false, true] {
                departed.set(bytes, is_ahead);
                assert_eq!(departed.take(), Some((bytes, if is_ahead { bytes } else { 0 })));
                assert_eq!(departed.take(), None);
            }
        }
    }

    proptest! {
        #[test]
        fn no_slab_is_handed_out_twice_and_none_is_lost(steps in proptest::collection::vec((any::<Option<u16>>(), 0..=RUN_BYTES), 0..2000)) {
            let returned = ReturnedSlabs(std::array::from_fn(|_| AtomicU64::new(0)));
            let mut slabs = SlabAllocator::default();
            let mut out: Vec<(SlabId, usize)> = Vec::new();
            let mut used = HashSet::new();
            let run = |SlabId(first): SlabId, bytes: usize| first..first + bytes.div_ceil(SLAB_BYTES).max(1) as u32;
            for (step, bytes) in steps {
                let take = |slabs: &mut SlabAllocator| match bytes {
                    0..=100 => slabs.take_first(&returned),
                    _ => slabs.take(bytes, &returned),
                };
                match step {
                    None => match take(&mut slabs) {
                        Some(first) => {
                            prop_assert!(run(first, bytes).end as usize <= SLABS);
                            prop_assert!(run(first, bytes).all(|slab| used.insert(slab)));
                            out.push((first, bytes));
                        }
                        None => prop_assert!(!used.is_empty()),
                    },
                    Some(at) if !out.is_empty() => {
                        let (first, bytes) = out.swap_remove(at as usize % out.len());
                        prop_assert!(run(first, bytes).all(|slab| used.remove(&slab)));
                        prop_assert!(returned.give_back(first, bytes as u64));
                    }
                    Some(_) => {}
                }
            }
            while let Some(slab) = slabs.take(1, &returned) {
                prop_assert!(slab.index() >= OF_COLLECTIVES);
                prop_assert!(used.insert(slab.0));
            }
            while let Some(slab) = slabs.take_first(&returned) { prop_assert!(used.insert(slab.0)) }
            prop_assert_eq!(used.len(), SLABS);
        }
    }

    #[test]
    fn a_reserved_slab_is_handed_out_by_its_number_alone() {
        let returned = ReturnedSlabs(std::array::from_fn(|_| AtomicU64::new(0)));
        let mut slabs = SlabAllocator::default();
        let reserved: Vec<_> = std::iter::from_fn(|| slabs.reserve(&returned)).collect();
        assert_eq!(reserved.len(), RESERVED as usize);
        assert_eq!(slabs.take_reserved(reserved[0], &returned), Some(reserved[0]));
        assert_eq!(slabs.take_reserved(reserved[0], &returned), None);
        let others: Vec<_> = std::iter::from_fn(|| slabs.take_first(&returned)).collect();
        assert_eq!(others.len(), SLABS - reserved.len());
        assert!(!others.iter().any(|slab| reserved.contains(slab)));
        assert!(returned.give_back(reserved[0], 1) && !slabs.has_first(&returned));
        assert_eq!(slabs.take_first(&returned), None);
        assert!(slabs.is_idle(reserved[0], &returned));
        // Released while it is read, and while it is not.
        assert_eq!(slabs.take_reserved(reserved[1], &returned), Some(reserved[1]));
        slabs.release(reserved[1]);
        assert!(!slabs.has_first(&returned));
        assert!(returned.give_back(reserved[1], 1));
        assert_eq!(slabs.take_first(&returned), Some(reserved[1]));
        slabs.release(reserved[0]);
        assert_eq!(slabs.take_first(&returned), Some(reserved[0]));
    }

    #[test]
    fn numbers_that_are_none_of_a_slab_or_run_are_refused() {
        let returned = ReturnedSlabs(std::array::from_fn(|_| AtomicU64::new(0)));
        assert!(!returned.give_back(SlabId(SLABS as u32), 1));
        assert!(returned.give_back(SlabId(63), SLAB_BYTES as u64));
        assert!(!returned.give_back(SlabId(63), SLAB_BYTES as u64 + 1));
    }
}

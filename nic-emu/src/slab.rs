//! Slabs: buffers for small payloads in NIC memory, so that a small send is complete when it is posted (buffered).
//!
//! A rank owns its slabs and alone hands them out; whoever has read a slab's bytes gives it back by setting its bit
//! in the owner's free words. The owner keeps its own word of free slabs and fetches returned ones only when it runs
//! low, so that few slabs stay in use and stay in its cache.

use crate::sync::{AtomicU64, Ordering};

/// Bytes of a slab: the largest message that is buffered.
pub const SLAB_BYTES: usize = 8 << 10;

/// Slabs of a rank: four words of bits. A rank can have this many buffered messages of more than
/// [`crate::descriptor::INLINE_BYTES`] bytes under way; the next one goes by rendezvous.
pub const SLABS: usize = 256;

const WORDS: usize = SLABS / 64;

/// The returned slabs of a rank: a set bit is a slab that was read and may be used again.
#[repr(C, align(64))]
pub struct ReturnedSlabs([AtomicU64; WORDS]);

impl ReturnedSlabs {
    /// Gives a slab back. False when the number is none of a slab: the caller's memory is corrupt.
    #[inline]
    pub fn give_back(&self, slab: u32) -> bool {
        match self.0.get(slab as usize / 64) {
            Some(word) => {
                word.fetch_or(1 << (slab % 64), Ordering::Release);
                true
            }
            None => false,
        }
    }
}

/// The owner's side: which of its slabs are free.
///
/// Slabs are taken in turn, round all of them: a slab that the reader has just read is still in the reader's cache, and writing it
/// again at once costs several times what writing one costs that nobody holds any more (`cargo bench -p nic-emu --bench channel -- lines`).
#[derive(Debug)]
pub struct SlabAllocator {
    free: [u64; WORDS],
    /// Where to look next.
    next: usize,
}

impl SlabAllocator {
    /// All slabs free.
    pub fn new() -> Self {
        Self { free: [u64::MAX; WORDS], next: 0 }
    }

    /// A free slab, or none when all are under way.
    #[inline]
    pub fn take(&mut self, returned: &ReturnedSlabs) -> Option<u32> {
        let start = self.next;
        // The rest of this word, the other words, and once more the beginning of this one.
        for step in 0..=WORDS {
            let word = (start / 64 + step) % WORDS;
            let mask = if step == 0 { u64::MAX << (start % 64) } else { u64::MAX };
            if self.free[word] & mask == 0 && returned.0[word].load(Ordering::Relaxed) != 0 {
                self.free[word] |= returned.0[word].swap(0, Ordering::Acquire);
            }
            let free = self.free[word] & mask;
            if free != 0 {
                let slab = word * 64 + free.trailing_zeros() as usize;
                self.free[word] &= !(1 << (slab % 64));
                self.next = (slab + 1) % SLABS;
                return Some(slab as u32);
            }
        }
        None
    }

    /// Takes back a slab that was never posted.
    pub fn put_back(&mut self, slab: u32) {
        self.free[slab as usize / 64] |= 1 << (slab % 64);
    }
}

impl Default for SlabAllocator {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn no_slab_is_handed_out_twice_and_none_is_lost(steps in proptest::collection::vec(any::<Option<u16>>(), 0..2000)) {
            let returned = ReturnedSlabs(std::array::from_fn(|_| AtomicU64::new(0)));
            let mut slabs = SlabAllocator::new();
            let mut out: Vec<u32> = Vec::new();
            for step in steps {
                match step {
                    None => match slabs.take(&returned) {
                        Some(slab) => { prop_assert!(!out.contains(&slab)); out.push(slab) }
                        None => prop_assert_eq!(out.len(), SLABS),
                    },
                    Some(at) if !out.is_empty() => {
                        let slab = out.swap_remove(at as usize % out.len());
                        prop_assert!(returned.give_back(slab));
                    }
                    Some(_) => {}
                }
            }
            while let Some(slab) = slabs.take(&returned) { out.push(slab) }
            prop_assert_eq!(out.iter().collect::<HashSet<_>>().len(), SLABS);
        }
    }

    #[test]
    fn a_slab_number_out_of_range_is_refused() {
        let returned = ReturnedSlabs(std::array::from_fn(|_| AtomicU64::new(0)));
        assert!(!returned.give_back(SLABS as u32));
    }
}

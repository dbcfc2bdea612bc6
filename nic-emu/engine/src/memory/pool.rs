//! Free lists: which entries of a pool in NIC memory are in use. Processor only.
//!
//! A pool hands out the most recently freed entry first, as that is the one still in a cache, and touches a
//! new one only when there is no freed one: so its memory is what was in use at once, not its limit.

use crate::memory::linked::{LinkWord, NONE};
use crate::memory::{Corrupt, Word};

/// A free list over a pool whose entries hold the link to the next free one themselves.
#[repr(C)]
#[derive(Default)]
pub struct FreeList {
    /// The first free entry plus one, or [`NONE`].
    first: Word,
    /// Entries ever touched.
    touched: Word,
    /// Entries in use.
    used: Word,
}

impl FreeList {
    /// An entry that nobody uses; none when `limit` or more are in use. `links` answers where the links of an
    /// entry are.
    #[inline]
    pub fn take<'m>(
        &self,
        limit: usize,
        links: impl FnOnce(u32) -> Result<LinkWord<'m>, Corrupt>,
    ) -> Result<Option<u32>, Corrupt> {
        let used = self.used.get();
        if used as usize >= limit {
            return Ok(None);
        }
        let first = self.first.get();
        let taken = if first != NONE {
            self.first.set(links(first - 1)?.next());
            first - 1
        } else {
            let touched = self.touched.get();
            self.touched.set(touched.wrapping_add(1));
            touched
        };
        self.used.set(used + 1);
        Ok(Some(taken))
    }

    /// Gives back an entry, which has these links.
    #[inline]
    pub fn give_back(&self, entry: u32, links: LinkWord<'_>) {
        links.set(self.first.get(), NONE);
        self.first.set(entry + 1);
        self.used.add(-1);
    }

    /// Entries in use.
    pub fn used(&self) -> u32 {
        self.used.get()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::sync::AtomicU64;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn entries_in_use_are_distinct_and_within_the_limit(steps in proptest::collection::vec(any::<Option<u8>>(), 0..500)) {
            const LIMIT: usize = 40;
            let links: [AtomicU64; LIMIT] = std::array::from_fn(|_| AtomicU64::new(0));
            let of = |entry: u32| Ok(LinkWord(&links[entry as usize]));
            let pool = FreeList::default();
            let mut used: Vec<u32> = Vec::new();
            for step in steps {
                match step {
                    None => {
                        match pool.take(LIMIT, of).unwrap() {
                            Some(entry) => used.push(entry),
                            None => prop_assert_eq!(used.len(), LIMIT),
                        }
                    }
                    Some(at) if !used.is_empty() => {
                        let entry = used.swap_remove(at as usize % used.len());
                        pool.give_back(entry, of(entry).unwrap());
                    }
                    Some(_) => {}
                }
                prop_assert_eq!(pool.used() as usize, used.len());
                prop_assert_eq!(used.iter().collect::<HashSet<_>>().len(), used.len());
                prop_assert!(used.iter().all(|&e| (e as usize) < LIMIT));
            }
        }
    }
}

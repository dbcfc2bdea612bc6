//! Free lists: which entries of a pool in NIC memory are in use. Processor only.
//!
//! A pool hands out the most recently freed entry first, as that is the one still in a cache, and touches a
//! new one only when there is no freed one: so its memory is what was in use at once, not its limit.

use crate::memory::{Corrupt, Word};

/// "None" in links, so that zeroed memory is an empty list: an index is stored plus one.
pub const NONE: u32 = 0;

/// A walk along a list of a pool's entries. A list with more links than the pool has entries goes in a
/// circle: it is an error, so that no walk is endless.
pub struct Walk {
    at: u32,
    left: usize,
    limit: usize,
}

impl Walk {
    /// A walk from the list's first link.
    #[inline]
    pub fn new(first: u32, limit: usize) -> Self {
        Self { at: first, left: limit, limit }
    }

    /// The entry that comes next; then [`Self::follow`] its link.
    #[inline]
    pub fn next_entry(&mut self) -> Result<Option<u32>, Corrupt> {
        if self.at == NONE {
            return Ok(None);
        }
        if self.left == 0 {
            let limit = self.limit as u64;
            return Err(Corrupt { what: "length of a list", value: limit + 1, limit });
        }
        self.left -= 1;
        Ok(Some(self.at - 1))
    }

    /// Goes on to the entry of this link.
    #[inline]
    pub fn follow(&mut self, link: u32) {
        self.at = link;
    }
}

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
    /// An entry that nobody uses; none when `limit` or more are in use. `next_of` reads a free entry's link.
    #[inline]
    pub fn take<E>(
        &self,
        limit: usize,
        next_of: impl FnOnce(u32) -> Result<u32, E>,
    ) -> Result<Option<u32>, E> {
        let used = self.used.get();
        if used as usize >= limit {
            return Ok(None);
        }
        let first = self.first.get();
        let taken = if first != NONE {
            self.first.set(next_of(first - 1)?);
            first - 1
        } else {
            let touched = self.touched.get();
            self.touched.set(touched.wrapping_add(1));
            touched
        };
        self.used.set(used + 1);
        Ok(Some(taken))
    }

    /// Gives an entry back; `link` stores the link in it.
    #[inline]
    pub fn give_back<E>(&self, entry: u32, link: impl FnOnce(u32) -> Result<(), E>) -> Result<(), E> {
        link(self.first.get())?;
        self.first.set(entry + 1);
        self.used.set(self.used.get().wrapping_sub(1));
        Ok(())
    }

    /// Entries in use.
    pub fn used(&self) -> u32 {
        self.used.get()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn entries_in_use_are_distinct_and_within_the_limit(steps in proptest::collection::vec(any::<Option<u8>>(), 0..500)) {
            const LIMIT: usize = 40;
            let links = RefCell::new(vec![0u32; LIMIT]);
            let pool = FreeList::default();
            let mut used: Vec<u32> = Vec::new();
            for step in steps {
                match step {
                    None => {
                        let taken = pool.take(LIMIT, |i| Ok::<_, ()>(links.borrow()[i as usize])).unwrap();
                        match taken {
                            Some(entry) => used.push(entry),
                            None => prop_assert_eq!(used.len(), LIMIT),
                        }
                    }
                    Some(at) if !used.is_empty() => {
                        let entry = used.swap_remove(at as usize % used.len());
                        pool.give_back(entry, |link| { links.borrow_mut()[entry as usize] = link; Ok::<_, ()>(()) }).unwrap();
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

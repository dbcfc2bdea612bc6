//! Doubly linked lists of entries that are named by numbers. Processor only.
//!
//! The ends of a list are kept like the links of an entry: the first entry is next to them, and the last one
//! before them. So the ends need no code of their own.

use crate::memory::Corrupt;
use crate::memory::sync::{AtomicU64, Ordering};

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

/// The links of an entry, or the ends of a list: the next (the first) entry in the low half of a word, the
/// previous (the last) one in the high half, each plus one. Zero is an empty list.
#[derive(Clone, Copy)]
pub struct LinkWord<'m>(pub &'m AtomicU64);

impl LinkWord<'_> {
    /// The next entry, or the first one.
    #[inline]
    pub fn next(self) -> u32 {
        self.0.load(Ordering::Relaxed) as u32
    }

    /// The previous entry, or the last one.
    #[inline]
    pub fn previous(self) -> u32 {
        (self.0.load(Ordering::Relaxed) >> 32) as u32
    }

    /// Sets both.
    #[inline]
    pub fn set(self, next: u32, previous: u32) {
        self.0.store(u64::from(next) | u64::from(previous) << 32, Ordering::Relaxed);
    }
}

/// A list: its ends, and where the links of an entry are.
pub struct List<'m, F> {
    /// The ends.
    pub ends: LinkWord<'m>,
    /// The links of this entry.
    pub links: F,
    /// Entries that there are: a list of more goes in a circle.
    pub limit: usize,
}

impl<'m, F: Fn(u32) -> Result<LinkWord<'m>, Corrupt>> List<'m, F> {
    /// What the look at the entries finds, from the first one on; none when it finds nothing at any.
    #[inline]
    pub fn find<T>(
        &self,
        mut look: impl FnMut(u32) -> Result<Option<T>, Corrupt>,
    ) -> Result<Option<T>, Corrupt> {
        let mut walk = Walk::new(self.ends.next(), self.limit);
        while let Some(entry) = walk.next_entry()? {
            if let Some(found) = look(entry)? {
                return Ok(Some(found));
            }
            walk.follow((self.links)(entry)?.next());
        }
        Ok(None)
    }

    /// Puts an entry behind all others.
    #[inline]
    pub fn append(&self, entry: u32) -> Result<(), Corrupt> {
        self.put(entry, NONE, self.ends.previous())
    }

    /// Puts an entry before all others.
    #[inline]
    pub fn prepend(&self, entry: u32) -> Result<(), Corrupt> {
        self.put(entry, self.ends.next(), NONE)
    }

    /// Takes an entry out.
    #[inline]
    pub fn remove(&self, entry: u32) -> Result<(), Corrupt> {
        let links = (self.links)(entry)?;
        let (previous, next) = (links.previous(), links.next());
        if (next, previous) == (NONE, NONE) {
            self.ends.set(NONE, NONE);
            return Ok(());
        }
        let (before, after) = (self.at(previous)?, self.at(next)?);
        before.set(next, before.previous());
        after.set(after.next(), previous);
        Ok(())
    }

    #[inline]
    fn put(&self, entry: u32, next: u32, previous: u32) -> Result<(), Corrupt> {
        (self.links)(entry)?.set(next, previous);
        if (next, previous) == (NONE, NONE) {
            self.ends.set(entry + 1, entry + 1);
            return Ok(());
        }
        let (before, after) = (self.at(previous)?, self.at(next)?);
        before.set(entry + 1, before.previous());
        after.set(after.next(), entry + 1);
        Ok(())
    }

    #[inline]
    fn at(&self, link: u32) -> Result<LinkWord<'m>, Corrupt> {
        if link == NONE { Ok(self.ends) } else { (self.links)(link - 1) }
    }
}

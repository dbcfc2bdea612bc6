//! Doubly linked lists of entries that are named by numbers. Processor only.
//!
//! The ends of a list are kept like the links of an entry: the first entry is next to them, and the last one
//! before them. So the ends need no code of their own.

use crate::memory::Corrupt;
use crate::memory::pool::NONE;
use crate::memory::sync::{AtomicU64, Ordering};

/// The links of an entry, or the ends of a list: the next (the first) entry in the low half of a word, the
/// previous (the last) one in the high half, each plus one. Zero is an empty list.
#[derive(Clone, Copy)]
pub struct Links<'m>(pub &'m AtomicU64);

impl Links<'_> {
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
    pub ends: Links<'m>,
    /// The links of this entry.
    pub links: F,
}

impl<'m, F: Fn(u32) -> Result<Links<'m>, Corrupt>> List<'m, F> {
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
        self.join(links.previous(), links.next())
    }

    fn put(&self, entry: u32, next: u32, previous: u32) -> Result<(), Corrupt> {
        (self.links)(entry)?.set(next, previous);
        self.join(previous, entry + 1)?;
        self.join(entry + 1, next)
    }

    /// Makes these two links neighbours.
    #[inline]
    fn join(&self, previous: u32, next: u32) -> Result<(), Corrupt> {
        let (before, after) = (self.at(previous)?, self.at(next)?);
        before.set(next, before.previous());
        after.set(after.next(), previous);
        Ok(())
    }

    #[inline]
    fn at(&self, link: u32) -> Result<Links<'m>, Corrupt> {
        if link == NONE { Ok(self.ends) } else { (self.links)(link - 1) }
    }
}

//! What the processor does with a queue: a doubly linked list of entries.

use super::match_queues::Queue;
use crate::memory::descriptor::Envelope;
use crate::memory::linked::{LinkWord, List, NONE, Walk};
use crate::memory::ring::{CELL_WORDS, Cell};
use crate::memory::{Corrupt, ENTRIES, MESSAGE_ENTRIES, NicMemory};

/// The word of an entry that holds its links.
pub(crate) const LINKS: usize = 7;

impl Queue {
    /// True when there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends().next() == NONE
    }

    #[inline]
    fn list<'m>(&'m self, memory: &'m NicMemory) -> List<'m, impl Fn(u32) -> Result<LinkWord<'m>, Corrupt>> {
        let links = |entry| Ok(LinkWord(memory.entry(entry)?.atomic(LINKS)));
        List { ends: self.ends(), links, limit: ENTRIES }
    }

    #[inline]
    fn ends(&self) -> LinkWord<'_> {
        LinkWord(&self.0)
    }

    /// Appends a descriptor of a message. False when the pool is full but for what is kept for receives.
    #[inline]
    pub fn push(&self, memory: &NicMemory, words: &[u64; CELL_WORDS]) -> Result<bool, Corrupt> {
        self.push_within(memory, words, MESSAGE_ENTRIES)
    }

    /// Appends an entry if fewer than `limit` are in use.
    #[inline]
    pub(crate) fn push_within(
        &self,
        memory: &NicMemory,
        words: &[u64; CELL_WORDS],
        limit: usize,
    ) -> Result<bool, Corrupt> {
        let list = self.list(memory);
        let Some(entry) = memory.control().entries.take(limit, &list.links)? else { return Ok(false) };
        memory.entry(entry)?.write(words);
        list.append(entry)?;
        Ok(true)
    }

    /// The first entry, from the oldest, that satisfies the predicate, with its words.
    #[inline]
    pub fn find(
        &self,
        memory: &NicMemory,
        mut predicate: impl FnMut(&[u64; CELL_WORDS]) -> bool,
    ) -> Result<Option<(u32, [u64; CELL_WORDS])>, Corrupt> {
        self.list(memory).find(|entry| {
            let words = memory.entry(entry)?.read();
            Ok(predicate(&words).then_some((entry, words)))
        })
    }

    /// The first one of the `most` oldest entries whose envelope satisfies the predicate: what matching
    /// asks, and the only thing that it reads of entries that do not match.
    #[inline]
    pub(super) fn find_envelope<'m>(
        &self,
        memory: &'m NicMemory,
        most: u32,
        mut predicate: impl FnMut(Envelope) -> bool,
    ) -> Result<Option<(u32, &'m Cell)>, Corrupt> {
        let mut at = self.ends().next();
        for _ in 0..most {
            if at == NONE {
                break;
            }
            let cell = memory.entry(at - 1)?;
            if predicate(Envelope::of_cell(cell)) {
                return Ok(Some((at - 1, cell)));
            }
            at = cell.word(LINKS) as u32;
        }
        Ok(None)
    }

    /// The latest entry, if there is one.
    pub fn last_entry(&self) -> Option<u32> {
        self.ends().previous().checked_sub(1)
    }

    /// Whether an entry is in this queue, or in another one but not at its front: an entry that nobody uses
    /// is in none.
    pub fn holds(&self, memory: &NicMemory, entry: u32) -> Result<bool, Corrupt> {
        let previous = (memory.entry(entry)?.word(LINKS) >> 32) as u32;
        Ok(match previous {
            NONE => self.ends().next() == entry + 1,
            previous => memory.entry(previous - 1)?.word(LINKS) as u32 == entry + 1,
        })
    }

    /// Calls for each entry, from the latest, until it answers true.
    pub fn walk_back<'m>(
        &self,
        memory: &'m NicMemory,
        mut visit: impl FnMut(&'m Cell) -> bool,
    ) -> Result<(), Corrupt> {
        let mut walk = Walk::new(self.ends().previous(), ENTRIES);
        while let Some(entry) = walk.next_entry()? {
            let cell = memory.entry(entry)?;
            if visit(cell) {
                break;
            }
            walk.follow((cell.word(LINKS) >> 32) as u32);
        }
        Ok(())
    }

    /// Calls for each entry, from the oldest.
    pub(super) fn for_each(
        &self,
        memory: &NicMemory,
        mut with: impl FnMut(u32, &Cell) -> Result<(), Corrupt>,
    ) -> Result<(), Corrupt> {
        let each = |entry| with(entry, memory.entry(entry)?).map(|()| None);
        self.list(memory).find::<()>(each).map(drop)
    }

    /// Takes all entries out: whoever walks along them gives them back to the pool ([`give_back`]).
    pub(crate) fn take_all(&self) -> Walk {
        let walk = Walk::new(self.ends().next(), ENTRIES);
        self.ends().set(NONE, NONE);
        walk
    }

    /// Takes an entry out and gives it back to the pool.
    #[inline]
    pub fn remove(&self, memory: &NicMemory, entry: u32) -> Result<(), Corrupt> {
        self.list(memory).remove(entry)?;
        give_back(memory, entry)
    }
}

/// Gives an entry that is in no queue back to the pool.
#[inline]
pub(crate) fn give_back(memory: &NicMemory, entry: u32) -> Result<(), Corrupt> {
    memory.control().entries.give_back(entry, LinkWord(memory.entry(entry)?.atomic(LINKS)));
    Ok(())
}

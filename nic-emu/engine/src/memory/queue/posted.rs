//! What the processor does with the posted receives of a rank.

use super::match_queues::PostedQueue;
use crate::memory::ring::CELL_WORDS;
use crate::memory::{Corrupt, ENTRIES, NicMemory};

/// Where a posted receive stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostedAt {
    /// In the queue's own line.
    Oldest,
    /// In this entry.
    Entry(u32),
}

impl PostedQueue {
    /// Receives in it, counted: for reports.
    pub fn count(&self, memory: &NicMemory) -> Result<u32, Corrupt> {
        Ok(self.others.count(memory)? + (self.oldest[0].get() != 0) as u32)
    }

    /// True when there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.oldest[0].get() == 0 && self.others.is_empty()
    }

    /// Appends a receive. False when the pool is full.
    #[inline]
    pub fn push(&self, memory: &NicMemory, words: &[u64; CELL_WORDS]) -> Result<bool, Corrupt> {
        if !self.is_empty() {
            return self.others.push_within(memory, words, ENTRIES);
        }
        for (word, &value) in self.oldest.iter().zip(words) {
            word.set(value);
        }
        Ok(true)
    }

    /// The first receive, from the oldest, whose envelope words satisfy the predicate, with its words.
    #[inline]
    pub fn find_envelope(
        &self,
        memory: &NicMemory,
        mut predicate: impl FnMut(u64, u64) -> bool,
    ) -> Result<Option<(PostedAt, [u64; CELL_WORDS])>, Corrupt> {
        if self.oldest[0].get() != 0 && predicate(self.oldest[0].get(), self.oldest[1].get()) {
            return Ok(Some((PostedAt::Oldest, self.oldest_words())));
        }
        Ok(self
            .others
            .find_envelope(memory, predicate)?
            .map(|(entry, cell)| (PostedAt::Entry(entry), cell.read())))
    }

    /// The receive that this request waits for.
    pub fn find_request(&self, memory: &NicMemory, request: u32) -> Result<Option<PostedAt>, Corrupt> {
        let is_it = |word: u64| (word >> 32) as u32 == request;
        if self.oldest[0].get() != 0 && is_it(self.oldest[3].get()) {
            return Ok(Some(PostedAt::Oldest));
        }
        Ok(self.others.find(memory, |words| is_it(words[3]))?.map(|(entry, _)| PostedAt::Entry(entry)))
    }

    /// Takes a receive out.
    #[inline]
    pub fn remove(&self, memory: &NicMemory, at: PostedAt) -> Result<(), Corrupt> {
        match at {
            PostedAt::Oldest => {
                self.oldest[0].set(0);
                Ok(())
            }
            PostedAt::Entry(entry) => self.others.remove(memory, entry),
        }
    }

    #[inline]
    fn oldest_words(&self) -> [u64; CELL_WORDS] {
        let mut words = [0; CELL_WORDS];
        for (word, value) in words.iter_mut().zip(&self.oldest) {
            *word = value.get();
        }
        words
    }
}

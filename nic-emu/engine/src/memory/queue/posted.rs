//! The posted receives of a rank.

use super::match_queues::RECEIVE_WORDS;
use super::searched::Searched;
use crate::memory::numbers::RequestId;
use crate::memory::ring::CELL_WORDS;
use crate::memory::{Corrupt, ENTRIES, NicMemory, RankBlock, Word64};

/// The word of a queued receive that says how many were queued before it.
const SERIAL: usize = RECEIVE_WORDS;

/// Where a posted receive stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostedAt {
    /// In the queues' own line.
    Oldest,
    /// In this entry.
    Entry(u32),
}

/// The posted receives of a rank: the oldest in the queues' own line, perhaps, and the others.
#[derive(Clone, Copy)]
pub struct PostedReceives<'m> {
    others: Searched<'m, true>,
    oldest: &'m [Word64; RECEIVE_WORDS],
    serial: &'m Word64,
}

impl<'m> PostedReceives<'m> {
    /// Those of the rank with this block.
    #[inline]
    pub fn of(memory: &'m NicMemory, block: &'m RankBlock) -> Self {
        let (queues, chains) = (&block.queues, &block.chains);
        let search = &queues.searches[0];
        let others = Searched { memory, list: &queues.others, search, chains: &chains.receives };
        Self { others, oldest: &queues.oldest, serial: &chains.serial }
    }

    /// Receives in it.
    pub fn count(&self) -> u32 {
        self.others.count() + self.has_oldest() as u32
    }

    #[inline]
    fn has_oldest(&self) -> bool {
        self.oldest[0].get() != 0
    }

    /// True when there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.has_oldest() && self.others.is_empty()
    }

    /// Appends a receive. False when the pool is full.
    #[inline]
    pub fn push(&self, words: &[u64; CELL_WORDS]) -> Result<bool, Corrupt> {
        if self.is_empty() {
            self.oldest.iter().zip(words).for_each(|(word, &value)| word.set(value));
            return Ok(true);
        }
        let serial = self.serial.get();
        self.serial.set(serial + 1);
        let mut queued = *words;
        queued[SERIAL] = serial;
        self.others.push(&queued, ENTRIES)
    }

    /// The oldest receive that takes the message with these envelope words, with its words; `takes` is asked
    /// of a receive's.
    #[inline]
    pub fn find_receive(
        &self,
        message: (u64, u64),
        mut takes: impl FnMut(u64, u64) -> bool,
    ) -> Result<Option<(PostedAt, [u64; CELL_WORDS])>, Corrupt> {
        if self.has_oldest() && takes(self.oldest[0].get(), self.oldest[1].get()) {
            let mut words = [0; CELL_WORDS];
            words.iter_mut().zip(self.oldest).for_each(|(word, value)| *word = value.get());
            return Ok(Some((PostedAt::Oldest, words)));
        }
        let found = self.others.find(message, takes, |cell| cell.word(SERIAL))?;
        Ok(found.map(|(entry, cell)| (PostedAt::Entry(entry), cell.read())))
    }

    /// The receive that this request waits for.
    pub fn find_request(&self, request: RequestId) -> Result<Option<PostedAt>, Corrupt> {
        let is_it = |word: u64| (word >> 32) as u32 == request.0;
        if self.has_oldest() && is_it(self.oldest[3].get()) {
            return Ok(Some(PostedAt::Oldest));
        }
        Ok(self.others.find_words(|words| is_it(words[3]))?.map(|(entry, _)| PostedAt::Entry(entry)))
    }

    /// Takes a receive out.
    #[inline]
    pub fn remove(&self, at: PostedAt) -> Result<(), Corrupt> {
        match at {
            PostedAt::Oldest => {
                self.oldest[0].set(0);
                Ok(())
            }
            PostedAt::Entry(entry) => self.others.remove(entry),
        }
    }
}

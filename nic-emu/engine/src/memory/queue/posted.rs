//! The posted receives of a rank.

use super::match_queues::RECEIVE_WORDS;
use super::searched::Searched;
use crate::memory::descriptor::{Envelope, KIND, ReceiveWords};
use crate::memory::ring::{CELL_WORDS, Words};
use crate::memory::{Corrupt, ENTRIES, NicMemory, RankBlock, RequestId, Word64};

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
}

impl<'m> PostedReceives<'m> {
    /// Those of the rank with this block.
    #[inline]
    pub fn of(memory: &'m NicMemory, block: &'m RankBlock) -> Self {
        Self { others: Searched::of(memory, block) }
    }

    #[inline]
    fn oldest(&self) -> &'m [Word64; RECEIVE_WORDS] {
        &self.others.block.queues.oldest
    }

    /// Receives in it.
    pub fn count(&self) -> u32 {
        self.others.count() + self.has_oldest() as u32
    }

    #[inline]
    fn has_oldest(&self) -> bool {
        self.oldest()[KIND].get() != 0
    }

    #[inline]
    fn oldest_words(&self) -> Words {
        let mut words = [0; CELL_WORDS];
        words.iter_mut().zip(self.oldest()).for_each(|(word, value)| *word = value.get());
        words
    }

    /// True when there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.has_oldest() && self.others.list().is_empty()
    }

    /// Appends a receive. False when the pool is full.
    #[inline]
    pub fn push(&self, words: &[u64; CELL_WORDS]) -> Result<bool, Corrupt> {
        if self.is_empty() {
            self.oldest().iter().zip(words).for_each(|(word, &value)| word.set(value));
            return Ok(true);
        }
        let next = &self.others.block.chains.serial;
        let serial = next.get();
        next.set(serial + 1);
        let mut queued = *words;
        queued[SERIAL] = serial;
        self.others.push(&queued, ENTRIES)
    }

    /// The oldest receive that takes the message with this envelope, with its words; `takes` is asked
    /// of a receive's.
    #[inline]
    pub fn find_receive(
        &self,
        message: Envelope,
        mut takes: impl FnMut(Envelope) -> bool,
    ) -> Result<Option<(PostedAt, [u64; CELL_WORDS])>, Corrupt> {
        if self.has_oldest() && takes(Envelope::read(|word| self.oldest()[word].get())) {
            return Ok(Some((PostedAt::Oldest, self.oldest_words())));
        }
        let found = self.others.find(message, takes, |cell| cell.word(SERIAL))?;
        Ok(found.map(|(entry, cell)| (PostedAt::Entry(entry), cell.read())))
    }

    /// The receive that this request waits for.
    pub fn find_request(&self, request: RequestId) -> Result<Option<PostedAt>, Corrupt> {
        let is_it = |words: &Words| ReceiveWords(words).request() == request;
        if self.has_oldest() && is_it(&self.oldest_words()) {
            return Ok(Some(PostedAt::Oldest));
        }
        Ok(self.others.list().find(self.others.memory, is_it)?.map(|(entry, _)| PostedAt::Entry(entry)))
    }

    /// Takes a receive out.
    #[inline]
    pub fn remove(&self, at: PostedAt) -> Result<(), Corrupt> {
        match at {
            PostedAt::Oldest => {
                self.oldest()[KIND].set(0);
                Ok(())
            }
            PostedAt::Entry(entry) => self.others.remove(entry),
        }
    }
}

//! A matching queue: a list in the order of arrival, which has chains as soon as it is long.

use super::chains::class_of;
use super::match_queues::{CLASSES, Chains, Queue};
use crate::memory::descriptor::{self, Envelope};
use crate::memory::ring::{CELL_WORDS, Cell};
use crate::memory::{Context, Corrupt, MESSAGE_ENTRIES, NicMemory, RankBlock, Word};

/// Entries, the oldest, that are looked at one by one. Only what is not among them is looked for in chains,
/// whose upkeep costs some cache lines an entry: messages and receives in order mostly meet at the first look
/// (`microbench rate`; `microbench waiting,expecting --sizes 8,16,32,64`).
const FEW: u32 = 16;

/// Bits of a queue's search word for its number of entries. Above them is one for each class that has chains.
const COUNT_BITS: u32 = 28;

/// A matching queue of a rank; of receives, or of messages. Processor only.
///
/// Its list is the truth. Its chains begin when it is searched while it is long, and last until it is empty.
#[derive(Clone, Copy)]
pub struct Searched<'m, const RECEIVES: bool> {
    pub(super) memory: &'m NicMemory,
    pub(super) block: &'m RankBlock,
}

impl<'m, const RECEIVES: bool> Searched<'m, RECEIVES> {
    /// That of the rank with this block.
    #[inline]
    pub fn of(memory: &'m NicMemory, block: &'m RankBlock) -> Self {
        Self { memory, block }
    }

    /// The entries in the order of arrival: to look at, and not to change.
    #[inline]
    pub fn list(&self) -> &'m Queue {
        let queues = &self.block.queues;
        if RECEIVES { &queues.others } else { &queues.messages }
    }

    #[inline]
    fn search(&self) -> &'m Word {
        &self.block.queues.searches[if RECEIVES { 0 } else { 1 }]
    }

    #[inline]
    fn chains(&self) -> &'m Chains {
        let chains = &self.block.chains;
        if RECEIVES { &chains.receives } else { &chains.messages }
    }

    /// Entries in it.
    #[inline]
    pub fn count(&self) -> u32 {
        self.search().get() & ((1 << COUNT_BITS) - 1)
    }

    /// The classes that have chains, a bit each.
    #[inline]
    fn classes(&self) -> u32 {
        self.search().get() >> COUNT_BITS
    }

    /// Appends an entry if fewer than `limit` of the pool are in use. False when there are not.
    #[inline]
    pub(super) fn push(&self, words: &[u64; CELL_WORDS], limit: usize) -> Result<bool, Corrupt> {
        if !self.list().push_within(self.memory, words, limit)? {
            return Ok(false);
        }
        self.search().add(1);
        match self.list().last_entry() {
            Some(entry) if self.classes() != 0 => self.chain(entry, Envelope::read(|word| words[word]))?,
            _ => {}
        }
        Ok(true)
    }

    /// Takes an entry out and gives it back to the pool.
    #[inline]
    pub fn remove(&self, entry: u32) -> Result<(), Corrupt> {
        if self.classes() != 0 {
            self.unchain(entry)?;
        }
        self.list().remove(self.memory, entry)?;
        // Chains of an empty queue are empty.
        self.search().set(if self.list().is_empty() { 0 } else { self.search().get().wrapping_sub(1) });
        Ok(())
    }

    /// The oldest entry whose envelope the predicate takes. The predicate takes no entry that does not
    /// match this envelope. Receives of several classes may match; `order` says which receive is the oldest.
    #[inline]
    pub(super) fn find(
        &self,
        envelope: Envelope,
        mut takes: impl FnMut(Envelope) -> bool,
        order: impl Fn(&Cell) -> u64,
    ) -> Result<Option<(u32, &'m Cell)>, Corrupt> {
        let found = self.list().find_envelope(self.memory, FEW, &mut takes)?;
        if found.is_some() || self.count() <= FEW {
            return Ok(found);
        }
        if !RECEIVES {
            let class = class_of(envelope);
            self.begin_chains(1 << class)?;
            return self.chains().find(self.memory, class, envelope, takes);
        }
        self.begin_chains((1 << CLASSES) - 1)?;
        let mut oldest: Option<(u32, &Cell)> = None;
        for class in 0..CLASSES {
            if let Some((entry, cell)) = self.chains().find(self.memory, class, envelope, &mut takes)?
                && oldest.is_none_or(|(_, found)| order(cell) < order(found))
            {
                oldest = Some((entry, cell));
            }
        }
        Ok(oldest)
    }

    /// Puts all entries into the chains of these classes, as far as they have none.
    fn begin_chains(&self, classes: u32) -> Result<(), Corrupt> {
        let lacking = classes & !self.classes();
        if lacking == 0 {
            return Ok(());
        }
        self.search().set(self.search().get() | lacking << COUNT_BITS);
        self.list().for_each(self.memory, |entry, cell| {
            let envelope = Envelope::of_cell(cell);
            self.for_chains(lacking, envelope, |class| {
                self.chains().chain(self.memory, class, envelope).append(entry)
            })
        })
    }

    /// Calls for each of these classes in whose chains an entry with this envelope belongs.
    #[inline]
    fn for_chains(
        &self,
        classes: u32,
        envelope: Envelope,
        with: impl FnMut(usize) -> Result<(), Corrupt>,
    ) -> Result<(), Corrupt> {
        let belongs =
            |class: &usize| classes >> class & 1 != 0 && (!RECEIVES || *class == class_of(envelope));
        (0..CLASSES).filter(belongs).try_for_each(with)
    }

    /// Puts an entry into all chains that it belongs in.
    #[cold]
    fn chain(&self, entry: u32, envelope: Envelope) -> Result<(), Corrupt> {
        self.for_chains(self.classes(), envelope, |class| {
            self.chains().chain(self.memory, class, envelope).append(entry)
        })
    }

    /// Takes an entry out of all chains that it is in.
    #[cold]
    fn unchain(&self, entry: u32) -> Result<(), Corrupt> {
        let cell = self.memory.entry(entry)?;
        let envelope = Envelope::of_cell(cell);
        self.for_chains(self.classes(), envelope, |class| {
            self.chains().chain(self.memory, class, envelope).remove(entry)
        })
    }
}

/// The messages to a rank that wait for a receive.
pub type UnexpectedMessages<'m> = Searched<'m, false>;

impl<'m> UnexpectedMessages<'m> {
    /// Appends a message. False when the pool is full but for what is kept for receives.
    #[inline]
    pub fn push_message(&self, words: &[u64; CELL_WORDS]) -> Result<bool, Corrupt> {
        self.push(words, MESSAGE_ENTRIES)
    }

    /// The oldest message that a receive with this envelope would take; `takes` is asked of a
    /// message's.
    #[inline]
    pub fn find_message(
        &self,
        receive: Envelope,
        takes: impl FnMut(Envelope) -> bool,
    ) -> Result<Option<(u32, &'m Cell)>, Corrupt> {
        self.find(receive, takes, |_| 0)
    }

    /// Gives a message another context, in which nothing else is.
    pub fn set_context(&self, entry: u32, context: Context) -> Result<(), Corrupt> {
        let cell = self.memory.entry(entry)?;
        self.unchain(entry)?;
        descriptor::set_context(cell, context);
        self.chain(entry, Envelope::of_cell(cell))
    }
}

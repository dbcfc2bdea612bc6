//! Chains: how a long matching queue is searched by context, source and tag, and not entry by entry.
//!
//! A chain holds the entries of one queue whose envelopes have one hash, in their order in the queue. Each
//! class of envelope has chains of its own, because a wildcard leaves out what it matches all of:
//!
//! ```text
//!  class 0   context, source, tag          class 2   context, source       (any tag)
//!        1   context, tag (any source)           3   context               (any source, any tag)
//! ```
//!
//! A receive is in the chain of its own class; a message is looked for in one chain of each class, and meets
//! the oldest of the receives found. A message is in one chain of each class that a receive has asked for; a
//! receive looks in the chain of its class. So both cost the same, however many wait. Processor only.

use super::list::seek;
use super::match_queues::{CHAIN_BITS, Chains};
use crate::memory::descriptor::{ANY_TAG, EnvelopeWords};
use crate::memory::pool::NONE;
use crate::memory::ring::Cell;
use crate::memory::{CommRank, Corrupt, NicMemory, Word64};

const ANY_SOURCE_CLASS: usize = 1;
const ANY_TAG_CLASS: usize = 2;

/// The class of a receive.
#[inline]
pub(super) fn class_of(receive: EnvelopeWords) -> usize {
    let any_source = receive.source() == CommRank::ANY_SOURCE;
    let any_tag = receive.tag() == ANY_TAG;
    any_source as usize * ANY_SOURCE_CLASS + any_tag as usize * ANY_TAG_CLASS
}

#[inline]
fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

#[inline]
fn word(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

impl Chains {
    /// The chain of an envelope in a class.
    #[inline]
    fn ends(&self, class: usize, envelope: EnvelopeWords) -> &Word64 {
        let (mut source, mut tag) = (envelope.source(), envelope.tag());
        if class & ANY_SOURCE_CLASS != 0 {
            source = CommRank::ANY_SOURCE;
        }
        if class & ANY_TAG_CLASS != 0 {
            tag = ANY_TAG;
        }
        let context = envelope.context().0;
        let context = word(context, context);
        let mixed =
            (word(source.0, tag as u32) ^ context.rotate_left(16)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        &self.0[class][(mixed >> (64 - CHAIN_BITS)) as usize]
    }

    /// Appends an entry of this envelope to its chain in a class.
    pub(super) fn append(
        &self,
        memory: &NicMemory,
        class: usize,
        entry: u32,
        envelope: EnvelopeWords,
    ) -> Result<(), Corrupt> {
        let ends = self.ends(class, envelope);
        let (first, last) = halves(ends.get());
        memory.chain_links(entry)?.0[class].set(word(NONE, last));
        if last == NONE {
            ends.set(word(entry + 1, entry + 1));
            return Ok(());
        }
        let links = &memory.chain_links(last - 1)?.0[class];
        links.set(word(entry + 1, halves(links.get()).1));
        ends.set(word(first, entry + 1));
        Ok(())
    }

    /// Takes an entry of this envelope out of its chain in a class.
    pub(super) fn remove(
        &self,
        memory: &NicMemory,
        class: usize,
        entry: u32,
        envelope: EnvelopeWords,
    ) -> Result<(), Corrupt> {
        let ends = self.ends(class, envelope);
        let (mut first, mut last) = halves(ends.get());
        let (next, previous) = halves(memory.chain_links(entry)?.0[class].get());
        if previous == NONE {
            first = next;
        } else {
            let links = &memory.chain_links(previous - 1)?.0[class];
            links.set(word(next, halves(links.get()).1));
        }
        if next == NONE {
            last = previous;
        } else {
            let links = &memory.chain_links(next - 1)?.0[class];
            links.set(word(halves(links.get()).0, previous));
        }
        ends.set(word(first, last));
        Ok(())
    }

    /// The first entry of an envelope's chain in a class whose envelope words satisfy the predicate.
    pub(super) fn find<'m>(
        &self,
        memory: &'m NicMemory,
        class: usize,
        envelope: EnvelopeWords,
        mut takes: impl FnMut(EnvelopeWords) -> bool,
    ) -> Result<Option<(u32, &'m Cell)>, Corrupt> {
        let (first, _) = halves(self.ends(class, envelope).get());
        let follow = |entry: u32, _: &Cell| Ok(halves(memory.chain_links(entry)?.0[class].get()).0);
        seek(memory, first, follow, |cell| takes(EnvelopeWords::of_cell(cell)))
    }
}

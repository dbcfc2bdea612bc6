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

use super::match_queues::{CHAIN_BITS, Chains};
use crate::memory::descriptor::{ANY_TAG, Envelope};
use crate::memory::linked::{LinkWord, List};
use crate::memory::ring::Cell;
use crate::memory::{CommRank, Corrupt, ENTRIES, NicMemory};

const ANY_SOURCE_CLASS: usize = 1;
const ANY_TAG_CLASS: usize = 2;

/// The class of a receive.
#[inline]
pub(super) fn class_of(receive: Envelope) -> usize {
    let any_source = receive.source == CommRank::ANY_SOURCE;
    let any_tag = receive.tag == ANY_TAG;
    any_source as usize * ANY_SOURCE_CLASS + any_tag as usize * ANY_TAG_CLASS
}

impl Chains {
    /// The chain of an envelope in a class.
    #[inline]
    pub(super) fn chain<'m>(
        &'m self,
        memory: &'m NicMemory,
        class: usize,
        Envelope { context, mut source, mut tag }: Envelope,
    ) -> List<'m, impl Fn(u32) -> Result<LinkWord<'m>, Corrupt>> {
        if class & ANY_SOURCE_CLASS != 0 {
            source = CommRank::ANY_SOURCE;
        }
        if class & ANY_TAG_CLASS != 0 {
            tag = ANY_TAG;
        }
        let (tag, context) = (tag as u32, context.0);
        let words = [(source.0, tag), (context, context)];
        let [envelope, context] = words.map(|(low, high)| u64::from(low) | u64::from(high) << 32);
        let mixed = (envelope ^ context.rotate_left(16)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let ends = LinkWord(&self.0[class][(mixed >> (64 - CHAIN_BITS)) as usize]);
        let links = move |entry| Ok(LinkWord(&memory.chain_links(entry)?.0[class]));
        List { ends, links, limit: ENTRIES }
    }

    /// The first entry of an envelope's chain in a class whose envelope words satisfy the predicate.
    pub(super) fn find<'m>(
        &'m self,
        memory: &'m NicMemory,
        class: usize,
        envelope: Envelope,
        mut takes: impl FnMut(Envelope) -> bool,
    ) -> Result<Option<(u32, &'m Cell)>, Corrupt> {
        self.chain(memory, class, envelope).find(|entry| {
            let cell = memory.entry(entry)?;
            Ok(takes(Envelope::of_cell(cell)).then_some((entry, cell)))
        })
    }
}

//! A rank's queues, as they stand in NIC memory.

use crate::memory::descriptor::KIND;
use crate::memory::sync::AtomicU64;
use crate::memory::{Word, Word64};

/// A queue: the ends of a list of entries ([`crate::memory::linked`]).
#[repr(transparent)]
#[derive(Default)]
pub struct Queue(pub(super) AtomicU64);

/// Words of a receive descriptor that mean anything.
pub(super) const RECEIVE_WORDS: usize = 5;

/// The matching queues of a rank, one cache line.
///
/// The oldest receive stands in this line, as far as it was posted to an empty queue: a rank that waits for
/// one message, the commonest case, is matched without touching another line.
#[repr(C, align(64))]
#[derive(Default)]
pub struct MatchQueues {
    /// Receives that wait for a message, but for the one that is here.
    pub(super) others: Queue,
    /// Messages that wait for a receive.
    pub(super) messages: Queue,
    /// Their search words (`super::searched`).
    pub(super) searches: [Word; 2],
    /// The oldest receive's words; the first one is 0 when there is none.
    pub(super) oldest: [Word64; RECEIVE_WORDS],
}

const _: () = assert!(size_of::<MatchQueues>() == 64);

impl MatchQueues {
    /// Whether no receive waits for a message, and no message for a receive.
    #[inline]
    pub fn are_empty(&self) -> bool {
        self.oldest[KIND].get() == 0 && self.others.is_empty() && self.messages.is_empty()
    }
}

/// Classes of envelopes (`super::chains`).
pub(super) const CLASSES: usize = 4;

/// Chains of a class, as a power of two.
pub(super) const CHAIN_BITS: u32 = 16;

/// The ends of a queue's chains, by class and hash.
#[repr(C)]
pub struct Chains(pub(super) [[AtomicU64; 1 << CHAIN_BITS]; CLASSES]);

/// The links of an entry in its chains, by class.
#[repr(C)]
pub struct ChainLinks(pub(super) [AtomicU64; CLASSES]);

/// What the matching queues of a rank have beside: their chains, and what tells which receive is older.
#[repr(C)]
pub struct MatchChains {
    pub(super) receives: Chains,
    pub(super) messages: Chains,
    /// Receives that were queued behind another one, so far.
    pub(super) serial: Word64,
}

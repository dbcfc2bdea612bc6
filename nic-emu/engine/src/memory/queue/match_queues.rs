//! A rank's queues, as they stand in NIC memory.

use crate::memory::{Word, Word64};

/// Ends of a list, as indices plus one.
#[repr(C)]
#[derive(Default)]
pub struct Queue {
    pub(super) first: Word,
    pub(super) last: Word,
}

/// The posted receives of a rank. The oldest stands in the queue's own line, as far as it was posted to an
/// empty queue: a rank that waits for one message, the commonest case, is matched without touching another
/// line.
#[repr(C)]
#[derive(Default)]
pub struct PostedQueue {
    pub(super) others: Queue,
    /// The oldest receive's words, 0 to 4; word 0 is 0 when there is none.
    pub(super) oldest: [Word64; OLDEST_WORDS],
}

/// Words of a receive descriptor that mean anything.
const OLDEST_WORDS: usize = 5;

/// The queues of a rank, one cache line.
#[repr(C, align(64))]
#[derive(Default)]
pub struct MatchQueues {
    /// Receives that wait for a message.
    pub posted: PostedQueue,
    /// Messages that wait for a receive.
    pub unexpected: Queue,
    /// Sends of this rank to ranks on other nodes, until a global slice takes them.
    pub outbound: Queue,
}

const _: () = assert!(size_of::<MatchQueues>() == 64);

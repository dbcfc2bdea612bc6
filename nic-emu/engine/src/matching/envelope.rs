//! Matching: does this message satisfy this receive? One pure predicate (MPI-5.0, chapter 3, "Semantics of
//! Point-to-Point Communication"; paper, §4.3).
//!
//! MPI's ordering rule follows from where it is applied: messages and receives are tried oldest first.

use crate::memory::Corrupt;
use crate::memory::contexts::Context;
use crate::memory::descriptor::{ANY_TAG, PointToPoint, SendDescriptor};
use crate::memory::numbers::CommRank;
use crate::memory::ring::Words;
use bcs_core::Rank;

/// What a message or a receive is matched by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Context of the communicator.
    pub context: Context,
    /// The sender's rank in the communicator; for a receive perhaps [`CommRank::ANY_SOURCE`].
    pub source: CommRank,
    /// The tag; for a receive perhaps [`ANY_TAG`].
    pub tag: i32,
}

impl Envelope {
    /// The envelope in a descriptor's first two words.
    #[inline]
    pub fn of_words(first: u64, second: u64) -> Self {
        Self {
            context: Context((first >> 32) as u32),
            source: CommRank(second as u32),
            tag: (second >> 32) as i32,
        }
    }

    /// The first two words of a descriptor, as far as they hold the envelope.
    #[inline]
    pub(crate) fn words(&self) -> (u64, u64) {
        ((self.context.0 as u64) << 32, self.source.0 as u64 | (self.tag as u32 as u64) << 32)
    }

    /// True when a receive with this envelope takes a message with that one. A message in a context of its
    /// own (negative tags are internal) is never taken by a wildcard of another.
    #[inline]
    pub fn takes(&self, message: &Envelope) -> bool {
        self.context == message.context
            && (self.source == message.source || self.source == CommRank::ANY_SOURCE)
            && (self.tag == message.tag || self.tag == ANY_TAG)
    }
}

/// A message as the Buffer Receiver matches it: its descriptor, and who sent it.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The descriptor.
    pub send: SendDescriptor,
    /// The sender's rank in the job.
    pub origin: Rank,
}

/// The message that an unexpected-queue entry holds.
pub(crate) fn message_of_words(words: &Words) -> Result<Message, Corrupt> {
    match PointToPoint::decode(words) {
        Some(PointToPoint::Send(send)) => Ok(Message { send, origin: send.destination }),
        _ => Err(Corrupt { what: "unexpected message", value: words[0], limit: 0 }),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const ANY_SOURCE: u32 = CommRank::ANY_SOURCE.0;

    #[test]
    fn a_receive_takes_a_message_of_its_context_source_and_tag_or_by_wildcard() {
        let message = Envelope { context: Context(2), source: CommRank(5), tag: 7 };
        let takes = |context, source, tag| {
            Envelope { context: Context(context), source: CommRank(source), tag }.takes(&message)
        };
        assert!(takes(2, 5, 7));
        assert!(takes(2, ANY_SOURCE, 7));
        assert!(takes(2, 5, ANY_TAG));
        assert!(takes(2, ANY_SOURCE, ANY_TAG));
        assert!(!takes(3, ANY_SOURCE, ANY_TAG), "another communicator");
        assert!(!takes(2, 4, 7) && !takes(2, 5, 8));
    }
}

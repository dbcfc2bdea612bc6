//! Matching: does this message satisfy this receive? One pure predicate (MPI-5.0, chapter 3, "Semantics of
//! Point-to-Point Communication"; paper, §4.3).
//!
//! MPI's ordering rule follows from where it is applied: messages and receives are tried oldest first.

pub use crate::memory::descriptor::Envelope;
use crate::memory::descriptor::{ANY_TAG, SendDescriptor, SendWords};
use crate::memory::ring::Words;
use crate::memory::{CommRank, Corrupt, Rank};

impl Envelope {
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

/// The message that an entry of a queue holds.
pub(crate) fn queued_message(words: &Words) -> Result<Message, Corrupt> {
    let queued = SendWords(words);
    Ok(Message { send: queued.decode()?, origin: queued.origin() })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::Context;

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

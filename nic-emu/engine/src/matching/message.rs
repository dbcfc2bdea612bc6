//! A message, as it is matched.

use crate::memory::Corrupt;
use crate::memory::descriptor::{PointToPoint, SendDescriptor};
use crate::memory::ring::CELL_WORDS;

/// A message as the Buffer Receiver matches it: its descriptor, and who sent it.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The descriptor.
    pub send: SendDescriptor,
    /// The sender's rank in the job.
    pub origin: u32,
}

/// The message that an unexpected-queue entry holds.
pub(crate) fn message_of_words(words: &[u64; CELL_WORDS]) -> Result<Message, Corrupt> {
    match PointToPoint::decode(words) {
        Some(PointToPoint::Send(send)) => Ok(Message { send, origin: send.destination }),
        _ => Err(Corrupt { what: "unexpected message", value: words[0], limit: 0 }),
    }
}

//! How messages lie in rings and slots.
//!
//! ```text
//! 0                    8               16              24
//! ┌──────────────────┬───────────────┬───────────────┬──────────────────────────────────┐
//! │ lengths          │ after         │ stamp of lane │ head: message (rkyv) │ payload   │   in a ring
//! ├──────────────────┼───────────────┼───────────────┼──────────────────────────────────┤
//! │ lengths          │ number        │ gathered      │ head                 │ payload   │   in a slot
//! └──────────────────┴───────────────┴───────────────┴──────────────────────────────────┘
//! lengths: 32 bits of the bytes here, 31 of those of the message's head, 1 that more follow
//! after:   the number of the sender's last broadcast to the same node before this message
//! ```
//!
//! A message that is longer than a frame takes several, one behind the other. Words are as the hosts have
//! them: QsNet joins hosts of one kind.

use crate::window::Window;
use bcs_core::wire::{self, WireError};
use bcs_fabric::tree::{FRAGMENT_BYTES, INLINE_BYTES, Message};
use bytes::Bytes;
use rkyv::util::AlignedVec;

/// Bytes before those of the message.
pub(crate) const HEADER_BYTES: usize = 24;

const MORE: u64 = 1 << 63;
const HEAD_LIMIT: u64 = 1 << 31;

/// The first word of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// Bytes in this frame, behind its header.
    pub bytes: usize,
    /// Bytes of the head of the whole message.
    pub head: usize,
    /// Whether more of the message follows.
    pub more: bool,
}

impl Lengths {
    pub fn to_word(self) -> u64 {
        let more = if self.more { MORE } else { 0 };
        more | ((self.head as u64 % HEAD_LIMIT) << 32) | (self.bytes as u64 % (1 << 32))
    }

    pub fn from_word(word: u64) -> Self {
        let head = ((word & !MORE) >> 32) as usize;
        Self { bytes: (word % (1 << 32)) as usize, head, more: word & MORE != 0 }
    }
}

/// A message on its way into frames.
#[derive(Debug)]
pub(crate) struct Parcel {
    head: AlignedVec,
    payload: Bytes,
    /// How much of both is in frames.
    at: usize,
}

/// The next frame of a parcel.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub lengths: Lengths,
    /// Its bytes, from the head and from the payload.
    pub parts: [&'a [u8]; 2],
}

impl Parcel {
    /// Encodes a message.
    ///
    /// # Errors
    /// The message is too long to travel.
    pub fn new(mut message: Message) -> Result<Self, WireError> {
        let payload = message.payload_mut().map(std::mem::take).unwrap_or_default();
        Ok(Self { head: wire::encode(&message)?, payload, at: 0 })
    }

    /// How many bytes it has in all.
    pub fn bytes(&self) -> usize {
        self.head.len() + self.payload.len()
    }

    /// The next frame, of at most so many bytes behind its header.
    pub fn piece(&self, limit: usize) -> Piece<'_> {
        let (head, payload) = (&self.head[..], &self.payload[..]);
        let whole = self.bytes();
        let end = whole.min(self.at + limit);
        let from_head = &head[self.at.min(head.len())..end.min(head.len())];
        let from_payload = &payload[self.at.saturating_sub(head.len())..end.saturating_sub(head.len())];
        let lengths = Lengths { bytes: end - self.at, head: head.len(), more: end < whole };
        Piece { lengths, parts: [from_head, from_payload] }
    }

    /// So many more bytes are in frames. True when those were the last.
    pub fn advance(&mut self, bytes: usize) -> bool {
        self.at += bytes;
        self.at >= self.bytes()
    }
}

/// Why what has come is no message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("a message of {bytes} bytes has a head of {head}")]
    Head { bytes: usize, head: usize },
}

/// Puts messages together again.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    part: Vec<u8>,
}

/// No message is longer: its head, and its payload.
const MESSAGE_BYTES: usize = <Message as wire::WireMessage>::MAX_BYTES + FRAGMENT_BYTES;

impl Assembly {
    /// Takes a frame, whose bytes lie in the window. The message, if that was its last.
    ///
    /// # Errors
    /// It is none that a node sends that keeps the protocol.
    pub fn take(
        &mut self,
        window: &Window,
        place: usize,
        lengths: Lengths,
    ) -> Result<Option<Message>, FrameError> {
        let bytes = self.part.len() + lengths.bytes;
        if bytes > MESSAGE_BYTES {
            return Err(WireError::TooLong { message: "message", bytes, limit: MESSAGE_BYTES }.into());
        }
        window.append_to(place, lengths.bytes, &mut self.part);
        if lengths.more {
            return Ok(None);
        }
        let mut whole = Bytes::from(std::mem::take(&mut self.part));
        if lengths.head > whole.len() {
            return Err(FrameError::Head { bytes: whole.len(), head: lengths.head });
        }
        let mut message = wire::decode::<Message>(&whole[..lengths.head])?;
        put_payload(&mut message, whole.split_off(lengths.head))?;
        Ok(Some(message))
    }
}

/// Gives a message its payload, if it may have one.
fn put_payload(message: &mut Message, payload: Bytes) -> Result<(), WireError> {
    let limit = match message {
        Message::Prepare { .. } => INLINE_BYTES,
        Message::Fragment { .. } => FRAGMENT_BYTES,
        _ => 0,
    };
    if payload.len() > limit {
        return Err(WireError::TooLong { message: "payload", bytes: payload.len(), limit });
    }
    let Some(place) = message.payload_mut() else { return Ok(()) };
    if !place.is_empty() {
        return Err(WireError::Malformed {
            message: <Message as wire::WireMessage>::NAME,
            bytes: place.len(),
            reason: "it has a payload in its head".into(),
        });
    }
    *place = payload;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_they_were_written() {
        for bytes in [0, 1, 65_535, (1 << 32) - 1] {
            for head in [0, 1, (1 << 31) - 1] {
                for more in [false, true] {
                    let lengths = Lengths { bytes, head, more };
                    assert_eq!(Lengths::from_word(lengths.to_word()), lengths);
                }
            }
        }
    }

    #[test]
    fn the_frames_of_a_message_are_its_bytes_each_once_at_every_length_of_frames() {
        use bcs_fabric::tree::OperationId;
        let operation = OperationId { initiator: bcs_core::ids::NodeId(1), sequence: 7 };
        let payload: Bytes = (0..1000).map(|byte| byte as u8).collect::<Vec<_>>().into();
        let message = Message::Fragment { operation, payload: payload.clone() };
        let whole = Parcel::new(message).unwrap();
        let all = whole.piece(usize::MAX / 2);
        let expected = all.parts.concat();
        assert!(!all.lengths.more && expected.ends_with(&payload));
        for limit in [1, 7, 999, expected.len() - 1, expected.len(), expected.len() + 1] {
            let mut parcel = Parcel { head: whole.head.clone(), payload: whole.payload.clone(), at: 0 };
            let mut found = Vec::new();
            loop {
                let piece = parcel.piece(limit);
                assert!(piece.lengths.bytes <= limit && piece.lengths.bytes > 0);
                let (bytes, more) = (piece.lengths.bytes, piece.lengths.more);
                found.extend(piece.parts.concat());
                assert_eq!(parcel.advance(bytes), !more);
                if !more {
                    break;
                }
            }
            assert!(found == expected, "frames of {limit} bytes");
        }
    }
}

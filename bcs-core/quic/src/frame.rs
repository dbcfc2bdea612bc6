//! How messages lie in a stream: two lengths, the stamp of the lane, the encoded message, its payload.
//!
//! ```text
//! 0        4         8                16
//! ┌────────┬─────────┬────────────────┬──────────────────────┬─────────┐
//! │ head   │ payload │ stamp          │ head: message (rkyv) │ payload │   integers are little-endian
//! └────────┴─────────┴────────────────┴──────────────────────┴─────────┘
//! ```
//!
//! The head is the message without its payload, which follows as it is: neither end copies a long payload to
//! put it into a frame or to take it out. A fragment is handed on piece by piece, as the stream brings it,
//! each piece a fragment of its own.
//!
//! Invariant: a reader takes up no more memory than has arrived, whatever lengths are announced, and what is
//! longer than any message is refused before its first byte is kept.

use bcs_core::wire::{self, WireError, WireMessage};
use bcs_fabric::tree::{FRAGMENT_BYTES, INLINE_BYTES, Message};
use bytes::{Bytes, BytesMut};
use rkyv::util::AlignedVec;
use std::collections::VecDeque;

/// The bytes before the message.
pub const HEADER_BYTES: usize = 16;

/// A payload up to this long is copied into the frames around it, so that a stream has few pieces to keep
/// track of; a longer one becomes a piece of its own.
const COPIED_BYTES: usize = 2 * 1024;

/// Frames put together for one write.
#[derive(Debug, Default)]
pub struct FrameBatch {
    /// What is to be written, in order.
    pieces: VecDeque<Bytes>,
    /// The frames behind them, which grow.
    open: BytesMut,
    bytes: usize,
    /// Where heads are encoded.
    scratch: AlignedVec,
}

impl FrameBatch {
    /// Appends a message's frame.
    ///
    /// # Errors
    /// The message is too long to travel.
    pub fn push(&mut self, stamp: u64, mut message: Message) -> Result<(), WireError> {
        let payload = message.payload_mut().map(std::mem::take).unwrap_or_default();
        check_payload(&message, payload.len())?;
        self.push_head(stamp, &message, payload.len())?;
        if payload.len() <= COPIED_BYTES {
            self.open.extend_from_slice(&payload);
        } else {
            self.pieces.push_back(self.open.split().freeze());
            self.pieces.push_back(payload.clone());
        }
        self.bytes += payload.len();
        Ok(())
    }

    /// Appends the frame of a message that has no payload.
    ///
    /// # Errors
    /// The message is too long to travel.
    pub fn push_head<T: WireMessage>(
        &mut self,
        stamp: u64,
        head: &T,
        payload_bytes: usize,
    ) -> Result<(), WireError> {
        self.scratch = wire::encode_in(head, std::mem::take(&mut self.scratch))?;
        self.open.reserve(HEADER_BYTES + self.scratch.len() + payload_bytes.min(COPIED_BYTES));
        self.open.extend_from_slice(&(self.scratch.len() as u32).to_le_bytes());
        self.open.extend_from_slice(&(payload_bytes as u32).to_le_bytes());
        self.open.extend_from_slice(&stamp.to_le_bytes());
        self.open.extend_from_slice(&self.scratch);
        self.bytes += HEADER_BYTES + self.scratch.len();
        Ok(())
    }

    /// How many bytes wait in it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What is to be written.
    pub fn pieces(&mut self) -> &mut [Bytes] {
        if !self.open.is_empty() {
            self.pieces.push_back(self.open.split().freeze());
        }
        self.pieces.make_contiguous()
    }

    /// So many bytes have been taken from the front of the pieces, and so many pieces as a whole.
    pub fn count_written(&mut self, bytes: usize, pieces: usize) {
        self.pieces.drain(..pieces);
        self.bytes -= bytes;
    }

    /// Its bytes, one after the other.
    #[cfg(test)]
    pub fn concatenate(mut self) -> Vec<u8> {
        self.pieces().concat()
    }
}

/// A message has room for a payload of this length.
fn check_payload(message: &Message, bytes: usize) -> Result<(), WireError> {
    let limit = match message {
        Message::Prepare { .. } => INLINE_BYTES,
        Message::Fragment { .. } => FRAGMENT_BYTES,
        _ => 0,
    };
    match bytes <= limit {
        true => Ok(()),
        false => Err(WireError::TooLong { message: "payload", bytes, limit }),
    }
}

/// A message that came out of a stream.
#[derive(Debug)]
pub struct Taken {
    /// The stamp of its lane.
    pub stamp: u64,
    /// The message.
    pub message: Message,
    /// It ends its frame: false for a fragment of which more is to come.
    pub is_last: bool,
}

/// A message whose payload is still to come.
#[derive(Debug)]
struct Due {
    stamp: u64,
    message: Message,
    left: usize,
    /// What has come of a payload that is handed on as a whole.
    collected: BytesMut,
}

/// Takes messages out of what a stream brings.
#[derive(Debug, Default)]
pub struct FrameReader {
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    head: AlignedVec<16>,
    due: Option<Due>,
}

impl FrameReader {
    /// Takes a message from the front of `input`; of a fragment what is there of it. `None` when the input is
    /// used up.
    ///
    /// # Errors
    /// The frame is longer than any message, or none.
    pub fn take(&mut self, input: &mut Bytes) -> Result<Option<Taken>, WireError> {
        if self.due.is_none() {
            let Some((stamp, left, mut message)) = self.take_head::<Message>(input)? else { return Ok(None) };
            check_payload(&message, left)?;
            if message.payload_mut().is_some_and(|payload| !payload.is_empty()) {
                return Err(WireError::Malformed {
                    message: Message::NAME,
                    bytes: left,
                    reason: "it has a payload in its head".into(),
                });
            }
            if left == 0 {
                return Ok(Some(Taken { stamp, message, is_last: true }));
            }
            self.due = Some(Due { stamp, message, left, collected: BytesMut::new() });
        }
        let Some(due) = &mut self.due else { return Ok(None) };
        if input.is_empty() {
            return Ok(None);
        }
        let piece = input.split_to(input.len().min(due.left));
        due.left -= piece.len();
        if let Message::Fragment { operation, .. } = due.message {
            let message = Message::Fragment { operation, payload: piece };
            let (stamp, is_last) = (due.stamp, due.left == 0);
            if is_last {
                self.due = None;
            }
            return Ok(Some(Taken { stamp, message, is_last }));
        }
        // It is short, and copied: the whole of what arrived with it would be kept for its sake.
        due.collected.extend_from_slice(&piece);
        if due.left > 0 {
            return Ok(None);
        }
        let Some(Due { stamp, mut message, collected, .. }) = self.due.take() else { return Ok(None) };
        if let Some(payload) = message.payload_mut() {
            *payload = collected.freeze();
        }
        Ok(Some(Taken { stamp, message, is_last: true }))
    }

    /// Takes a message that has no payload, with the stamp of its lane.
    ///
    /// # Errors
    /// The frame is longer than any message, or none.
    pub fn take_plain<T: WireMessage>(&mut self, input: &mut Bytes) -> Result<Option<(u64, T)>, WireError> {
        let Some((stamp, payload, message)) = self.take_head(input)? else { return Ok(None) };
        match payload {
            0 => Ok(Some((stamp, message))),
            bytes => Err(WireError::TooLong { message: "payload", bytes, limit: 0 }),
        }
    }

    /// Takes a header and a head: the stamp, the length of the payload, the message.
    fn take_head<T: WireMessage>(&mut self, input: &mut Bytes) -> Result<Option<(u64, usize, T)>, WireError> {
        if self.header_filled < HEADER_BYTES {
            let part = input.split_to(input.len().min(HEADER_BYTES - self.header_filled));
            self.header[self.header_filled..][..part.len()].copy_from_slice(&part);
            self.header_filled += part.len();
            if self.header_filled < HEADER_BYTES {
                return Ok(None);
            }
        }
        let (length, payload, stamp) = self.parse_header();
        for (message, bytes, limit) in
            [(T::NAME, length, T::MAX_BYTES), ("payload", payload, FRAGMENT_BYTES.max(INLINE_BYTES))]
        {
            if bytes > limit {
                return Err(WireError::TooLong { message, bytes, limit });
            }
        }
        let part = input.split_to(input.len().min(length - self.head.len()));
        self.head.extend_from_slice(&part);
        if self.head.len() < length {
            return Ok(None);
        }
        self.header_filled = 0;
        let message = wire::decode(&self.head);
        if self.head.capacity() > KEPT_BYTES {
            self.head = AlignedVec::new();
        }
        self.head.clear();
        Ok(Some((stamp, payload, message?)))
    }

    fn parse_header(&self) -> (usize, usize, u64) {
        let [h0, h1, h2, h3, p0, p1, p2, p3, stamp @ ..] = self.header;
        let [head, payload] = [[h0, h1, h2, h3], [p0, p1, p2, p3]].map(u32::from_le_bytes);
        (head as usize, payload as usize, u64::from_le_bytes(stamp))
    }
}

/// How much room for a head is kept for the next one.
const KEPT_BYTES: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::damage::{Rng, noise};
    use bcs_core::node_set::NodeSet;
    use bcs_fabric::conformance::any_message;

    /// A message of any kind; some have payloads of many bytes.
    fn message(random: &mut Rng) -> Message {
        let mut message = any_message(random);
        let limit = if matches!(message, Message::Prepare { .. }) { INLINE_BYTES } else { 9000 };
        if let Some(payload) = message.payload_mut() {
            *payload = noise(limit + 1, random).into();
        }
        message
    }

    /// Neighbouring fragments put together: how they were cut is nobody's business.
    fn joined(messages: impl IntoIterator<Item = (u64, Message)>) -> Vec<(u64, Message)> {
        let mut joined: Vec<(u64, Message)> = Vec::new();
        for (stamp, message) in messages {
            match (joined.last_mut(), &message) {
                (
                    Some((before, Message::Fragment { payload, .. })),
                    Message::Fragment { payload: more, .. },
                ) if *before == stamp => *payload = [&payload[..], &more[..]].concat().into(),
                _ => joined.push((stamp, message)),
            }
        }
        joined
    }

    #[test]
    fn messages_come_out_of_frames_as_they_went_in_however_the_stream_is_cut() {
        bcs_core::damage::run(|random| {
            let mut batch = FrameBatch::default();
            let messages: Vec<_> =
                (0..random.usize(..12)).map(|_| (random.u64(..), message(random))).collect();
            for (stamp, message) in &messages {
                batch.push(*stamp, message.clone()).unwrap();
            }
            let announced = batch.bytes();
            let mut stream = Bytes::from(batch.concatenate());
            assert_eq!(stream.len(), announced);
            let (mut reader, mut found) = (FrameReader::default(), Vec::new());
            while !stream.is_empty() {
                let mut part = stream.split_to(stream.len().min(random.usize(1..3000)));
                while let Some(Taken { stamp, message, .. }) = reader.take(&mut part).unwrap() {
                    found.push((stamp, message));
                }
                assert!(part.is_empty());
            }
            assert_eq!(joined(found), joined(messages));
        });
    }

    fn header(head: usize, payload: usize) -> Bytes {
        let mut header = (head as u32).to_le_bytes().to_vec();
        header.extend((payload as u32).to_le_bytes());
        header.extend([0; 8]);
        header.into()
    }

    #[test]
    fn a_frame_longer_than_any_message_is_refused_before_it_is_kept() {
        for header in [header(Message::MAX_BYTES + 1, 0), header(8, FRAGMENT_BYTES + 1)] {
            let refused = FrameReader::default().take(&mut header.clone()).unwrap_err();
            assert!(matches!(refused, WireError::TooLong { .. }));
        }
        // The longest is not refused, but takes up no memory before it comes.
        let mut reader = FrameReader::default();
        assert!(reader.take(&mut header(Message::MAX_BYTES, FRAGMENT_BYTES)).unwrap().is_none());
        assert!(reader.take(&mut Bytes::from_static(&[0])).unwrap().is_none());
        assert!(reader.head.capacity() < 1024);
    }

    #[test]
    fn a_payload_where_none_belongs_is_refused() {
        // More than a message of this kind may have, and at all with one that has none.
        let obituary = Message::Obituary { dead: NodeSet::new() };
        let mut random = Rng::with_seed(1);
        let mut messages = std::iter::repeat_with(|| any_message(&mut random));
        let mut prepare = messages.find(|message| matches!(message, Message::Prepare { .. })).unwrap();
        *prepare.payload_mut().unwrap() = Bytes::new();
        for (message, payload) in [(&prepare, INLINE_BYTES + 1), (&obituary, 1)] {
            let mut batch = FrameBatch::default();
            batch.push_head(0, message, payload).unwrap();
            let refused = FrameReader::default().take(&mut batch.concatenate().into()).unwrap_err();
            assert!(matches!(refused, WireError::TooLong { message: "payload", .. }), "{refused}");
        }
        // In the head as well as behind it.
        *prepare.payload_mut().unwrap() = Bytes::from_static(b"x");
        let mut batch = FrameBatch::default();
        batch.push_head(0, &prepare, 1).unwrap();
        let refused = FrameReader::default().take(&mut batch.concatenate().into()).unwrap_err();
        assert!(matches!(refused, WireError::Malformed { .. }), "{refused}");
    }
}

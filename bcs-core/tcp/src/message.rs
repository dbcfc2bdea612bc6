//! How messages of the tree protocol, and records of the road, lie in the records of a link.
//!
//! ```text
//! 0      1      2      4          8               16
//! ┌──────┬──────┬──────┬──────────┬───────────────┬──────────────────────┬─────────┐
//! │ kind │ more │ zero │ head     │ stamp of lane │ head: message (rkyv) │ payload │   integers are little-endian
//! └──────┴──────┴──────┴──────────┴───────────────┴──────────────────────┴─────────┘
//! ```
//!
//! A message that is longer than a record takes several, of one lane, one behind the other; `more` is one in
//! all but the last. A record of the road has neither head nor stamp, and its bytes are the payload.
//!
//! Invariant: a receiver keeps no more of a message than the longest one has.

use bcs_core::wire::{self, WireError};
use bcs_fabric::tree::{FRAGMENT_BYTES, INLINE_BYTES, Lane, LaneReceiver, Message};
use bcs_link::{Appender, LinkFault, Record};
use bytes::Bytes;
use rkyv::util::AlignedVec;

/// Bytes that stand before the bytes of a message, or of a record of the road.
pub const HEADER_BYTES: usize = bcs_link::ROAD_HEADER_BYTES;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message of the control lane.
    Control = 1,
    /// A message of the bulk lane.
    Bulk = 2,
    /// A record of the road.
    Road = 3,
}

const _: () = assert!(bcs_link::ROAD_HEADER[0] == Kind::Road as u8, "what ranks send is of the road");

const fn header(kind: Kind, more: bool, head_bytes: u32, stamp: u64) -> [u8; HEADER_BYTES] {
    let ([h0, h1, h2, h3], [s0, s1, s2, s3, s4, s5, s6, s7]) =
        (head_bytes.to_le_bytes(), stamp.to_le_bytes());
    [kind as u8, more as u8, 0, 0, h0, h1, h2, h3, s0, s1, s2, s3, s4, s5, s6, s7]
}

/// Whether a record is one of the road.
pub fn is_of_road(record: &Record<'_>) -> bool {
    let mut kind = [0];
    record.copy(0, &mut kind) == 1 && kind[0] == Kind::Road as u8
}

/// A message on its way into the ring of a link.
#[derive(Debug)]
pub struct Parcel {
    lane: Lane,
    stamp: u64,
    head: AlignedVec,
    payload: Bytes,
    /// How much of both is in the ring.
    at: usize,
}

impl Parcel {
    /// Encodes a message; its head goes into memory that was used before.
    ///
    /// # Errors
    /// The message is too long to travel.
    pub fn new(lane: Lane, stamp: u64, mut message: Message, room: AlignedVec) -> Result<Self, WireError> {
        let payload = message.payload_mut().map(std::mem::take).unwrap_or_default();
        Ok(Self { lane, stamp, head: wire::encode_in(&message, room)?, payload, at: 0 })
    }

    /// The length of its next record.
    pub fn next_bytes(&self, record_bytes: usize) -> usize {
        (HEADER_BYTES + self.head.len() + self.payload.len() - self.at).min(record_bytes)
    }

    /// Appends as many of its records as there is room for. True when that was the last.
    ///
    /// # Errors
    /// The link has ended.
    pub fn append(&mut self, ring: &mut Appender<'_>, record_bytes: usize) -> Result<bool, LinkFault> {
        let (head, payload) = (&self.head[..], &self.payload[..]);
        let whole = head.len() + payload.len();
        loop {
            let end = whole.min(self.at + record_bytes - HEADER_BYTES);
            let kind = match self.lane {
                Lane::Control => Kind::Control,
                Lane::Bulk => Kind::Bulk,
            };
            let header = header(kind, end < whole, head.len() as u32, self.stamp);
            let from_head = &head[self.at.min(head.len())..end.min(head.len())];
            let from_payload = &payload[self.at.saturating_sub(head.len())..end.saturating_sub(head.len())];
            if !ring.push(&[&header, from_head, from_payload])? {
                return Ok(false);
            }
            self.at = end;
            if end == whole {
                return Ok(true);
            }
        }
    }

    /// The memory of its head, for another.
    pub fn into_room(self) -> AlignedVec {
        self.head
    }
}

/// Why what has come is no message.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// It cannot be decoded.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It is no record that an end sends.
    #[error("a record of {bytes} bytes begins with {start:?}, which none does")]
    Record {
        /// Its length.
        bytes: usize,
        /// How it begins.
        start: [u8; HEADER_BYTES],
    },
    /// The lanes were mixed up.
    #[error("a message in the bulk lane has overtaken messages that were sent before it")]
    Overtaken,
}

/// What has come in a record.
#[derive(Debug)]
pub enum Arrival {
    /// A message.
    Message(Message),
    /// A record of the road: its bytes are what the record has behind its header.
    Road,
    /// A part of a message of which more is to come.
    Part,
}

/// Puts messages together again.
#[derive(Debug, Default)]
pub struct Assembly {
    /// By lane: what has come of a message that takes several records.
    parts: [Vec<u8>; 2],
    lanes: LaneReceiver,
}

/// No message is longer: its head, and its payload.
const MESSAGE_BYTES: usize = <Message as wire::WireMessage>::MAX_BYTES + FRAGMENT_BYTES;

impl Assembly {
    /// Takes a record.
    ///
    /// # Errors
    /// It is none that an end sends that keeps the protocol.
    pub fn take(&mut self, record: &Record<'_>) -> Result<Arrival, MessageError> {
        let mut start = [0; HEADER_BYTES];
        let has_header = record.copy(0, &mut start) == HEADER_BYTES;
        let strange = MessageError::Record { bytes: record.len(), start };
        let [kind, more, z0, z1, h0, h1, h2, h3, stamp @ ..] = start;
        if !has_header || more > 1 || [z0, z1] != [0; 2] {
            return Err(strange);
        }
        let lane = match kind {
            kind if kind == Kind::Control as u8 => Lane::Control,
            kind if kind == Kind::Bulk as u8 => Lane::Bulk,
            kind if kind == Kind::Road as u8 && start == bcs_link::ROAD_HEADER => return Ok(Arrival::Road),
            _ => return Err(strange),
        };
        let part = &mut self.parts[lane as usize];
        let bytes = part.len() + record.len() - HEADER_BYTES;
        if bytes > MESSAGE_BYTES {
            return Err(WireError::TooLong { message: "message", bytes, limit: MESSAGE_BYTES }.into());
        }
        record.append_to(HEADER_BYTES, part);
        if more == 1 {
            return Ok(Arrival::Part);
        }
        let mut whole = Bytes::from(std::mem::take(part));
        let head_bytes = u32::from_le_bytes([h0, h1, h2, h3]) as usize;
        if head_bytes > whole.len() {
            return Err(strange);
        }
        let mut message = wire::decode::<Message>(&whole[..head_bytes])?;
        let payload = whole.split_off(head_bytes);
        put_payload(&mut message, payload)?;
        match lane {
            Lane::Control => self.lanes.count_control(),
            Lane::Bulk if !self.lanes.may_deliver(u64::from_le_bytes(stamp)) => {
                return Err(MessageError::Overtaken);
            }
            Lane::Bulk => {}
        }
        Ok(Arrival::Message(message))
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

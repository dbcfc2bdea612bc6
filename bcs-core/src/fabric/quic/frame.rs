//! How messages lie in a stream: a length, the stamp of the lane, the encoded message.
//!
//! ```text
//! 0        4                12
//! ┌────────┬────────────────┬──────────────────────┐
//! │ length │ stamp          │ message (rkyv)       │   integers are little-endian
//! └────────┴────────────────┴──────────────────────┘
//! ```
//!
//! Invariant: a reader takes up no more memory than has arrived, whatever length is announced, and what is longer than
//! any message is refused before its first byte is kept.

use crate::fabric::tree::Message;
use crate::wire::{self, WireError, WireMessage};
use bytes::{Bytes, BytesMut};
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;
use rkyv::{Deserialize, Serialize, rancor};

/// The bytes before the message.
pub const HEADER_BYTES: usize = 12;

/// Appends a frame.
///
/// # Errors
/// The message is too long to travel.
pub fn encode_into<T>(stamp: u64, message: &T, buffer: &mut BytesMut) -> Result<(), WireError>
where
    T: WireMessage + for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>>,
{
    let encoded = wire::encode(message)?;
    buffer.reserve(HEADER_BYTES + encoded.len());
    buffer.extend_from_slice(&(encoded.len() as u32).to_le_bytes());
    buffer.extend_from_slice(&stamp.to_le_bytes());
    buffer.extend_from_slice(&encoded);
    Ok(())
}

/// A frame that has arrived as a whole.
#[derive(Debug)]
pub struct Frame {
    /// The stamp of its lane.
    pub stamp: u64,
    bytes: AlignedVec<16>,
}

impl Frame {
    /// The message in it.
    ///
    /// # Errors
    /// The bytes are not a message.
    pub fn decode<T>(&self) -> Result<T, WireError>
    where
        T: WireMessage,
        T::Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>
            + Deserialize<T, HighDeserializer<rancor::Error>>,
    {
        wire::decode(&self.bytes)
    }
}

/// Puts frames together from what a stream brings.
#[derive(Debug, Default)]
pub struct FrameReader {
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    body: AlignedVec<16>,
}

impl FrameReader {
    /// Takes from the front of `input` up to the end of a frame, and gives the frame when it is whole. `None` when
    /// the input is used up.
    ///
    /// # Errors
    /// The frame is longer than any message.
    pub fn take(&mut self, input: &mut Bytes) -> Result<Option<Frame>, WireError> {
        if self.header_filled < HEADER_BYTES {
            let part = input.split_to(input.len().min(HEADER_BYTES - self.header_filled));
            self.header[self.header_filled..][..part.len()].copy_from_slice(&part);
            self.header_filled += part.len();
            if self.header_filled < HEADER_BYTES {
                return Ok(None);
            }
        }
        let (length, stamp) = self.parse_header();
        if length > Message::MAX_BYTES {
            return Err(WireError::TooLong {
                message: Message::NAME,
                bytes: length,
                limit: Message::MAX_BYTES,
            });
        }
        let part = input.split_to(input.len().min(length - self.body.len()));
        self.body.extend_from_slice(&part);
        if self.body.len() < length {
            return Ok(None);
        }
        self.header_filled = 0;
        Ok(Some(Frame { stamp, bytes: std::mem::take(&mut self.body) }))
    }

    fn parse_header(&self) -> (usize, u64) {
        let [l0, l1, l2, l3, stamp @ ..] = self.header;
        (u32::from_le_bytes([l0, l1, l2, l3]) as usize, u64::from_le_bytes(stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::node_set::NodeSet;
    use proptest::prelude::*;

    fn obituary(nodes: Vec<u32>) -> Message {
        Message::Obituary { dead: nodes.into_iter().map(NodeId).collect::<NodeSet>() }
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_the_stream_is_cut(
            frames in proptest::collection::vec((any::<u64>(), proptest::collection::vec(0..5000u32, 0..9)), 0..20),
            cuts in proptest::collection::vec(1..40usize, 1..20)
        ) {
            let mut stream = BytesMut::new();
            for (stamp, nodes) in &frames {
                encode_into(*stamp, &obituary(nodes.clone()), &mut stream).unwrap();
            }
            let (mut stream, mut cuts) = (stream.freeze(), cuts.iter().cycle());
            let (mut reader, mut found) = (FrameReader::default(), Vec::new());
            while !stream.is_empty() {
                let mut part = stream.split_to(stream.len().min(*cuts.next().unwrap()));
                while let Some(frame) = reader.take(&mut part).unwrap() {
                    found.push((frame.stamp, frame.decode::<Message>().unwrap()));
                }
                prop_assert!(part.is_empty());
            }
            let expected: Vec<_> = frames.into_iter().map(|(stamp, nodes)| (stamp, obituary(nodes))).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_frame_longer_than_any_message_is_refused_before_it_is_kept() {
        let mut reader = FrameReader::default();
        let mut header = (Message::MAX_BYTES as u32 + 1).to_le_bytes().to_vec();
        header.extend([0; 8]);
        let refused = reader.take(&mut header.into()).unwrap_err();
        assert!(matches!(refused, WireError::TooLong { .. }));
        // The longest is not refused, but takes up no memory before it comes.
        let mut reader = FrameReader::default();
        let mut header = (Message::MAX_BYTES as u32).to_le_bytes().to_vec();
        header.extend([0; 9]);
        assert!(reader.take(&mut header.into()).unwrap().is_none());
        assert!(reader.body.capacity() < 1024);
    }
}

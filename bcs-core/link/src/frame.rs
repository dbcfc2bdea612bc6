//! How a frame begins.
//!
//! ```text
//! 0         4      5      6      8            16
//! ┌─────────┬──────┬──────┬──────┬────────────┬───────────────────┬─────────┐
//! │ bytes   │ kind │ code │ zero │ taken      │ records, sealed   │ tag, 16 │   integers are little-endian
//! └─────────┴──────┴──────┴──────┴────────────┴───────────────────┴─────────┘
//! ```
//!
//! A frame carries the next bytes of the sender's ring of records, wherever the last frame stopped; a record
//! may begin in one frame and end in another. A *rest* is all of a record behind its front, which ended the
//! frame before: who opens it knows what it is part of, and may put it elsewhere than into its ring. `code`
//! is the length of that front then, in words of eight bytes. `taken` is the credit: how much of the *other*
//! direction this end's consumers have taken since the start. In a hello it is the size of the rings
//! instead, and in neither hello nor close are there records. The header is what the seal authenticates
//! beside the records; a link without a seal has no tag.

/// The bytes before the records.
pub(crate) const HEADER_BYTES: usize = 16;

/// The bytes of a tag.
pub(crate) const TAG_BYTES: usize = 16;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Records, or credit alone, or a sign of life.
    Records = 1,
    /// The first frame of each direction.
    Hello = 2,
    /// The last one.
    Close = 3,
    /// What follows the front of the last record.
    Rest = 4,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The length of the records.
    pub bytes: u32,
    pub kind: Kind,
    /// Of a close: why. Of a rest: words of the front before it.
    pub code: u8,
    pub taken: u64,
}

impl Header {
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        let mut encoded = [0; HEADER_BYTES];
        encoded[..4].copy_from_slice(&self.bytes.to_le_bytes());
        encoded[4] = self.kind as u8;
        encoded[5] = self.code;
        encoded[8..].copy_from_slice(&self.taken.to_le_bytes());
        encoded
    }

    /// The length of the records that a header announces, which is needed before the rest can be trusted.
    pub fn announced(encoded: &[u8; HEADER_BYTES]) -> usize {
        let [b0, b1, b2, b3, ..] = *encoded;
        u32::from_le_bytes([b0, b1, b2, b3]) as usize
    }

    /// The header; none when no end writes such a one.
    pub fn decode(encoded: &[u8; HEADER_BYTES]) -> Option<Self> {
        let [b0, b1, b2, b3, kind, code, z0, z1, taken @ ..] = *encoded;
        let kind = [Kind::Records, Kind::Hello, Kind::Close, Kind::Rest]
            .into_iter()
            .find(|known| *known as u8 == kind)?;
        let bytes = u32::from_le_bytes([b0, b1, b2, b3]);
        let has_sense = match kind {
            Kind::Records => code == 0,
            Kind::Hello => bytes == 0 && code == 0,
            Kind::Close => bytes == 0,
            Kind::Rest => bytes != 0 && code != 0,
        };
        let taken = u64::from_le_bytes(taken);
        (has_sense && [z0, z1] == [0; 2]).then_some(Self { bytes, kind, code, taken })
    }
}

/// Whether bytes are the beginning of a TLS record (application data or alert, version 3.3) and so of no
/// frame: their length would be beyond any.
pub(crate) fn is_tls(encoded: &[u8; HEADER_BYTES]) -> bool {
    matches!(encoded, [0x15 | 0x17, 3, 3, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_decoded_from_their_encoding_and_others_are_none() {
        for (kind, bytes, code) in
            [(Kind::Records, 65_536, 0), (Kind::Hello, 0, 0), (Kind::Close, 0, 7), (Kind::Rest, 8, 11)]
        {
            let header = Header { bytes, kind, code, taken: 1 << 40 };
            let encoded = header.encode();
            assert_eq!(Header::decode(&encoded), Some(header));
            assert_eq!(Header::announced(&encoded), bytes as usize);
            for (at, value) in [(4, 0), (4, 9), (6, 1), (7, 1)] {
                let mut damaged = encoded;
                damaged[at] = value;
                assert_eq!(Header::decode(&damaged), None);
            }
        }
        for (kind, bytes, code) in [(Kind::Hello, 8, 0), (Kind::Rest, 0, 11), (Kind::Rest, 8, 0)] {
            let wrong = Header { bytes, kind, code, taken: 0 };
            assert_eq!(Header::decode(&wrong.encode()), None);
        }
    }

    #[test]
    fn what_begins_a_tls_record_announces_more_than_any_frame_has() {
        let mut alert = [0; HEADER_BYTES];
        for first in [0x15, 0x17] {
            alert[..3].copy_from_slice(&[first, 3, 3]);
            assert!(is_tls(&alert) && Header::announced(&alert) > 1 << 17);
        }
        assert!(!is_tls(&Header { bytes: 0x17, kind: Kind::Records, code: 0, taken: 0 }.encode()));
    }
}

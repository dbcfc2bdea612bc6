//! Records: what nodes say to each other over links. A header of eight words, then a payload.
//!
//! ```text
//!  word 0    kind:8  rank:24  payload bytes:32
//!  1..8      by kind; of a send or a cancel, words 0..7 of the descriptor
//! ```

/// Bytes of a record without its payload.
pub const HEADER_BYTES: usize = 64;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The rest of the ring is not used.
    Pad = 1,
    /// A send descriptor for the Buffer Receiver, or the wish to take one back; `rank` posted it.
    Send = 2,
    /// A message of `rank` was matched and nothing of it has to move: request, slab plus one.
    Matched = 3,
    /// A send of `rank` was taken back: request.
    Cancelled = 4,
    /// Bytes of a message of `rank` are wanted: see `point_to_point`.
    Grant = 5,
    /// The bytes: transfer, offset.
    Data = 6,
    /// A contribution or partial result on its way to the lead: see `collectives`.
    Up = 7,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it is.
    pub kind: Kind,
    /// A rank of the job; 0 where none is meant.
    pub rank: u32,
    /// By kind.
    pub words: [u64; 7],
    /// By kind.
    pub payload: Vec<u8>,
}

impl Record {
    /// A record without a payload.
    pub fn new(kind: Kind, rank: u32, words: &[u64]) -> Self {
        let mut all = [0; 7];
        all[..words.len()].copy_from_slice(words);
        Self { kind, rank, words: all, payload: Vec::new() }
    }

    /// The same with a payload.
    pub fn with_payload(self, payload: Vec<u8>) -> Self {
        Self { payload, ..self }
    }

    /// Appends the record's bytes, a multiple of 8.
    pub fn encode(&self, to: &mut Vec<u8>) {
        let first =
            self.kind as u64 | ((self.rank & 0xff_ffff) as u64) << 8 | (self.payload.len() as u64) << 32;
        to.extend_from_slice(&first.to_le_bytes());
        for word in self.words {
            to.extend_from_slice(&word.to_le_bytes());
        }
        to.extend_from_slice(&self.payload);
        to.resize(to.len().next_multiple_of(8), 0);
    }

    /// Bytes of the record that begins with this word; none when it is no record.
    pub fn length(first: u64) -> Option<(Kind, usize)> {
        use Kind::*;
        let kind =
            [Pad, Send, Matched, Cancelled, Grant, Data, Up].into_iter().find(|k| *k as u8 == first as u8)?;
        Some((kind, HEADER_BYTES + ((first >> 32) as usize).next_multiple_of(8)))
    }

    /// Reads a record of [`Self::length`] bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let first = u64::from_le_bytes(*words.first()?);
        let (kind, length) = Self::length(first)?;
        if length != bytes.len() {
            return None;
        }
        let mut all = [0; 7];
        for (word, bytes) in all.iter_mut().zip(&words[1..]) {
            *word = u64::from_le_bytes(*bytes);
        }
        let payload = bytes[HEADER_BYTES..HEADER_BYTES + (first >> 32) as usize].to_vec();
        Some(Self { kind, rank: (first >> 8) as u32 & 0xff_ffff, words: all, payload })
    }
}

/// The first word of padding up to the end of a ring.
pub const PAD: u64 = Kind::Pad as u64;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_survives_its_bytes(rank in 0u32..1 << 24, words: [u64; 7], payload in proptest::collection::vec(any::<u8>(), 0..200)) {
            let record = Record { kind: Kind::Data, rank, words, payload };
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            prop_assert_eq!(bytes.len() % 8, 0);
            prop_assert_eq!(Record::decode(&bytes), Some(record));
        }

        #[test]
        fn any_bytes_decode_to_an_answer_and_never_to_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Record::decode(&bytes);
        }
    }
}

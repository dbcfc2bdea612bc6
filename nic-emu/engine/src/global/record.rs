//! Records: what nodes say to each other over links. A header of eight words, then a payload.
//!
//! ```text
//!  word 0    kind:8  rank:24  payload bytes:20  slice in which it was posted:12
//!  1..8      by kind; of a send or a cancel, words 0..7 of the descriptor
//! ```

use super::error::{GlobalError, strange};
use bcs_core::Rank;

/// Bytes of a record without its payload.
pub const HEADER_BYTES: usize = 64;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Of a link: is what was sent before there?
    Confirm = 1,
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
    /// An arrival, a contribution or a partial result on its way to the lead: see `gather`.
    Up = 7,
    /// A collective that all have reached, on its way from the lead, with its result: see `collectives`.
    Down = 8,
    /// All members of a communicator have left it: its context, for the node that gave that.
    Left = 9,
    /// Members of a communicator have called what does not fit: its context; the report is the payload.
    Broken = 10,
    /// Of a link: what was sent before that *Confirm* is there.
    Confirmed = 11,
    /// As *Up*, of an announcement: nobody waits for it.
    Announced = 12,
    /// As *Down*, of an announcement.
    Agreed = 13,
    /// What a node makes of *Data* whose bytes were opened where they go: transfer, offset, bytes.
    Placed = 14,
    /// A message of `rank` may be written into its receiver's buffer: see `buffer_writes`.
    Invite = 15,
    /// It was: transfer, bytes.
    Written = 16,
    /// It is not going to be: transfer.
    Declined = 17,
}

/// The slice in which something was posted, as a record tells it: who gets it in the same slice leaves it for
/// the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostingSlice(u16);

const POSTED_BITS: u32 = 12;
/// Bytes of a payload at most: what the header can say.
pub const PAYLOAD_LIMIT: u64 = (1 << 20) - 1;

/// How old a record says at most that something is, in slices: what it is exactly matters to nobody then.
const OLDEST: u64 = 1 << (POSTED_BITS - 2);

impl PostingSlice {
    /// Posted in this slice, told in that.
    pub fn in_slice(posted: u64, slice: u64) -> Self {
        Self((posted.max(slice.saturating_sub(OLDEST)) & ((1 << POSTED_BITS) - 1)) as u16)
    }

    /// The slice that is meant, told not far from this one.
    pub fn near(self, slice: u64) -> u64 {
        let shift = 32 - POSTED_BITS;
        let distance = (u32::from(self.0).wrapping_sub(slice as u32) << shift) as i32 >> shift;
        slice.saturating_add_signed(distance.into())
    }
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it is.
    pub kind: Kind,
    /// A rank of the job; 0 where none is meant.
    pub rank: Rank,
    /// When what it is about was posted.
    pub posted: PostingSlice,
    /// By kind.
    pub words: [u64; 7],
    /// By kind.
    pub payload: Vec<u8>,
}

/// The payload of a record that has come.
pub trait Carried {
    /// How many bytes it has.
    fn payload_bytes(&self) -> usize;

    /// Copies as many of them as there is room for.
    ///
    /// # Safety
    /// `room` bytes can be written at `to`, and the payload does not lie there.
    unsafe fn copy_payload(&self, to: *mut u8, room: usize);
}

impl Carried for &[u8] {
    fn payload_bytes(&self) -> usize {
        self.len()
    }

    unsafe fn copy_payload(&self, to: *mut u8, room: usize) {
        // SAFETY: the caller's promise; no more than the payload has.
        unsafe { std::ptr::copy_nonoverlapping(self.as_ptr(), to, room.min(self.len())) };
    }
}

impl Kind {
    /// The kind of the record with this header; none when it is no record.
    pub fn of(header: &[u8; HEADER_BYTES]) -> Option<Self> {
        use Kind::*;
        let (first, then) = (
            [Confirm, Send, Matched, Cancelled, Grant, Data, Placed, Invite, Written, Declined],
            [Up, Down, Left, Broken, Confirmed, Announced, Agreed],
        );
        first.into_iter().chain(then).find(|kind| *kind as u8 == header[0])
    }
}

impl Record {
    /// A record without a payload.
    pub fn new(kind: Kind, rank: Rank, words: &[u64]) -> Self {
        let mut all = [0; 7];
        all[..words.len()].copy_from_slice(words);
        Self { kind, rank, posted: PostingSlice::default(), words: all, payload: Vec::new() }
    }

    /// The header of the record with a payload of so many bytes.
    pub fn header(&self, payload_bytes: usize) -> [u8; HEADER_BYTES] {
        debug_assert!(
            payload_bytes as u64 <= PAYLOAD_LIMIT,
            "links are made for payloads that the header can tell"
        );
        let first = self.kind as u64
            | ((self.rank.0 & 0xff_ffff) as u64) << 8
            | (payload_bytes as u64 & PAYLOAD_LIMIT) << 32
            | (self.posted.0 as u64) << (64 - POSTED_BITS);
        let mut header = [0; HEADER_BYTES];
        let (words, _) = header.as_chunks_mut::<8>();
        for (bytes, word) in words.iter_mut().zip(std::iter::once(first).chain(self.words)) {
            *bytes = word.to_le_bytes();
        }
        header
    }

    /// Appends this piece of a value ([`in_pieces`]) to those before it. True when all of it is there.
    ///
    /// # Errors
    /// It does not follow them, or is longer than the value.
    pub fn append_to(&self, from: u32, value: &mut Vec<u8>) -> Result<bool, GlobalError> {
        let [_, _, _, total, offset, ..] = self.words;
        if value.len() as u64 != offset || offset + self.payload.len() as u64 > total {
            return Err(strange(from, "offset of a contribution", offset));
        }
        value.extend_from_slice(&self.payload);
        Ok(value.len() as u64 == total)
    }

    /// Reads the header of a record with a payload of so many bytes, which is not read. None when it is no
    /// record.
    pub fn decode(header: &[u8; HEADER_BYTES], payload_bytes: usize) -> Option<Self> {
        let (words, _) = header.as_chunks::<8>();
        let first = u64::from_le_bytes(words[0]);
        if first >> 32 & PAYLOAD_LIMIT != payload_bytes as u64 {
            return None;
        }
        let kind = Kind::of(header)?;
        let mut all = [0; 7];
        for (word, bytes) in all.iter_mut().zip(&words[1..]) {
            *word = u64::from_le_bytes(*bytes);
        }
        let posted = PostingSlice((first >> (64 - POSTED_BITS)) as u16);
        Some(Self {
            kind,
            rank: Rank((first >> 8) as u32 & 0xff_ffff),
            posted,
            words: all,
            payload: Vec::new(),
        })
    }
}

/// The records of a value: such ones, but each with a piece of at most `most` bytes, and in words 3 and 4 how
/// long the value is and where the piece begins.
pub fn in_pieces(record: Record, value: &[u8], most: u64) -> impl Iterator<Item = Record> {
    let most = most as usize;
    (0..value.len().div_ceil(most).max(1)).map(move |piece| {
        let offset = piece * most;
        let mut record = record.clone();
        (record.words[3], record.words[4]) = (value.len() as u64, offset as u64);
        record.payload = value[offset..value.len().min(offset + most)].to_vec();
        record
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_survives_its_header(rank in 0u32..1 << 24, slice: u64, words: [u64; 7], payload_bytes in 0..=PAYLOAD_LIMIT as usize) {
            let record = Record { kind: Kind::Data, rank: Rank(rank), posted: PostingSlice::in_slice(slice, slice), words, payload: Vec::new() };
            let header = record.header(payload_bytes);
            prop_assert_eq!(Record::decode(&header, payload_bytes), Some(record));
            prop_assert_eq!(Record::decode(&header, payload_bytes + 1), None);
        }

        #[test]
        fn the_slice_of_posting_is_read_as_it_was_told(posted in 0u64..1 << 60, told in 0u64..5000, read in -900i64..900) {
            let slice = posted + told;
            let meant = PostingSlice::in_slice(posted, slice).near(slice.saturating_add_signed(read));
            if told <= OLDEST && posted > 1000 {
                prop_assert_eq!(meant, posted);
            }
            // At least whether it was in an earlier slice than the one in which it was told.
            prop_assert_eq!(meant < slice || posted <= 1000, told > 0 || posted <= 1000);
        }

        #[test]
        fn any_bytes_decode_to_an_answer_and_never_to_a_panic(words: [u64; 8]) {
            let header = words.map(u64::to_le_bytes).concat().try_into().unwrap();
            let decoded = Record::decode(&header, (words[0] >> 32 & PAYLOAD_LIMIT) as usize);
            let kind = Some(words[0] as u8).filter(|kind| (1..=17).contains(kind));
            prop_assert_eq!(decoded.map(|record| record.kind as u8), kind);
        }
    }
}

//! What is asked of a rank's memory, and how it stands in a message.
//!
//! A message of one small operation has all of it in its descriptor; any other one has operations one behind
//! the other as its payload, each a multiple of eight bytes long:
//!
//! ```text
//!  descriptor    tag: act:8 op:8 element:8 unbounded:1 | source: reply | signature: door | payload: address, then data, or how many bytes
//!                of a Pull: address, address at the origin, how many bytes
//!  payload       act:8 op:8 element:8 unbounded:8 reply:32 | pieces:32 data bytes:32 | of each piece: address:64 bytes:64 | data, padded
//! ```
//!
//! An operation that is answered is alone in its message: so a message can be carried out when there is room
//! for the answer, and nothing of it before.
//!
//! Of a long block ([`LONG_BYTES`]) the message says only where it is. It moves as a message between ranks
//! does ([`crate::global`]), from memory to memory: of a get, the answer is a send whose bytes are in the
//! target's memory; of a put (*Pull*), the target's node takes the bytes from where they are, and says when
//! they are in place.

use crate::arithmetic::{ElementType, ReduceOp};
use crate::memory::door::Mode;
use crate::memory::{CommRank, Context, Rank};

/// Tags of answers begin here: smaller ones are those of messages by which members of a window synchronise.
pub const REPLIES_FROM: i32 = 16;

/// A block of more bytes is long: it does not travel with what asks for it.
pub const LONG_BYTES: u64 = 32 << 10;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Act {
    /// Data goes to the target.
    Put = 1,
    /// Data is combined with what is there.
    Accumulate = 2,
    /// What is there is answered.
    Get = 3,
    /// What is there is answered, and combined with data.
    GetAccumulate = 4,
    /// What is there is answered, and replaced by the second half of the data if it is the first.
    CompareAndSwap = 5,
    /// Enters the door, or waits there.
    Lock = 6,
    /// Leaves the door, or has left it and lets others in.
    Unlock = 7,
    /// Nothing: what was asked before is done when this is.
    Nothing = 8,
    /// Of a node to an origin: it has entered.
    Entered = 9,
    /// A long block goes to the target, which takes it out of the origin's memory.
    Pull = 10,
}

impl Act {
    const ALL: [Self; 10] = [
        Act::Put,
        Act::Accumulate,
        Act::Get,
        Act::GetAccumulate,
        Act::CompareAndSwap,
        Act::Lock,
        Act::Unlock,
        Act::Nothing,
        Act::Entered,
        Act::Pull,
    ];

    fn numbered(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|act| *act as u8 == number)
    }

    /// Whether it is answered with bytes.
    pub const fn is_answered(self) -> bool {
        matches!(self, Act::Get | Act::GetAccumulate | Act::CompareAndSwap)
    }
}

/// Bytes in the target's memory that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The address of the first.
    pub address: u64,
    /// How many.
    pub bytes: u64,
}

/// An operation on memory, but for the data and the pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is done.
    pub act: Act,
    /// How data is combined.
    pub op: ReduceOp,
    /// The elements.
    pub element: ElementType,
    /// Addresses may be none: those of a dynamic window, whose bounds the origin does not know.
    pub is_unbounded: bool,
    /// The tag of the answer.
    pub reply: u32,
}

impl Request {
    /// One that combines nothing, and is not answered.
    pub const fn of(act: Act) -> Self {
        Self { act, op: ReduceOp::Replace, element: ElementType::Byte, is_unbounded: false, reply: 0 }
    }
}

/// An operation as it stands in a payload.
#[derive(Debug)]
pub struct Operation<'a> {
    /// What is asked.
    pub request: Request,
    pieces: &'a [u8],
    /// The data.
    pub data: &'a [u8],
}

const HEADER: usize = 16;
const PIECE: usize = 16;

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

impl<'a> Operation<'a> {
    /// Bytes of an operation in a payload.
    pub const fn length(pieces: usize, data_bytes: usize) -> usize {
        HEADER + pieces * PIECE + data_bytes.next_multiple_of(8)
    }

    /// Appends an operation to a payload.
    pub fn append(request: Request, pieces: &[Piece], data: &[&[u8]], to: &mut Vec<u8>) {
        let bytes: usize = data.iter().map(|part| part.len()).sum();
        let Request { act, op, element, is_unbounded, reply } = request;
        to.extend_from_slice(&[act as u8, op as u8, element as u8, is_unbounded.into()]);
        to.extend_from_slice(&reply.to_le_bytes());
        to.extend_from_slice(&(pieces.len() as u32).to_le_bytes());
        to.extend_from_slice(&(bytes as u32).to_le_bytes());
        for piece in pieces {
            to.extend_from_slice(&piece.address.to_le_bytes());
            to.extend_from_slice(&piece.bytes.to_le_bytes());
        }
        data.iter().for_each(|part| to.extend_from_slice(part));
        to.resize(to.len().next_multiple_of(8), 0);
    }

    /// Takes the first operation off a payload; none when these are no operations.
    pub fn take(payload: &mut &'a [u8]) -> Option<Self> {
        let all = *payload;
        let (header, rest) = all.split_at_checked(HEADER)?;
        let act = Act::numbered(header[0])?;
        let (op, element) = (ReduceOp::numbered(header[1])?, ElementType::numbered(header[2])?);
        let second = word(header, 8);
        let (pieces, data_bytes) = ((second as u32) as usize, (second >> 32) as usize);
        let (pieces, rest) = rest.split_at_checked(pieces.checked_mul(PIECE)?)?;
        let (data, rest) = rest.split_at_checked(data_bytes.next_multiple_of(8))?;
        *payload = rest;
        let (is_unbounded, reply) = (header[3] != 0, (word(header, 0) >> 32) as u32);
        let request = Request { act, op, element, is_unbounded, reply };
        Some(Self { request, pieces, data: &data[..data_bytes] })
    }

    /// Where it works.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + Clone + use<'a> {
        self.pieces.chunks_exact(PIECE).map(|piece| Piece { address: word(piece, 0), bytes: word(piece, 8) })
    }

    /// Bytes of all pieces; none when they are too many to be.
    pub fn bytes(&self) -> Option<u64> {
        self.pieces().try_fold(0u64, |sum, piece| sum.checked_add(piece.bytes))
    }
}

/// A message that asks for something: what its descriptor says.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The context of the window's communicator.
    pub context: Context,
    /// The target's rank in the job.
    pub target: Rank,
    /// The target's door.
    pub door: u16,
    /// What is asked; none when the payload says so.
    pub asked: Option<Request>,
    /// How the door is entered, or left; none where it has been left.
    pub mode: Option<Mode>,
}

impl Message {
    /// Tag and source of its descriptor.
    pub fn words(&self) -> (i32, CommRank) {
        let Some(Request { act, op, element, is_unbounded, reply }) = self.asked else {
            return (0, CommRank(0));
        };
        let op = match act {
            Act::Lock | Act::Unlock => self.mode.map_or(0, |mode| mode as u8),
            _ => op as u8,
        };
        (i32::from_le_bytes([act as u8, op, element as u8, is_unbounded.into()]), CommRank(reply))
    }

    /// What the tag and the source of a descriptor ask for; none in it when the payload says so.
    pub(crate) fn asked_in(tag: i32, source: CommRank) -> Option<Option<(Request, Option<Mode>)>> {
        if tag == 0 {
            return Some(None);
        }
        let [act, op, element, unbounded] = tag.to_le_bytes();
        let act = Act::numbered(act)?;
        let is_lock = matches!(act, Act::Lock | Act::Unlock);
        let (mode, op) = if is_lock { (Mode::of(op), 0) } else { (None, op) };
        let (op, element) = (ReduceOp::numbered(op)?, ElementType::numbered(element)?);
        let is_unbounded = unbounded != 0;
        Some(Some((Request { act, op, element, is_unbounded, reply: source.0 }, mode)))
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// It is carried out: its sender is done with it.
    Done,
    /// Its sender waits, and is told later.
    Waits,
    /// There is no room for the answer: nothing has happened.
    NoRoom,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request() -> impl Strategy<Value = Request> {
        (1u8..=10, 0..ReduceOp::ALL.len(), 0..ElementType::ALL.len(), any::<(bool, u32)>()).prop_map(
            |(act, op, element, (is_unbounded, reply))| Request {
                act: Act::numbered(act).unwrap(),
                op: ReduceOp::ALL[op],
                element: ElementType::ALL[element],
                is_unbounded,
                reply,
            },
        )
    }

    proptest! {
        #[test]
        fn operations_survive_a_payload(
            all in proptest::collection::vec(
                (request(), proptest::collection::vec(any::<(u64, u32)>(), 0..5), proptest::collection::vec(any::<u8>(), 0..40)), 0..6)
        ) {
            let mut payload = Vec::new();
            for (request, pieces, data) in &all {
                let pieces: Vec<_> = pieces.iter().map(|&(address, bytes)| Piece { address, bytes: bytes.into() }).collect();
                let before = payload.len();
                Operation::append(*request, &pieces, &[&data[..data.len() / 2], &data[data.len() / 2..]], &mut payload);
                prop_assert_eq!(payload.len() - before, Operation::length(pieces.len(), data.len()));
            }
            let mut rest = payload.as_slice();
            for (request, pieces, data) in &all {
                let operation = Operation::take(&mut rest).unwrap();
                prop_assert_eq!(operation.request, *request);
                prop_assert_eq!(operation.data, data.as_slice());
                let found: Vec<_> = operation.pieces().map(|piece| (piece.address, piece.bytes as u32)).collect();
                prop_assert_eq!(&found, pieces);
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_are_an_answer_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100), tag: i32) {
            let mut rest = bytes.as_slice();
            while let Some(operation) = Operation::take(&mut rest) {
                let _ = operation.bytes();
                let _ = operation.pieces().count();
            }
            let _ = Message::asked_in(tag, CommRank(3));
        }

        #[test]
        fn a_message_says_what_it_asks(request in request(), mode in 0u8..=2) {
            let mode = Mode::of(mode).filter(|_| matches!(request.act, Act::Lock | Act::Unlock));
            let request = match request.act {
                Act::Lock | Act::Unlock => Request { op: ReduceOp::ALL[0], ..request },
                _ => request,
            };
            let message = Message { context: Context(4), target: Rank(1), door: 3, asked: Some(request), mode };
            let (tag, source) = message.words();
            prop_assert!(tag > 0, "as tags of messages are");
            prop_assert_eq!(Message::asked_in(tag, source), Some(Some((request, mode))));
        }
    }
}

//! Descriptors: what a rank posts to its NIC, one ring cell (64 bytes) each (paper, §3.1 and §4.3).
//!
//! How they stand in words, and how a word of one is read, `words` says.

mod words;

pub(crate) use words::{
    KIND, ReceiveWords, forget_request, is_of_same_collective, is_receive, number, number_of, set_context,
};
pub use words::{SendWords, encode_in_slabs, encode_inline, is_send, keep_in_pool, origin_of};

use crate::memory::contexts::Context;
use crate::memory::numbers::{CommRank, RequestId, SlabId};
use crate::memory::root::SidedRank;
use bcs_core::Rank;
use std::fmt;

/// Bytes that ride in the descriptor itself.
pub const INLINE_BYTES: usize = 24;

/// Bytes of a message are fewer: their number shares a word with the message's signature. No address space
/// holds as many.
pub const MESSAGE_LIMIT: u64 = 1 << LENGTH_BITS;
const LENGTH_BITS: u32 = 48;

/// A message's length as a descriptor and a request slot have it, in one word: its bytes, and above them its
/// signature.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Length(u64);

impl Length {
    /// Of a message of so many bytes, below [`MESSAGE_LIMIT`], with this signature.
    #[inline(always)]
    pub const fn new(bytes: u64, signature: u16) -> Self {
        Self(bytes | (signature as u64) << LENGTH_BITS)
    }

    /// What [`Self::word`] answered.
    #[inline(always)]
    pub(crate) const fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// The word.
    #[inline(always)]
    pub const fn word(self) -> u64 {
        self.0
    }

    /// Bytes of the message.
    #[inline(always)]
    pub const fn bytes(self) -> u64 {
        self.0 & (MESSAGE_LIMIT - 1)
    }

    /// What the sender's library told of the message's type; 0 for nothing.
    #[inline(always)]
    pub const fn signature(self) -> u16 {
        (self.0 >> LENGTH_BITS) as u16
    }

    /// False when the message fits in this room and has no signature: one comparison for both, as a signature
    /// makes the word larger than any room that memory has.
    #[inline(always)]
    pub const fn is_to_be_looked_at(self, room: u64) -> bool {
        self.0 > room
    }
}

impl fmt::Debug for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, signature {:#x}", self.bytes(), self.signature())
    }
}

/// Wildcard tag of a receive (`MPI_ANY_TAG`). Tags of messages are never negative.
pub const ANY_TAG: i32 = i32::MIN;

/// What a message or a receive is matched by ([`crate::matching`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Context of the communicator.
    pub context: Context,
    /// The sender's rank in the communicator; for a receive perhaps [`CommRank::ANY_SOURCE`].
    pub source: CommRank,
    /// The tag; for a receive perhaps [`ANY_TAG`].
    pub tag: i32,
}

/// Where the bytes of a send or of a contribution are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// In the descriptor.
    Inline([u8; INLINE_BYTES]),
    /// In a slab of the poster, by its number.
    Slab(SlabId),
    /// In the poster's memory, at this address.
    Memory(u64),
    /// In this block of the receiver's pool ([`crate::memory::unexpected`]): of messages that came before
    /// their receives.
    Pooled(u64),
}

/// What both ends of a message have to say alike, where it is a collective's: then its length, too, is all
/// that the receiver has room for (MPI-5.0, §8.6). The messages of programs are not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// The call that the program made, as `mds::Primitive` numbers it, plus one; 0 where nothing is checked.
    pub call: u8,
    /// The type signature (`bcs-mpi`, `datatype::signature`); 0 matches any other.
    pub signature: u16,
}

impl Check {
    /// Nothing is checked.
    pub const NONE: Self = Self { call: 0, signature: 0 };

    /// Of a message of this call.
    #[inline]
    pub fn of(call: mds::Primitive, signature: u16) -> Self {
        const { assert!(mds::Primitive::COUNT < u8::MAX as usize) };
        Self { call: call.index() as u8 + 1, signature }
    }

    /// Whether a receive of this may take a message of that.
    #[inline]
    pub fn fits(self, other: Self) -> bool {
        self.call == other.call
            && (self.signature == other.signature || self.signature == 0 || other.signature == 0)
    }
}

/// A send descriptor: posted to the Buffer Sender, delivered by it to the destination's Buffer Receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendDescriptor {
    /// Context of the communicator.
    pub context: Context,
    /// The sender's rank in the communicator: what the receiver matches on and finds in its status.
    pub source: CommRank,
    /// The message's tag, not negative.
    pub tag: i32,
    /// Length of the message, below [`MESSAGE_LIMIT`].
    pub bytes: u64,
    /// What the sender's library tells the receiver's of the message's type; 0 where it tells nothing. The
    /// NIC carries it.
    pub signature: u16,
    /// The receiver's rank in the job.
    pub destination: Rank,
    /// The poster's request slot, or [`RequestId::NONE`].
    pub request: RequestId,
    /// True when the request completes only once the message is matched (`MPI_Ssend`).
    pub synchronous: bool,
    /// What the receiver has to say alike.
    pub check: Check,
    /// The bytes, or where they are.
    pub payload: Payload,
}

impl SendDescriptor {
    /// Its length with its signature.
    #[inline]
    pub const fn length(&self) -> Length {
        Length::new(self.bytes, self.signature)
    }

    /// What its receive is told of it: source, tag, and the word of the length.
    #[inline]
    pub const fn status(&self) -> (CommRank, i32, u64) {
        (self.source, self.tag, self.length().word())
    }
}

/// A receive descriptor: posted to the Buffer Receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveDescriptor {
    /// Context of the communicator.
    pub context: Context,
    /// The sender's rank in the communicator, or [`CommRank::ANY_SOURCE`].
    pub source: CommRank,
    /// The tag, or [`ANY_TAG`].
    pub tag: i32,
    /// Room at `address`; a longer message is truncated and reported.
    pub capacity: u64,
    /// What the sender has to say alike.
    pub check: Check,
    /// The poster's request slot.
    pub request: RequestId,
    /// Where the message goes in the poster's memory.
    pub address: u64,
}

/// What stands in a send or a receive ring: a descriptor, or the wish to take one back (`MPI_Cancel`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointToPoint {
    /// A send.
    Send(SendDescriptor),
    /// A receive.
    Receive(ReceiveDescriptor),
    /// In a send ring: what is asked of a rank's memory or of its door, as [`crate::one_sided`] says. It has
    /// the words of a send.
    Operate(SendDescriptor),
    /// Take back the descriptor with this request, if it has not been matched; `destination` is that of the
    /// send.
    Cancel {
        /// The request to cancel.
        request: RequestId,
        /// For a send: whose unexpected queue it may be in.
        destination: Rank,
    },
    /// In a send ring: all granted bytes of this transfer are claimed; schedule more.
    Continue {
        /// The transfer.
        transfer: u32,
    },
}

/// What a collective does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CollectiveKind {
    /// Everybody waits for everybody.
    Barrier = 1,
    /// The root's bytes go to all.
    Broadcast = 2,
    /// The combination of all contributions goes to the root.
    Reduce = 3,
    /// The combination of all contributions goes to all.
    Allreduce = 4,
    /// Every contribution is put up for all to read: the board that scatter, gather, allgather and alltoall
    /// use.
    Board = 5,
    /// Members say what they have called, which goes by messages: nobody gives anything or waits.
    Announcement = 6,
}

impl CollectiveKind {
    fn from_wire(kind: u8) -> Option<Self> {
        use CollectiveKind::*;
        [Barrier, Broadcast, Reduce, Allreduce, Board, Announcement].into_iter().find(|k| *k as u8 == kind)
    }
}

/// A collective descriptor: one member's arrival at a collective operation (paper, §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveDescriptor {
    /// What it does.
    pub kind: CollectiveKind,
    /// Operation of a reduction, as `arith::ReduceOp` numbers it; in a board, about which members only have
    /// to agree, with [`OF_REDUCTION`]. Where nothing is combined, the low byte of the type signature
    /// (`bcs-mpi`, `datatype::signature`): 0 and 0 where any other matches.
    pub op: u8,
    /// Element type of a reduction, as `arith::ElementType` numbers it, or the high byte of the type
    /// signature.
    pub element: u8,
    /// Context of the communicator.
    pub context: Context,
    /// The poster's rank in the communicator.
    pub comm_rank: SidedRank,
    /// Ranks in the communicator: of both groups, where there are two.
    pub comm_size: u32,
    /// Bytes of this member's contribution.
    pub bytes: u64,
    /// What all members have to agree on, below `AGREED_LIMIT`: the bytes of a vector or a message, of all
    /// its slabs together, and for a board the most that any member contributes.
    pub agreed_bytes: u64,
    /// The call that the program made, as `mds::Primitive` numbers it: all members have to make the same.
    pub call: u8,
    /// The root; of a reduce-scatter, a hash of the numbers of elements that members get; 0 where there is
    /// neither.
    pub root: SidedRank,
    /// The poster's request slot.
    pub request: RequestId,
    /// The contribution.
    pub payload: Payload,
    /// Which collective of this communicator: all members count alike.
    pub sequence: u32,
    /// Position of the poster among the communicator's members on this node, in rank order.
    pub position: u16,
    /// Members of the communicator on this node.
    pub local_size: u16,
}

/// Above what [`CollectiveDescriptor::agreed_bytes`] may be: it shares a word with the length of what rides
/// in the descriptor.
pub const AGREED_LIMIT: u64 = 1 << 56;

/// In the operation of a board: that of a reduction, for which the members are there.
pub const OF_REDUCTION: u8 = 0x80;
/// In the operation of a board: one of the program's own.
pub const OF_PROGRAM: u8 = 0xff;

/// In the operation of a board or a broadcast: what the library itself makes members agree on, as the context
/// of a new communicator. The element type's place is 0, or 1 for the algorithms that a member wants, whose
/// hash is in the place of the bytes. No type signature has this byte below one without [`OF_REDUCTION`].
pub const OF_LIBRARY: u8 = 0x7f;

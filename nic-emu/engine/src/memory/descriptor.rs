//! Descriptors: what a rank posts to its NIC, one ring cell (64 bytes) each (paper, §3.1 and §4.3).
//!
//! ```text
//!  word   send                             receive                     collective
//!   0     kind:8 mode:8 place:8 call:8     kind:8 – call:8              kind:8 op:8 element:8 flags:8
//!         | context:32                     | context:32                | context:32
//!   1     source:32 | tag:32               source:32 | tag:32          comm rank:32 | comm size:32
//!   2     bytes:48 | signature:16          capacity:48 | signature:16  bytes
//!   3     destination:32 | request:32      – | request:32              root:32 | request:32
//!   4     payload, address, slab / block   address                     payload, or address / slab
//!   5     payload                          –                           payload
//!   6     payload                          –                           payload
//!   7     (links, once queued)             (links, once queued)        sequence:32 | position:16 | local size:16
//! ```
//!
//! The words are read by other processes, so nothing in them is trusted: every index is checked where it is
//! used, and an unknown kind is an error, not a guess.

use crate::memory::contexts::Context;
use crate::memory::numbers::{CommRank, RequestId, SlabId};
use crate::memory::ring::{CELL_WORDS, Cell};
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
    pub const fn from_word(word: u64) -> Self {
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

// How the payload words are to be read; in the flags byte of sends and collectives.
const INLINE: u8 = 0;
const SLAB: u8 = 1;
const MEMORY: u8 = 2;
const POOLED: u8 = 3;

impl Payload {
    #[inline]
    fn encode(&self) -> (u8, [u64; 3]) {
        match self {
            Payload::Inline(bytes) => {
                let (words, _) = bytes.as_chunks();
                (INLINE, std::array::from_fn(|i| u64::from_ne_bytes(words[i])))
            }
            Payload::Slab(slab) => (SLAB, [slab.0.into(), 0, 0]),
            Payload::Memory(address) => (MEMORY, [*address, 0, 0]),
            Payload::Pooled(block) => (POOLED, [*block, 0, 0]),
        }
    }

    #[inline]
    fn decode(place: u8, words: [u64; 3]) -> Option<Self> {
        match place {
            INLINE => {
                let mut bytes = [0; INLINE_BYTES];
                bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_ne_bytes());
                Some(Payload::Inline(bytes))
            }
            SLAB => Some(Payload::Slab(SlabId(words[0] as u32))),
            MEMORY => Some(Payload::Memory(words[0])),
            POOLED => Some(Payload::Pooled(words[0])),
            _ => None,
        }
    }
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

/// A word of a length and a check: a message that is checked has the check's signature in place of its own.
#[inline]
const fn measured(length: Length, check: Check) -> u64 {
    match check.call {
        0 => length.word(),
        _ => Length::new(length.bytes(), check.signature).word(),
    }
}

#[inline]
const fn check_of(words: &[u64; CELL_WORDS]) -> Check {
    match (low(words[0]) >> 24) as u8 {
        0 => Check::NONE,
        call => Check { call, signature: Length::from_word(words[2]).signature() },
    }
}

#[inline]
const fn signature_of(words: &[u64; CELL_WORDS]) -> u16 {
    match (low(words[0]) >> 24) as u8 {
        0 => Length::from_word(words[2]).signature(),
        _ => 0,
    }
}

/// The first word of a payload that rides in a send descriptor.
pub const PAYLOAD: usize = 4;

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
}

impl CollectiveKind {
    fn from_wire(kind: u8) -> Option<Self> {
        [Self::Barrier, Self::Broadcast, Self::Reduce, Self::Allreduce, Self::Board]
            .into_iter()
            .find(|k| *k as u8 == kind)
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
    /// The poster's rank in the communicator; in an intercommunicator with its group
    /// ([`crate::memory::root`]).
    pub comm_rank: u32,
    /// Ranks in the communicator: of both groups, where there are two.
    pub comm_size: u32,
    /// Bytes of this member's contribution.
    pub bytes: u64,
    /// What all members have to agree on, below `AGREED_LIMIT`: the bytes of a vector or a message, of all
    /// its slabs together, and for a board the most that any member contributes.
    pub agreed_bytes: u64,
    /// The call that the program made, as `mds::Primitive` numbers it: all members have to make the same.
    pub call: u8,
    /// The root ([`crate::memory::root`]); of a reduce-scatter, a hash of the numbers of elements that
    /// members get; 0 where there is neither.
    pub root: u32,
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

const SEND: u8 = 1;
const RECEIVE: u8 = 2;
const CANCEL: u8 = 3;
const CONTINUE: u8 = 4;

#[inline]
const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

#[inline]
const fn low(word: u64) -> u32 {
    word as u32
}

#[inline]
const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

/// True when a cell's words are a send: the only question that the fast path asks before it matches.
#[inline]
pub const fn is_send(words: &[u64; CELL_WORDS]) -> bool {
    words[0] as u8 == SEND
}

/// True when a cell's words are a receive.
#[inline]
pub(crate) const fn is_receive(words: &[u64; CELL_WORDS]) -> bool {
    words[0] as u8 == RECEIVE
}

/// True when two collective descriptors are arrivals at the same collective, and say the same of it: what it
/// is, its root, sequence number and local members, and its bytes.
#[inline]
pub(crate) const fn is_of_same_collective(a: &[u64; CELL_WORDS], b: &[u64; CELL_WORDS]) -> bool {
    a[0] == b[0]
        && a[1] >> 32 == b[1] >> 32
        && a[2] == b[2]
        && low(a[3]) == low(b[3])
        && low(a[7]) == low(b[7])
        && a[7] >> 48 == b[7] >> 48
}

/// True for a send whose bytes ride in it and whose sender waits for nothing: matching it is all there is to
/// do.
#[inline]
pub const fn is_buffered_inline(words: &[u64; CELL_WORDS]) -> bool {
    words[0] as u32 == SEND as u32 | (INLINE as u32) << 16 && high(words[3]) == RequestId::NONE.0
}

/// True for a send whose bytes are in the sender's memory.
#[inline]
pub(crate) const fn is_in_memory(words: &[u64; CELL_WORDS]) -> bool {
    (words[0] >> 16) as u8 == MEMORY
}

/// The number that a node gives a message from another one whose bytes it has not got ([`number`]); 0 for
/// none.
pub(crate) fn number_of(words: &[u64; CELL_WORDS]) -> u64 {
    match (low(words[0]) >> 16) as u8 {
        INLINE => 0,
        _ => words[6],
    }
}

/// Numbers a queued message: a word of its payload that means nothing where the bytes are elsewhere.
pub(crate) fn number(cell: &Cell, number: u64) {
    cell.set_word(6, number);
}

/// Says in the cell of a send that its sender is told of its completion by other means.
pub(crate) fn forget_request(cell: &Cell) {
    cell.set_word(3, pair(low(cell.word(3)), RequestId::NONE.0));
}

/// Says in the cell of a send that its bytes are in this block of its receiver's pool from now on; `complete`
/// if nobody waits for it any more.
pub fn keep_in_pool(cell: &Cell, block: u64, complete: bool) {
    cell.set_word(0, cell.word(0) & !(0xff << 16) | (POOLED as u64) << 16);
    if complete {
        forget_request(cell);
    }
    for (word, value) in [(4, block), (5, 0), (6, 0)] {
        cell.set_word(word, value);
    }
}

impl SendDescriptor {
    /// Its length with its signature.
    #[inline]
    pub const fn length(&self) -> Length {
        Length::new(self.bytes, self.signature)
    }

    /// The descriptor as a ring cell's words.
    #[inline]
    pub fn encode(&self) -> [u64; CELL_WORDS] {
        let (place, payload) = self.payload.encode();
        let call = (self.check.call as u32) << 24;
        let meta = SEND as u32 | (self.synchronous as u32) << 8 | (place as u32) << 16 | call;
        [
            pair(meta, self.context.0),
            pair(self.source.0, self.tag as u32),
            measured(self.length(), self.check),
            pair(self.destination.0, self.request.0),
            payload[0],
            payload[1],
            payload[2],
            0,
        ]
    }
}

/// The words of a send whose message rides in the descriptor and that is complete when it is posted: what
/// [`SendDescriptor::encode`] gives for it, without the bytes taking a way through memory. `peers` are source
/// and destination.
#[inline(always)]
pub fn encode_inline(
    context: Context,
    peers: (CommRank, Rank),
    tag: i32,
    length: Length,
    payload: [u64; INLINE_BYTES / 8],
) -> [u64; CELL_WORDS] {
    const { assert!(INLINE == 0) };
    [
        pair(SEND as u32, context.0),
        pair(peers.0.0, tag as u32),
        length.word(),
        pair(peers.1.0, RequestId::NONE.0),
        payload[0],
        payload[1],
        payload[2],
        0,
    ]
}

impl ReceiveDescriptor {
    /// The descriptor as a ring cell's words.
    #[inline]
    pub fn encode(&self) -> [u64; CELL_WORDS] {
        [
            pair(RECEIVE as u32 | (self.check.call as u32) << 24, self.context.0),
            pair(self.source.0, self.tag as u32),
            measured(Length::new(self.capacity, 0), self.check),
            pair(0, self.request.0),
            self.address,
            0,
            0,
            0,
        ]
    }
}

impl PointToPoint {
    /// The entry as a ring cell's words.
    #[inline]
    pub fn encode(&self) -> [u64; CELL_WORDS] {
        match self {
            PointToPoint::Send(send) => send.encode(),
            PointToPoint::Receive(receive) => receive.encode(),
            PointToPoint::Cancel { request, destination } => {
                [CANCEL as u64, 0, 0, pair(destination.0, request.0), 0, 0, 0, 0]
            }
            PointToPoint::Continue { transfer } => [CONTINUE as u64, 0, 0, pair(*transfer, 0), 0, 0, 0, 0],
        }
    }

    /// Reads a ring cell's words; none when they are no entry of a point-to-point ring.
    #[inline]
    pub fn decode(words: &[u64; CELL_WORDS]) -> Option<Self> {
        let meta = low(words[0]);
        match meta as u8 {
            SEND => Some(PointToPoint::Send(SendDescriptor {
                context: Context(high(words[0])),
                source: CommRank(low(words[1])),
                tag: high(words[1]) as i32,
                bytes: Length::from_word(words[2]).bytes(),
                signature: signature_of(words),
                destination: Rank(low(words[3])),
                request: RequestId(high(words[3])),
                synchronous: (meta >> 8) as u8 != 0,
                check: check_of(words),
                payload: Payload::decode((meta >> 16) as u8, [words[4], words[5], words[6]])?,
            })),
            RECEIVE => Some(PointToPoint::Receive(ReceiveDescriptor {
                context: Context(high(words[0])),
                source: CommRank(low(words[1])),
                tag: high(words[1]) as i32,
                capacity: Length::from_word(words[2]).bytes(),
                check: check_of(words),
                request: RequestId(high(words[3])),
                address: words[4],
            })),
            CANCEL => Some(PointToPoint::Cancel {
                request: RequestId(high(words[3])),
                destination: Rank(low(words[3])),
            }),
            CONTINUE => Some(PointToPoint::Continue { transfer: low(words[3]) }),
            _ => None,
        }
    }
}

impl CollectiveDescriptor {
    /// What one of two members posts in a barrier: for tests.
    #[cfg(test)]
    pub(crate) fn of_two(context: Context, comm_rank: u32, local_size: u16, sequence: u32) -> Self {
        Self {
            kind: CollectiveKind::Barrier,
            op: 0,
            element: 0,
            context,
            comm_rank,
            comm_size: 2,
            bytes: 0,
            agreed_bytes: 0,
            call: 0,
            root: 0,
            request: RequestId::NONE,
            payload: Payload::Inline([0; INLINE_BYTES]),
            sequence,
            position: 0,
            local_size,
        }
    }

    /// The descriptor as a ring cell's words.
    #[inline]
    pub fn encode(&self) -> [u64; CELL_WORDS] {
        let (place, mut payload) = self.payload.encode();
        let mut bytes = self.bytes;
        match self.payload {
            Payload::Inline(_) => bytes |= self.agreed_bytes << 8,
            Payload::Slab(_) | Payload::Memory(_) | Payload::Pooled(_) => payload[2] = self.agreed_bytes,
        }
        let meta = self.kind as u32
            | (place as u32) << 4
            | (self.op as u32) << 8
            | (self.element as u32) << 16
            | (self.call as u32) << 24;
        [
            pair(meta, self.context.0),
            pair(self.comm_rank, self.comm_size),
            bytes,
            pair(self.root, self.request.0),
            payload[0],
            payload[1],
            payload[2],
            pair(self.sequence, self.position as u32 | (self.local_size as u32) << 16),
        ]
    }

    /// Reads a ring cell's words; none when they are no collective descriptor.
    #[inline]
    pub fn decode(words: &[u64; CELL_WORDS]) -> Option<Self> {
        let meta = low(words[0]);
        let kind = CollectiveKind::from_wire(meta as u8 & 0xf)?;
        let payload = Payload::decode((meta >> 4) as u8 & 0xf, [words[4], words[5], words[6]])?;
        let (bytes, agreed_bytes) = match &payload {
            Payload::Inline(_) => (words[2] & 0xff, words[2] >> 8),
            Payload::Slab(_) | Payload::Memory(_) | Payload::Pooled(_) => (words[2], words[6]),
        };
        Some(CollectiveDescriptor {
            kind,
            call: (meta >> 24) as u8,
            op: (meta >> 8) as u8,
            element: (meta >> 16) as u8,
            context: Context(high(words[0])),
            comm_rank: low(words[1]),
            comm_size: high(words[1]),
            bytes,
            agreed_bytes,
            root: low(words[3]),
            request: RequestId(high(words[3])),
            payload,
            sequence: low(words[7]),
            position: high(words[7]) as u16,
            local_size: (high(words[7]) >> 16) as u16,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn payload() -> impl Strategy<Value = Payload> {
        prop_oneof![
            any::<[u8; INLINE_BYTES]>().prop_map(Payload::Inline),
            any::<u32>().prop_map(|slab| Payload::Slab(SlabId(slab))),
            any::<u64>().prop_map(Payload::Memory),
            any::<u64>().prop_map(Payload::Pooled)
        ]
    }

    fn source() -> impl Strategy<Value = CommRank> {
        any::<u32>().prop_map(CommRank)
    }

    fn context() -> impl Strategy<Value = Context> {
        any::<u32>().prop_map(Context)
    }

    fn rank() -> impl Strategy<Value = Rank> {
        any::<u32>().prop_map(Rank)
    }

    fn request() -> impl Strategy<Value = RequestId> {
        any::<u32>().prop_map(RequestId)
    }

    /// A message's own signature, or what is checked.
    fn said() -> impl Strategy<Value = (u16, Check)> {
        any::<(u8, u16)>().prop_map(|(call, signature)| match call {
            0 => (signature, Check::NONE),
            call => (0, Check { call, signature }),
        })
    }

    proptest! {
        #[test]
        fn a_send_survives_its_cell(context in context(), source in source(), tag: i32, bytes in 0..MESSAGE_LIMIT, (signature, check) in said(), destination in rank(), request in request(), synchronous: bool, payload in payload()) {
            let send = SendDescriptor { context, source, tag, bytes, signature, destination, request, synchronous, check, payload };
            prop_assert_eq!(PointToPoint::decode(&send.encode()), Some(PointToPoint::Send(send)));
        }

        #[test]
        fn the_short_way_of_a_buffered_send_has_the_same_words(context in context(), source in source(), tag: i32, (bytes, signature) in (0u64..=INLINE_BYTES as u64, any::<u16>()), destination in rank(), words: [u64; 3]) {
            let mut payload = [0; INLINE_BYTES];
            payload.chunks_exact_mut(8).zip(words).for_each(|(chunk, word)| chunk.copy_from_slice(&word.to_ne_bytes()));
            let payload = Payload::Inline(payload);
            let send = SendDescriptor { context, source, tag, bytes, signature, destination, request: RequestId::NONE, synchronous: false, check: Check::NONE, payload };
            prop_assert_eq!(encode_inline(context, (source, destination), tag, Length::new(bytes, signature), words), send.encode());
        }

        #[test]
        fn a_receive_survives_its_cell(context in context(), source in source(), tag: i32, capacity in 0..MESSAGE_LIMIT, (_, check) in said(), request in request(), address: u64) {
            let receive = ReceiveDescriptor { context, source, tag, capacity, check, request, address };
            prop_assert_eq!(PointToPoint::decode(&receive.encode()), Some(PointToPoint::Receive(receive)));
        }

        #[test]
        fn a_collective_survives_its_cell(kind in 1u8..=5, (call, op, element) in any::<(u8, u8, u8)>(), numbers: [u32; 4], context in context(), request in request(), mut bytes in any::<u64>(), agreed in 0..AGREED_LIMIT, local: (u16, u16), payload in payload()) {
            let [comm_rank, comm_size, root, sequence] = numbers;
            let kind = CollectiveKind::from_wire(kind).unwrap();
            if matches!(payload, Payload::Inline(_)) {
                bytes %= INLINE_BYTES as u64 + 1;
            }
            let descriptor = CollectiveDescriptor { kind, call, agreed_bytes: agreed, op, element, context, comm_rank, comm_size, bytes, root, request, payload, sequence, position: local.0, local_size: local.1 };
            prop_assert_eq!(CollectiveDescriptor::decode(&descriptor.encode()), Some(descriptor));
        }

        #[test]
        fn any_words_decode_to_an_answer_and_never_to_a_panic(words: [u64; 8]) {
            let _ = PointToPoint::decode(&words);
            let _ = CollectiveDescriptor::decode(&words);
        }
    }
}

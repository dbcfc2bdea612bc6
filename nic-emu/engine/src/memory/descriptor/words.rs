//! Descriptors as words: the only file that knows which word holds what.
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
//! A send in a queue has its sender's rank in the job in place of its destination, and a receive that waits
//! for a global slice the local rank that has posted it. Who needs a word or two reads them through a view:
//! [`Envelope`], [`SendWords`], [`ReceiveWords`].
//!
//! The words are read by other processes, so nothing in them is trusted: every index is checked where it is
//! used, and an unknown kind is an error, not a guess.

use super::{
    Check, CollectiveDescriptor, CollectiveKind, Envelope, INLINE_BYTES, Length, Payload, PointToPoint,
    ReceiveDescriptor, SendDescriptor,
};
use crate::memory::ring::{Cell, Words};
use crate::memory::root::SidedRank;
use crate::memory::{CommRank, Context, Corrupt, LocalRank, Rank, RequestId, SlabId};

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

/// A word of a length and a check: a message that is checked has the check's signature in place of its own.
#[inline]
const fn measured(length: Length, check: Check) -> u64 {
    match check.call {
        0 => length.word(),
        _ => Length::new(length.bytes(), check.signature).word(),
    }
}

#[inline]
const fn check_of(words: &Words) -> Check {
    match (low(words[0]) >> 24) as u8 {
        0 => Check::NONE,
        call => Check { call, signature: Length::from_word(words[2]).signature() },
    }
}

#[inline]
const fn signature_of(words: &Words) -> u16 {
    match (low(words[0]) >> 24) as u8 {
        0 => Length::from_word(words[2]).signature(),
        _ => 0,
    }
}

const SEND: u8 = 1;
const RECEIVE: u8 = 2;
const CANCEL: u8 = 3;
const CONTINUE: u8 = 4;
const OPERATE: u8 = 5;

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
pub const fn is_send(words: &Words) -> bool {
    words[0] as u8 == SEND
}

/// True when a cell's words are a receive.
#[inline]
pub(crate) const fn is_receive(words: &Words) -> bool {
    words[0] as u8 == RECEIVE
}

/// True when two collective descriptors are arrivals at the same collective, and say the same of it: what it
/// is, its root, sequence number and local members, and its bytes.
#[inline]
pub(crate) const fn is_of_same_collective(a: &Words, b: &Words) -> bool {
    a[0] == b[0]
        && a[1] >> 32 == b[1] >> 32
        && a[2] == b[2]
        && low(a[3]) == low(b[3])
        && low(a[7]) == low(b[7])
        && a[7] >> 48 == b[7] >> 48
}

/// The word that says what an entry is: what is told of one that makes no sense.
pub(crate) const KIND: usize = 0;

impl Envelope {
    /// That of the descriptor of which this function answers the words.
    #[inline(always)]
    pub(crate) fn read(word: impl Fn(usize) -> u64) -> Self {
        let (first, second) = (word(0), word(1));
        Self { context: Context(high(first)), source: CommRank(low(second)), tag: high(second) as i32 }
    }

    /// That of a queued descriptor.
    #[inline(always)]
    pub(crate) fn of_cell(cell: &Cell) -> Self {
        Self::read(|word| cell.word(word))
    }
}

/// The sender's rank in the job, of a send in a queue.
#[inline]
pub fn origin_of(cell: &Cell) -> Rank {
    Rank(low(cell.word(3)))
}

/// The words of a send in a ring, where the last one is the label, or in a queue.
#[derive(Clone, Copy)]
pub struct SendWords<'a>(pub &'a Words);

impl<'a> SendWords<'a> {
    /// In a ring, also of the wish to take a send back: the receiver's rank in the job.
    #[inline(always)]
    pub fn destination(self) -> Rank {
        Rank(low(self.0[3]))
    }

    /// In a queue: the sender's rank in the job.
    #[inline(always)]
    pub(crate) fn origin(self) -> Rank {
        Rank(low(self.0[3]))
    }

    /// What a receive is compared with.
    #[inline(always)]
    pub fn envelope(self) -> Envelope {
        Envelope::read(|word| self.0[word])
    }

    /// Source and tag, as a request slot has them.
    #[inline(always)]
    pub(crate) fn status_word(self) -> u64 {
        self.0[1]
    }

    /// The message's length.
    #[inline(always)]
    pub fn length(self) -> Length {
        Length::from_word(self.0[2])
    }

    /// The request of its sender, or [`RequestId::NONE`].
    #[inline(always)]
    pub fn request(self) -> RequestId {
        RequestId(high(self.0[3]))
    }

    /// The bytes that ride in it.
    #[inline(always)]
    pub fn payload(self) -> &'a [u64; INLINE_BYTES / 8] {
        let [_, _, _, _, payload @ .., _] = self.0;
        payload
    }

    /// True when its bytes ride in it.
    #[inline(always)]
    pub fn is_inline(self) -> bool {
        (self.0[0] >> 16) as u8 == INLINE
    }

    /// True when its bytes ride in it and its sender waits for nothing: matching it is all there is to do.
    #[inline(always)]
    pub(crate) fn is_buffered_inline(self) -> bool {
        low(self.0[0]) == SEND as u32 | (INLINE as u32) << 16 && self.request() == RequestId::NONE
    }

    /// True when its bytes ride in it or lie in slabs, and its sender waits for nothing.
    #[inline]
    pub(crate) fn is_buffered(self) -> bool {
        let place = (low(self.0[0]) >> 16) as u8;
        (place == INLINE || place == SLAB) && self.request() == RequestId::NONE
    }

    /// True when its receiver can take it by itself, and its call and signature are those of its receive.
    #[inline]
    pub fn is_claimable(self, check: Check) -> bool {
        let place = (low(self.0[0]) >> 16) as u8;
        low(self.0[0]) & !(0xffff << 8) == SEND as u32 | (check.call as u32) << 24
            && (place == INLINE || place == SLAB || place == MEMORY)
            && (check.call == 0 || self.length().signature() == check.signature)
    }

    /// The first of the sender's slabs in which its bytes lie.
    #[inline]
    pub fn slab(self) -> Option<SlabId> {
        ((low(self.0[0]) >> 16) as u8 == SLAB).then_some(SlabId(low(self.0[4])))
    }

    /// True when its bytes are in the sender's memory.
    #[inline(always)]
    pub(crate) fn is_in_memory(self) -> bool {
        (self.0[0] >> 16) as u8 == MEMORY
    }

    /// True when its bytes are in its receiver's pool: its sender has kept it before anybody claimed it.
    #[inline(always)]
    pub(crate) fn is_kept(self) -> bool {
        (self.0[0] >> 16) as u8 == POOLED
    }

    /// Whether it lies in a cell as it was read there: its sender has not kept it since.
    #[inline(always)]
    pub fn is_as_read(self, cell: &Cell) -> bool {
        cell.word(KIND) == self.0[KIND]
    }

    /// Where its bytes are in the sender's memory, if they are.
    #[inline(always)]
    pub fn address(self) -> Option<u64> {
        self.is_in_memory().then_some(self.0[4])
    }

    /// As it is queued: with its sender's rank in the job.
    #[inline]
    pub(crate) fn queued_by(self, origin: Rank) -> Words {
        let mut words = *self.0;
        words[3] = pair(origin.0, high(words[3]));
        words
    }

    /// The descriptor, of which the destination is not to be believed.
    ///
    /// # Errors
    /// It is none of a send.
    #[inline]
    pub(crate) fn decode(self) -> Result<SendDescriptor, Corrupt> {
        match PointToPoint::decode(self.0) {
            Some(PointToPoint::Send(send)) => Ok(send),
            _ => Err(Corrupt { what: "message", value: self.0[KIND], limit: 0 }),
        }
    }
}

/// The words of a receive.
#[derive(Clone, Copy)]
pub(crate) struct ReceiveWords<'a>(pub(crate) &'a Words);

impl ReceiveWords<'_> {
    /// Whether nothing of its message is checked.
    #[inline(always)]
    pub(crate) fn is_unchecked(self) -> bool {
        low(self.0[0]) >> 24 == 0
    }

    #[inline(always)]
    pub(crate) fn envelope(self) -> Envelope {
        Envelope::read(|word| self.0[word])
    }

    #[inline(always)]
    pub(crate) fn request(self) -> RequestId {
        RequestId(high(self.0[3]))
    }

    /// Of one that waits for a global slice ([`ReceiveDescriptor::encode_of`]): who has posted it.
    #[inline]
    pub(crate) fn receiver(self) -> LocalRank {
        LocalRank(low(self.0[3]))
    }

    /// The descriptor.
    ///
    /// # Errors
    /// It is none of a receive.
    #[inline]
    pub(crate) fn decode(self) -> Result<ReceiveDescriptor, Corrupt> {
        match PointToPoint::decode(self.0) {
            Some(PointToPoint::Receive(receive)) => Ok(receive),
            _ => Err(Corrupt { what: "posted receive", value: self.0[KIND], limit: 0 }),
        }
    }
}

/// Gives a queued message another context.
pub(crate) fn set_context(cell: &Cell, context: Context) {
    cell.set_word(0, pair(low(cell.word(0)), context.0));
}

/// The number that a node gives a message from another one whose bytes it has not got ([`number`]); 0 for
/// none.
pub(crate) fn number_of(words: &Words) -> u64 {
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
    /// The descriptor as a ring cell's words.
    #[inline]
    pub fn encode(&self) -> Words {
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
    said: (Length, Check),
    payload: [u64; INLINE_BYTES / 8],
) -> Words {
    encode_buffered(INLINE, context, peers, tag, said, payload)
}

/// The same of a message in slabs, of which this is the first.
#[inline(always)]
pub fn encode_in_slabs(
    context: Context,
    peers: (CommRank, Rank),
    tag: i32,
    said: (Length, Check),
    first: SlabId,
) -> Words {
    encode_buffered(SLAB, context, peers, tag, said, [first.0.into(), 0, 0])
}

#[inline(always)]
fn encode_buffered(
    place: u8,
    context: Context,
    (source, destination): (CommRank, Rank),
    tag: i32,
    (length, check): (Length, Check),
    payload: [u64; INLINE_BYTES / 8],
) -> Words {
    [
        pair(SEND as u32 | (place as u32) << 16 | (check.call as u32) << 24, context.0),
        pair(source.0, tag as u32),
        measured(length, check),
        pair(destination.0, RequestId::NONE.0),
        payload[0],
        payload[1],
        payload[2],
        0,
    ]
}

impl ReceiveDescriptor {
    /// The descriptor as a ring cell's words.
    #[inline]
    pub fn encode(&self) -> Words {
        self.encode_of(LocalRank(0))
    }

    /// As it waits for a global slice: with the rank that has posted it.
    #[inline]
    pub(crate) fn encode_of(&self, receiver: LocalRank) -> Words {
        [
            pair(RECEIVE as u32 | (self.check.call as u32) << 24, self.context.0),
            pair(self.source.0, self.tag as u32),
            measured(Length::new(self.capacity, 0), self.check),
            pair(receiver.0, self.request.0),
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
    pub fn encode(&self) -> Words {
        match self {
            PointToPoint::Send(send) => send.encode(),
            PointToPoint::Operate(operation) => {
                let mut words = operation.encode();
                words[0] = words[0] & !0xff | OPERATE as u64;
                words
            }
            PointToPoint::Receive(receive) => receive.encode(),
            PointToPoint::Cancel { request, destination } => {
                [CANCEL as u64, 0, 0, pair(destination.0, request.0), 0, 0, 0, 0]
            }
            PointToPoint::Continue { transfer } => [CONTINUE as u64, 0, 0, pair(*transfer, 0), 0, 0, 0, 0],
        }
    }

    /// Reads a ring cell's words; none when they are no entry of a point-to-point ring.
    #[inline]
    pub fn decode(words: &Words) -> Option<Self> {
        let meta = low(words[0]);
        let send = || {
            Some(SendDescriptor {
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
            })
        };
        match meta as u8 {
            SEND => send().map(PointToPoint::Send),
            OPERATE => send().map(PointToPoint::Operate),
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
            comm_rank: SidedRank(comm_rank),
            comm_size: 2,
            bytes: 0,
            agreed_bytes: 0,
            call: 0,
            root: SidedRank::default(),
            request: RequestId::NONE,
            payload: Payload::Inline([0; INLINE_BYTES]),
            sequence,
            position: 0,
            local_size,
        }
    }

    /// The descriptor as a ring cell's words.
    #[inline]
    pub fn encode(&self) -> Words {
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
            pair(self.comm_rank.0, self.comm_size),
            bytes,
            pair(self.root.0, self.request.0),
            payload[0],
            payload[1],
            payload[2],
            pair(self.sequence, self.position as u32 | (self.local_size as u32) << 16),
        ]
    }

    /// Reads a ring cell's words; none when they are no collective descriptor.
    #[inline]
    pub fn decode(words: &Words) -> Option<Self> {
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
            comm_rank: SidedRank(low(words[1])),
            comm_size: high(words[1]),
            bytes,
            agreed_bytes,
            root: SidedRank(low(words[3])),
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
    use super::super::{AGREED_LIMIT, MESSAGE_LIMIT};
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

    fn number<Number: std::fmt::Debug>(of: fn(u32) -> Number) -> impl Strategy<Value = Number> {
        any::<u32>().prop_map(of)
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
        fn a_send_survives_its_cell_and_the_short_way_of_a_buffered_one_has_the_same_words(
            context in number(Context), source in number(CommRank), tag: i32, bytes in 0..MESSAGE_LIMIT,
            (signature, check) in said(), destination in number(Rank), request in number(RequestId),
            synchronous: bool, payload in payload()
        ) {
            let send = SendDescriptor {
                context, source, tag, bytes, signature, destination, request, synchronous, check, payload
            };
            prop_assert_eq!(PointToPoint::decode(&send.encode()), Some(PointToPoint::Send(send)));
            let operation = PointToPoint::Operate(send);
            prop_assert_eq!(PointToPoint::decode(&operation.encode()), Some(operation));
            let buffered = SendDescriptor { request: RequestId::NONE, synchronous: false, ..send }.encode();
            let (ranks, said) = ((source, destination), (send.length(), check));
            match (payload, payload.encode()) {
                (Payload::Slab(first), _) => {
                    prop_assert_eq!(encode_in_slabs(context, ranks, tag, said, first), buffered);
                }
                (_, (INLINE, words)) => {
                    prop_assert_eq!(encode_inline(context, ranks, tag, said, words), buffered);
                }
                _ => {}
            }
        }

        #[test]
        fn a_receive_survives_its_cell(context in number(Context), source in number(CommRank), tag: i32, capacity in 0..MESSAGE_LIMIT, (_, check) in said(), request in number(RequestId), address: u64) {
            let receive = ReceiveDescriptor { context, source, tag, capacity, check, request, address };
            prop_assert_eq!(PointToPoint::decode(&receive.encode()), Some(PointToPoint::Receive(receive)));
        }

        #[test]
        fn a_collective_survives_its_cell(kind in 1u8..=6, (call, op, element) in any::<(u8, u8, u8)>(), numbers: [u32; 4], context in number(Context), request in number(RequestId), mut bytes in any::<u64>(), agreed in 0..AGREED_LIMIT, local: (u16, u16), payload in payload()) {
            let [comm_rank, comm_size, root, sequence] = numbers;
            let [comm_rank, root] = [comm_rank, root].map(SidedRank);
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

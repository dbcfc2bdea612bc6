//! BR, for messages of other nodes: a descriptor has come, and is matched with its receive or waits for it in
//! its receiver's queue. Whoever holds the run token does that: the NIC thread, or a rank that waits.

use super::departure::most_ahead;
use super::error::{GlobalError, strange};
use super::landing;
use super::link::PATIENT_RECORDS;
use super::message::{local, place as place_of};
use super::own::Own;
use super::record::{Carried, Kind, Record};
use crate::channel::Buffer;
use crate::matching::Message;
use crate::memory::descriptor::{
    Check, KIND, Payload, PointToPoint, ReceiveDescriptor, ReceiveWords, SendDescriptor, SendWords,
};
use crate::memory::queue::{PostedAt, PostedReceives};
use crate::memory::request::Delivery;
use crate::memory::ring::{CELL_WORDS, LABEL};
use crate::memory::transfer::Range;
use crate::memory::unexpected::{ForWhom, UnexpectedPool};
use crate::memory::{Corrupt, LocalRank, NicMemory, RequestId};
use crate::one_sided::{Served, Target};
use crate::threads::buffer_receiver::BufferReceiver;
use crate::threads::completer::Completer;
use crate::threads::dma_helper::DmaHelper;
use std::ptr::NonNull;

/// What became of a descriptor that has come.
pub(super) enum Arrived {
    /// There is no room for it: it waits, and so does what comes behind it.
    NoRoom,
    /// It was taken.
    Taken {
        /// What its sender's node is told.
        answer: Option<Record>,
        /// Who is to receive it, if it waits for a receive and its bytes are on its sender's node.
        late: Option<(LocalRank, SendDescriptor)>,
    },
}

/// Takes the send, or the wish to take one back, that a record of another node brings, with its payload: the
/// bytes of the message, or nothing where they ride in the descriptor or stay on its node. They go straight
/// to the buffer of a receive that waits for them, if that is `own`. `may_stay` says that they may also stay
/// on the sender's node if they have come and the receiver is at its limit.
///
/// # Errors
/// It makes no sense, or NIC memory is corrupt.
pub(super) fn take(
    memory: &NicMemory,
    completer: &mut Completer<'_>,
    from: u32,
    (record, payload): (&Record, impl Carried),
    own: Option<&Own<'_>>,
    may_stay: bool,
    operations: Operations<'_>,
) -> Result<Arrived, GlobalError> {
    let mut dma = DmaHelper::new(completer.memory);
    let mut words = [0; CELL_WORDS];
    words[..LABEL].copy_from_slice(&record.words);
    let send = match PointToPoint::decode(&words) {
        Some(PointToPoint::Send(send)) => send,
        Some(PointToPoint::Operate(message)) => {
            return operate(completer, (from, record.rank), &message, &payload, operations);
        }
        Some(PointToPoint::Cancel { request, destination }) => {
            let mut receiver = BufferReceiver::new(completer, &mut dma);
            let send = receiver.take_back(record.rank, request, destination)?;
            let answer = send.map(|send| {
                Record::new(Kind::Cancelled, record.rank, &[request.0.into(), place_of(send.payload).0])
            });
            return Ok(Arrived::Taken { answer, late: None });
        }
        _ => return Err(strange(from, "descriptor", words[KIND])),
    };
    let index = local(memory, send.destination)?;
    let pool = UnexpectedPool::of(memory, index)?;
    let bytes = payload.payload_bytes();
    if bytes != 0 && bytes as u64 != send.bytes {
        return Err(strange(from, "bytes of a message", bytes as u64));
    }
    if bytes != 0
        && let Some(own) = own
        && put_in_place(completer, own, (index, &send, &words), &payload)?
    {
        let answer = matched_record(record.rank, RequestId::NONE, place_of(send.payload).0);
        return Ok(Arrived::Taken { answer, late: None });
    }
    let block = match bytes {
        0 => None,
        _ => pool.take(bytes as u64, ForWhom::Driver)?,
    };
    // What answers an operation is nowhere else.
    let may_stay = may_stay && !matches!(send.payload, Payload::Memory(0));
    if block.is_none() && bytes != 0 && !may_stay {
        return Ok(Arrived::NoRoom);
    }
    if let Some(block) = block {
        let to = pool.bytes(block, bytes as u64)?;
        // SAFETY: the block has room for the message, checked, and nobody else uses it before it is named to
        // somebody.
        unsafe { payload.copy_payload(to.as_ptr(), bytes) };
        words = SendDescriptor { payload: Payload::Pooled(block), ..send }.encode();
    } else if !matches!(send.payload, Payload::Inline(_)) {
        // Without what another process may have written where this node's numbers stand.
        words = send.encode();
    }
    let mut receiver = BufferReceiver::new(completer, &mut dma);
    if !receiver.handle_message((record.rank, LocalRank::ELSEWHERE), SendWords(&words))? {
        block.map_or(Ok(()), |block| pool.free(block))?;
        return Ok(Arrived::NoRoom);
    }
    let matched = receiver.matched;
    memory.header().remote.matched.add(matched as i64);
    let (is_matched, mut answer, mut late) = (matched != 0, None, None);
    if block.is_some() {
        if !is_matched {
            pool.count_message();
        }
        answer = matched_record(record.rank, RequestId::NONE, place_of(send.payload).0);
    } else if !is_matched {
        late = Some((index, send));
    }
    Ok(Arrived::Taken { answer, late })
}

/// Who carries operations out that a record of another node brings, and takes their answers.
pub(super) type Operations<'a> = (&'a Target<'a>, &'a mut dyn FnMut(&Record, &[u8]) -> bool);

/// Carries out the operations of a rank of another node.
fn operate(
    completer: &mut Completer<'_>,
    (from, origin): (u32, bcs_core::Rank),
    message: &SendDescriptor,
    payload: &impl Carried,
    (target, answer): Operations<'_>,
) -> Result<Arrived, GlobalError> {
    let bytes = payload.payload_bytes();
    if !matches!(message.payload, Payload::Inline(_)) && bytes as u64 != message.bytes {
        return Err(strange(from, "bytes of operations", bytes as u64));
    }
    let mut carried = vec![0; bytes];
    // SAFETY: there is room for all of it.
    unsafe { payload.copy_payload(carried.as_mut_ptr(), bytes) };
    let mut reply = |reply: &SendDescriptor, bytes: &[u8]| {
        answer(&Record::new(Kind::Send, message.destination, &reply.encode()[..LABEL]), bytes)
    };
    let answer = match target.serve(completer, origin, message, &carried, &mut reply)? {
        Served::NoRoom => return Ok(Arrived::NoRoom),
        Served::Waits => None,
        Served::Done => matched_record(origin, message.request, place_of(message.payload).0),
    };
    completer.memory.header().remote.matched.add(1);
    Ok(Arrived::Taken { answer, late: None })
}

/// Puts the bytes of a message where the oldest receive that takes it has them, and completes that. False,
/// and nothing has happened, when there is none that [`own_receive`] finds.
fn put_in_place(
    completer: &mut Completer<'_>,
    own: &Own<'_>,
    (index, send, words): (LocalRank, &SendDescriptor, &[u64; CELL_WORDS]),
    payload: &impl Carried,
) -> Result<bool, Corrupt> {
    let memory = completer.memory;
    let Some(OwnReceive { at, receive, buffer }) = own_receive(memory, own, (index, send, words))? else {
        return Ok(false);
    };
    let bytes = send.bytes.min(receive.capacity);
    let to = buffer.at(Range { offset: 0, bytes })? as *mut u8;
    // SAFETY: within the buffer of a receive of which this rank has not seen the end, so that the program has
    // not got it back.
    unsafe { payload.copy_payload(to, bytes as usize) };
    PostedReceives::of(memory, memory.rank(index)?).remove(at)?;
    completer.complete((index, receive.request), send.status(), &Delivery::InPlace)?;
    memory.header().remote.matched.add(1);
    Ok(true)
}

/// A receive of the rank that waits.
struct OwnReceive {
    /// Its place in the queue.
    at: PostedAt,
    receive: ReceiveDescriptor,
    /// Where it puts its message.
    buffer: Buffer,
}

/// The oldest receive that takes a message. None when none waits, when it is another rank's, when it has more
/// to be compared than the envelope, or when the sender waits for the match.
fn own_receive(
    memory: &NicMemory,
    own: &Own<'_>,
    (index, send, words): (LocalRank, &SendDescriptor, &[u64; CELL_WORDS]),
) -> Result<Option<OwnReceive>, Corrupt> {
    if index != own.rank || send.request != RequestId::NONE {
        return Ok(None);
    }
    let posted = PostedReceives::of(memory, memory.rank(index)?);
    let message = SendWords(words).envelope();
    let found = posted.find_receive(message, |receive| receive.takes(&message))?;
    let Some((at, receive)) = found else { return Ok(None) };
    let receive = ReceiveWords(&receive).decode()?;
    if receive.check != Check::NONE {
        return Ok(None);
    }
    let told = Buffer { address: receive.address, bytes: receive.capacity };
    let buffer = (own.received_in)(receive.request, told);
    Ok(buffer.map(|buffer| OwnReceive { at, receive, buffer }))
}

/// Matches a send of another node, whose bytes are about to come with it, with a receive of this rank that
/// has room for all of them. From then on they are on their way to it: answers the record that says that they
/// are there, and where they go. None, and nothing has happened, when [`take`] would not put them there.
///
/// # Errors
/// NIC memory is corrupt.
pub(super) fn place(
    memory: &NicMemory,
    own: &Own<'_>,
    record: &Record,
    bytes: u64,
) -> Result<Option<(Record, NonNull<u8>)>, Corrupt> {
    let mut words = [0; CELL_WORDS];
    words[..LABEL].copy_from_slice(&record.words);
    let Some(PointToPoint::Send(send)) = PointToPoint::decode(&words) else { return Ok(None) };
    let Some(index) = memory.local_rank(send.destination)? else { return Ok(None) };
    let Some(OwnReceive { at, receive, buffer }) = own_receive(memory, own, (index, &send, &words))? else {
        return Ok(None);
    };
    if send.bytes != bytes || receive.capacity < bytes {
        return Ok(None);
    }
    let Some(to) = NonNull::new(buffer.at(Range { offset: 0, bytes })? as *mut u8) else { return Ok(None) };
    let origin = record.rank;
    let Some(landing) = landing::begin(memory, &Message { send, origin }, &receive, index)? else {
        return Ok(None);
    };
    landing::place_whole(memory, landing)?;
    PostedReceives::of(memory, memory.rank(index)?).remove(at)?;
    memory.header().remote.matched.add(1);
    let words = [landing.id.get(), 0, bytes, place_of(send.payload).0];
    Ok(Some((Record::new(Kind::Placed, origin, &words), to)))
}

/// What the sender of a message is told whose bytes were put in place as they came with it.
pub(super) fn placed_answer(placed: &Record) -> Option<Record> {
    match placed.kind {
        Kind::Placed => matched_record(placed.rank, RequestId::NONE, placed.words[3]),
        _ => None,
    }
}

/// What tells a message's sender that nothing of it has to move any more, if that is to be told.
pub(super) fn matched_record(rank: bcs_core::Rank, request: RequestId, place: u64) -> Option<Record> {
    let is_told = request != RequestId::NONE || place != 0;
    is_told.then(|| Record::new(Kind::Matched, rank, &[request.0.into(), place]))
}

/// What the answer to the sender of a message, whose so many bytes came with it, weighs among those for which
/// nobody waits, of which [`PATIENT_RECORDS`] make one leave. That much has an answer for which somebody does
/// wait: with a request, or that the message was taken back. Any other gives slabs back, and with them room
/// for bytes that travel ahead: half of that room is back before the sender has used the other half.
pub(super) fn weight(memory: &NicMemory, answer: &Record, bytes: u64) -> u32 {
    if answer.kind == Kind::Cancelled || RequestId(answer.words[0] as u32) != RequestId::NONE {
        return PATIENT_RECORDS;
    }
    let part = bytes.saturating_mul(2 * u64::from(PATIENT_RECORDS)) / most_ahead(memory).max(1);
    part.clamp(1, PATIENT_RECORDS.into()) as u32
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::channel::OwnProcess;
    use crate::global::record::PostingSlice;
    use crate::memory::descriptor::ReceiveDescriptor;
    use crate::memory::request::SlotState;
    use crate::memory::{CommRank, Context, Layout, Rank, SlabId};
    use crate::policy::Pacing;

    const CONTEXT: Context = Context(3);
    const RECEIVE: RequestId = RequestId(5);
    const HERE: LocalRank = LocalRank(0);

    /// The first of so many nodes, each with one rank.
    fn first_of(nodes: u32) -> NicMemory {
        let memory = NicMemory::create_private(Layout::new(1, nodes, [0; 2]).unwrap(), 0, nodes).unwrap();
        (0..nodes).for_each(|rank| memory.set_place(Rank(rank), rank, HERE));
        memory.rank(HERE).unwrap().status.set_job_rank(Rank(0));
        memory
    }

    fn send(bytes: u64) -> SendDescriptor {
        SendDescriptor {
            context: CONTEXT,
            source: CommRank(1),
            tag: 7,
            bytes,
            signature: 0,
            destination: Rank(0),
            request: RequestId::NONE,
            synchronous: false,
            check: Check::NONE,
            payload: Payload::Slab(SlabId(20)),
        }
    }

    /// A receive of this rank for the message, with that much room.
    fn receive(capacity: u64, into: &mut [u8]) -> ReceiveDescriptor {
        ReceiveDescriptor {
            context: CONTEXT,
            source: CommRank(1),
            tag: 7,
            capacity,
            check: Check::NONE,
            request: RECEIVE,
            address: into.as_mut_ptr() as u64,
        }
    }

    /// Node 1 sends that to node 0, whose rank has posted those receives and drives the links itself. Answers
    /// whether the request is complete, and how many messages lie in the pool.
    fn arrives(receives: &[ReceiveDescriptor], send: &SendDescriptor, payload: &[u8]) -> (bool, u64) {
        let memory = first_of(2);
        let slot = memory.request(HERE, RECEIVE).unwrap();
        slot.arm();
        for receive in receives {
            assert!(PostedReceives::of(&memory, memory.rank(HERE).unwrap()).push(&receive.encode()).unwrap());
        }
        let words = send.encode();
        let record =
            Record { posted: PostingSlice::default(), ..Record::new(Kind::Send, Rank(1), &words[..LABEL]) };
        let own = Own {
            rank: HERE,
            processes: &OwnProcess,
            sent_from: &|_, _| None,
            received_in: &|_, told| Some(told),
            stays_for: &|_| false,
        };
        let mut completer = Completer::new(&memory, Pacing::default());
        let target = Target { processes: &OwnProcess, own: Some(HERE) };
        let operations: Operations<'_> = (&target, &mut |_, _| panic!("nothing is answered"));
        let taken =
            take(&memory, &mut completer, 1, (&record, payload), Some(&own), false, operations).unwrap();
        let Arrived::Taken { answer, late: None } = taken else { panic!("there is room") };
        assert_eq!(answer.map(|answer| answer.words[..2].to_vec()), Some(vec![RequestId::NONE.0.into(), 21]));
        let pool = UnexpectedPool::of(&memory, HERE).unwrap();
        (slot.state() == SlotState::Done, pool.usage().messages)
    }

    #[test]
    fn bytes_go_straight_to_the_buffer_of_a_receive_that_waits() {
        for (length, capacity) in [(25, 25), (25, 4000), (4000, 4000), (4000, 100), (4000, 0)] {
            let (payload, mut buffer) = (vec![7; length], vec![0; 4000]);
            let receive = receive(capacity, &mut buffer);
            assert_eq!(arrives(&[receive], &send(length as u64), &payload), (true, 0), "{length} {capacity}");
            let came = length.min(capacity as usize);
            assert!(buffer[..came].iter().all(|&byte| byte == 7), "{length} {capacity}");
            assert!(buffer[came..].iter().all(|&byte| byte == 0), "{length} {capacity}");
        }
    }

    #[test]
    fn they_wait_in_the_pool_where_no_receive_waits_or_more_is_to_be_said_of_the_match() {
        let (payload, mut buffer) = ([7; 100], [0; 100]);
        let receive = receive(100, &mut buffer);
        assert_eq!(arrives(&[], &send(100), &payload), (false, 1));
        let of_another_tag = ReceiveDescriptor { tag: 8, ..receive };
        assert_eq!(arrives(&[of_another_tag], &send(100), &payload), (false, 1));
        let synchronous = SendDescriptor { request: RequestId(9), synchronous: true, ..send(100) };
        assert_eq!(arrives(&[receive], &synchronous, &payload), (true, 1));
        assert_eq!(buffer, [0; 100], "the rank takes it from there");
    }

    /// Says where the bytes of that send go, which are about to come to node 0 of two: its rank has posted
    /// this receive.
    fn about_to_arrive(
        memory: &NicMemory,
        receive: &ReceiveDescriptor,
        send: &SendDescriptor,
    ) -> Option<(Record, *mut u8)> {
        let posted = PostedReceives::of(memory, memory.rank(HERE).unwrap());
        assert!(posted.push(&receive.encode()).unwrap());
        let record = Record::new(Kind::Send, Rank(1), &send.encode()[..LABEL]);
        let own = Own {
            rank: HERE,
            processes: &OwnProcess,
            sent_from: &|_, _| None,
            received_in: &|_, told| Some(told),
            stays_for: &|_| false,
        };
        let placed = place(memory, &own, &record, send.bytes).unwrap();
        let waits = posted.find_receive(SendWords(&send.encode()).envelope(), |_| true).unwrap().is_some();
        assert_eq!(waits, placed.is_none(), "a receive is matched once");
        placed.map(|(record, to)| (record, to.as_ptr()))
    }

    #[test]
    fn a_receive_is_matched_when_bytes_are_about_to_come_and_complete_when_they_count_as_there() {
        let (memory, mut buffer) = (first_of(2), vec![0; 8192]);
        let slot = memory.request(HERE, RECEIVE).unwrap();
        slot.arm();
        let receive = receive(8192, &mut buffer);
        let (record, to) = about_to_arrive(&memory, &receive, &send(4096)).unwrap();
        assert_eq!((record.kind, record.rank, to), (Kind::Placed, Rank(1), buffer.as_mut_ptr()));
        let granted = &memory.node_state(1).unwrap().granted;
        assert_eq!((slot.state(), memory.landings().used(), granted.get()), (SlotState::Pending, 1, 4096));
        let [id, offset, bytes, place, ..] = record.words;
        let landing = memory.landings().named(id).unwrap();
        assert_eq!(
            landing::placed_range(landing, 1, offset, bytes).unwrap(),
            Range { offset: 0, bytes: 4096 }
        );
        assert!(!landing::place_next(landing, 1, 4096, 8), "no more of it comes");
        let mut completer = Completer::new(&memory, Pacing::default());
        let due = landing::count(landing, &mut completer, bytes, 65_536, landing::Ahead::Ring).unwrap();
        assert!(due.grants.is_empty());
        assert_eq!((slot.state(), memory.landings().used(), granted.get()), (SlotState::Done, 0, 0));
        let answer = placed_answer(&record).unwrap();
        assert_eq!((answer.kind, answer.rank, answer.words[1]), (Kind::Matched, Rank(1), place));
        assert_eq!(place, 21, "its slabs come back");
    }

    #[test]
    fn nothing_is_matched_ahead_where_bytes_do_not_go_straight_to_the_buffer() {
        let mut buffer = vec![0; 8192];
        let receive = receive(8192, &mut buffer);
        let check = Check { call: 1, ..Check::NONE };
        let synchronous = SendDescriptor { request: RequestId(9), synchronous: true, ..send(4096) };
        for (receive, send) in [
            (ReceiveDescriptor { capacity: 4095, ..receive }, send(4096)),
            (ReceiveDescriptor { check, ..receive }, send(4096)),
            (receive, synchronous),
        ] {
            let memory = first_of(2);
            assert!(about_to_arrive(&memory, &receive, &send).is_none());
            assert_eq!(memory.landings().used(), 0);
        }
    }

    #[test]
    fn bytes_are_put_in_place_in_their_order_and_as_far_as_they_were_granted() {
        let (memory, mut buffer) = (first_of(2), vec![0; 8192]);
        let message = Message { send: send(8192), origin: Rank(1) };
        let receive = receive(8192, &mut buffer);
        let landing = landing::begin(&memory, &message, &receive, HERE).unwrap().unwrap();
        assert!(!landing::place_next(landing, 1, 0, 8), "nothing is granted");
        landing.granted.set(6000);
        for (from, offset, bytes, is_next) in [
            (1, 8, 8, false),
            (0, 0, 1000, false),
            (1, 0, 6001, false),
            (1, 0, 1000, true),
            (1, 0, 1000, false),
            (1, 1000, 1000, true),
            (1, 3000, 1000, false),
            (1, u64::MAX, 8, false),
        ] {
            let placed = landing::place_next(landing, from, offset, bytes);
            assert_eq!(placed, is_next, "{bytes} bytes at {offset} of node {from}");
        }
        // Nobody but this node says that bytes are in place.
        assert!(landing::placed_range(landing, 1, 0, 2000).is_ok());
        assert!(landing::placed_range(landing, 1, 0, 2008).is_err());
        // What has moved by another way counts, too, and keeps its place in the order.
        landing.moved.set(3000);
        assert!(!landing::place_next(landing, 1, 2000, 1000));
        assert!(landing::place_next(landing, 1, 3000, 3000));
    }

    #[test]
    fn an_answer_weighs_what_it_gives_back_of_what_may_travel_ahead() {
        let answer = |request| matched_record(Rank(1), request, 21).unwrap();
        for (nodes, bytes, expected) in [
            (2, 25, 1),
            (2, 16 << 10, 1),
            (2, 64 << 10, 4),
            (4, 64 << 10, 8),
            (8, 64 << 10, PATIENT_RECORDS),
            (8, 64, 1),
            (64, 8 << 10, PATIENT_RECORDS),
            (64, u64::MAX, PATIENT_RECORDS),
        ] {
            let memory = first_of(nodes);
            assert_eq!(weight(&memory, &answer(RequestId::NONE), bytes), expected, "{bytes} of {nodes}");
            assert_eq!(weight(&memory, &answer(RECEIVE), bytes), PATIENT_RECORDS, "somebody waits");
        }
    }
}

//! Messages of other nodes on their way straight into the memory of a rank of this node
//! ([`crate::memory::landing`]). Whoever holds the run token goes on with them: grants bytes, and puts those
//! that come where they go.
//!
//! One without a receive is a long put ([`crate::one_sided`]): its sender is not done with it when its bytes
//! have left, but is told when they are in place.
//!
//! With elastic slices, where ranks drive the links. A node is asked for as much ahead as keeps its link
//! busy, the oldest message first, and for more as that comes. The bytes of a message come in their order.

use super::error::{GlobalError, strange};
use super::grant::Grant;
use super::message::place;
use super::record::{Kind, Record};
use crate::matching::Message;
use crate::memory::descriptor::ReceiveDescriptor;
use crate::memory::landing::Landing;
use crate::memory::request::Delivery;
use crate::memory::transfer::Range;
use crate::memory::{CommRank, Corrupt, LocalRank, NicMemory, Rank, RequestId};
use crate::threads::completer::{Completer, RankRequest, Status};
use smallvec::SmallVec;

/// How many records of bytes a node is asked for ahead.
#[derive(Clone, Copy)]
pub(super) enum Ahead {
    /// By a rank: three records, less than a link's ring, and mostly not in it at all. What a sender has no
    /// room for it leaves in its incoming ring for a while, and then to its NIC thread.
    Ring = 2,
    /// By the NIC thread, which has room elsewhere, and mostly goes on where ranks get no processor: each
    /// look of it is to move much.
    Memory = 16,
}

/// Bytes of a grant of a landing, if not all that is left goes into one record. A record of so many, sealed,
/// with those that leave with it, is sent as one packet of what a network card cuts up (64 KB at most, and
/// whole packets of 9,000 bytes): it comes at once, and is opened at once.
const LANDING_CHUNK_BYTES: u64 = 60 << 10;

/// Grants to a node.
pub(super) type Grants = SmallVec<[Grant; 8]>;

/// What a node is to be told after bytes of it have come.
pub(super) struct Due {
    /// What it is asked for next.
    pub grants: Grants,
    /// That a long put is in place.
    pub placed: Option<Record>,
}

/// Whether nobody has posted a receive for it: it is a long put.
pub(super) fn is_put(landing: &Landing) -> bool {
    landing.request.get() == RequestId::NONE
}

/// What the sender of a long put is told when that is in place.
pub(super) fn put_is_placed(origin: Rank, request: RequestId) -> Record {
    Record::new(Kind::Matched, origin, &[request.0.into(), 0])
}

/// Begins the landing of a message that is matched with a receive of this rank: grants are next
/// ([`due_grants`]). None when none is free.
///
/// # Errors
/// No such rank.
pub(super) fn begin<'m>(
    memory: &'m NicMemory,
    message: &Message,
    receive: &ReceiveDescriptor,
    receiver: LocalRank,
) -> Result<Option<&'m Landing>, Corrupt> {
    let (node, _) = memory.place(message.origin)?;
    let Some(landing) = memory.landings().take() else { return Ok(None) };
    let descriptor = &message.send;
    let (source, tag, length) = descriptor.status();
    let (slab, from) = place(descriptor.payload);
    landing.node.set(node);
    landing.origin.set(message.origin.0);
    landing.sent_by.set(descriptor.request);
    landing.receiver.set(receiver);
    landing.request.set(receive.request);
    landing.source.set(source.0);
    landing.tag.set(tag as u32);
    landing.length.set(length);
    landing.place.set(slab);
    landing.from.set(from);
    landing.to.set(receive.address);
    landing.bytes.set(descriptor.bytes.min(receive.capacity));
    landing.granted.set(0);
    landing.moved.set(0);
    landing.placed.set(0);
    landing.invited.set(0);
    Ok(Some(landing))
}

/// The grants that are due to a node, for its oldest landings first. What they ask for counts as granted.
///
/// # Errors
/// No such node.
pub(super) fn due_grants(
    memory: &NicMemory,
    node: u32,
    payload_bytes: u64,
    ahead: Ahead,
) -> Result<Grants, Corrupt> {
    let (state, mut grants) = (memory.node_state(node)?, Grants::new());
    let most = ahead as u64 * payload_bytes;
    while state.granted.get() < most
        && let Some(landing) = memory.landings().oldest_waiting(node)
    {
        let (total, offset) = (landing.bytes.get(), landing.granted.get());
        let left = total - offset;
        let bytes = if left <= payload_bytes { left } else { payload_bytes.min(LANDING_CHUNK_BYTES) };
        grants.push(Grant {
            rank: Rank(landing.origin.get()),
            request: landing.sent_by.get(),
            place: landing.place.get(),
            address: landing.from.get(),
            range: Range { offset, bytes },
            is_last: offset + bytes == total && !is_put(landing),
            transfer: landing.id.get(),
            total,
        });
        landing.granted.set(offset + bytes);
        state.granted.add(bytes as i64);
    }
    Ok(grants)
}

/// Takes back grants that found no room: the last ones of [`due_grants`].
///
/// # Errors
/// No such node.
pub(super) fn take_back(memory: &NicMemory, node: u32, grants: &[Grant]) -> Result<(), Corrupt> {
    for grant in grants.iter().rev() {
        if let Some(landing) = memory.landings().named(grant.transfer) {
            landing.granted.set(grant.range.offset);
        }
        note_come(memory, node, grant.range.bytes)?;
    }
    Ok(())
}

/// So many bytes of landings are on their way from a node no longer.
///
/// # Errors
/// No such node.
pub(super) fn note_come(memory: &NicMemory, node: u32, bytes: u64) -> Result<(), Corrupt> {
    let granted = &memory.node_state(node)?.granted;
    granted.set(granted.get().saturating_sub(bytes));
    Ok(())
}

/// Whose message it is.
pub(super) fn receiver(landing: &Landing) -> RankRequest {
    (landing.receiver.get(), landing.request.get())
}

/// What the receive is told.
pub(super) fn status(landing: &Landing) -> Status {
    (CommRank(landing.source.get()), landing.tag.get() as i32, landing.length.get())
}

/// Which bytes have come, as a record of them says.
///
/// # Errors
/// Nobody has asked for them.
pub(super) fn range_of(landing: &Landing, from: u32, offset: u64, bytes: u64) -> Result<Range, GlobalError> {
    let is_next = offset == landing.moved.get()
        && landing.invited.get() == 0
        && offset.checked_add(bytes).is_some_and(|end| end <= landing.granted.get());
    if !is_next || landing.node.get() != from {
        return Err(strange(from, "offset of data", offset));
    }
    Ok(Range { offset, bytes })
}

/// Which bytes were put in place, as a record says that this node has made.
///
/// # Errors
/// They were not: somebody else has made it.
pub(super) fn placed_range(
    landing: &Landing,
    from: u32,
    offset: u64,
    bytes: u64,
) -> Result<Range, GlobalError> {
    let range = range_of(landing, from, offset, bytes)?;
    match offset + bytes <= landing.placed.get() {
        true => Ok(range),
        false => Err(strange(from, "bytes in place", bytes)),
    }
}

/// Whether these are the next bytes of a message: those before them are in place, and they were asked for.
/// From then on they are in place, too, but do not count ([`count`]).
pub(super) fn place_next(landing: &Landing, from: u32, offset: u64, bytes: u64) -> bool {
    let next = landing.placed.get().max(landing.moved.get());
    let end = offset.saturating_add(bytes);
    let is_asked = landing.invited.get() == 0 && landing.node.get() == from;
    let is_next = offset == next && end <= landing.granted.get() && is_asked;
    if is_next {
        landing.placed.set(end);
    }
    is_next
}

/// All bytes of a message come in place, without a grant.
///
/// # Errors
/// No such node.
pub(super) fn place_whole(memory: &NicMemory, landing: &Landing) -> Result<(), Corrupt> {
    let bytes = landing.bytes.get();
    landing.granted.set(bytes);
    landing.placed.set(bytes);
    memory.node_state(landing.node.get())?.granted.add(bytes as i64);
    Ok(())
}

/// The sender is invited to write all of a message: nothing is to be granted.
pub(super) fn invite(landing: &Landing) {
    landing.granted.set(landing.bytes.get());
    landing.invited.set(1);
}

/// The one whose sender on this node is invited.
fn invited(memory: &NicMemory, from: u32, id: u64) -> Result<&Landing, GlobalError> {
    let is_it = |landing: &&Landing| landing.invited.get() != 0 && landing.node.get() == from;
    memory.landings().named(id).filter(is_it).ok_or_else(|| strange(from, "transfer", id))
}

/// The sender has written all of a message into the receiver's buffer, or says that it does not write it.
/// The grants that are due after that.
///
/// # Errors
/// It was not invited to that, or NIC memory is corrupt.
pub(super) fn handle_answer(
    completer: &mut Completer<'_>,
    from: u32,
    answer: &Record,
    payload_bytes: u64,
    ahead: Ahead,
) -> Result<Grants, GlobalError> {
    let memory = completer.memory;
    let landing = invited(memory, from, answer.words[0])?;
    if answer.kind == Kind::Written {
        if answer.words[1] != landing.bytes.get() {
            return Err(strange(from, "bytes that were written", answer.words[1]));
        }
        completer.complete(receiver(landing), status(landing), &Delivery::InPlace)?;
        memory.landings().free(landing);
    } else {
        landing.invited.set(0);
        landing.granted.set(0);
    }
    Ok(due_grants(memory, from, payload_bytes, ahead)?)
}

/// So many bytes are where they go: what is due after that.
///
/// # Errors
/// NIC memory is corrupt.
pub(super) fn count(
    landing: &Landing,
    completer: &mut Completer<'_>,
    bytes: u64,
    payload_bytes: u64,
    ahead: Ahead,
) -> Result<Due, Corrupt> {
    let (memory, node) = (completer.memory, landing.node.get());
    landing.moved.set(landing.moved.get().saturating_add(bytes));
    note_come(memory, node, bytes)?;
    let mut placed = None;
    if landing.moved.get() >= landing.bytes.get() {
        if is_put(landing) {
            placed = Some(put_is_placed(Rank(landing.origin.get()), landing.sent_by.get()));
        } else {
            completer.complete(receiver(landing), status(landing), &Delivery::InPlace)?;
        }
        memory.landings().free(landing);
    }
    Ok(Due { grants: due_grants(memory, node, payload_bytes, ahead)?, placed })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::descriptor::{Check, Payload, SendDescriptor};
    use crate::memory::request::SlotState;
    use crate::memory::{Context, Layout, RequestId};
    use crate::policy::Pacing;

    const HERE: LocalRank = LocalRank(0);
    const BYTES: u64 = 1 << 20;
    const PAYLOAD_BYTES: u64 = 64 << 10;

    /// The first of three nodes, each with one rank.
    fn first_of_three() -> NicMemory {
        let memory = NicMemory::create_private(Layout::new(1, 3, [0; 2]).unwrap(), 0, 3).unwrap();
        (0..3).for_each(|rank| memory.set_place(Rank(rank), rank, HERE));
        memory.rank(HERE).unwrap().status.set_job_rank(Rank(0));
        memory
    }

    /// The landing of a message of so many bytes that the rank of this node has sent, which is matched with
    /// the receive of this request.
    fn begun(memory: &NicMemory, from: u32, request: u32, bytes: u64) -> &Landing {
        let context = Context(3);
        let send = SendDescriptor {
            context,
            source: CommRank(from),
            tag: 7,
            bytes,
            signature: 0,
            destination: Rank(0),
            request: RequestId(9),
            synchronous: false,
            check: Check::NONE,
            payload: Payload::Memory(0x5000),
        };
        let receive = ReceiveDescriptor {
            context,
            source: CommRank(from),
            tag: 7,
            capacity: bytes,
            check: Check::NONE,
            request: RequestId(request),
            address: 0x7000,
        };
        memory.request(HERE, RequestId(request)).unwrap().arm();
        begin(memory, &Message { send, origin: Rank(from) }, &receive, HERE).unwrap().unwrap()
    }

    fn state(memory: &NicMemory, request: u32) -> SlotState {
        memory.request(HERE, RequestId(request)).unwrap().state()
    }

    fn granted(memory: &NicMemory, node: u32) -> u64 {
        memory.node_state(node).unwrap().granted.get()
    }

    fn due(memory: &NicMemory, node: u32) -> Grants {
        due_grants(memory, node, PAYLOAD_BYTES, Ahead::Ring).unwrap()
    }

    /// What this node makes of an answer of another one; an error is what is wrong, and the value.
    fn answered(
        memory: &NicMemory,
        from: u32,
        kind: Kind,
        words: &[u64],
    ) -> Result<Grants, (&'static str, u64)> {
        let mut completer = Completer::new(memory, Pacing::default());
        let answer = Record::new(kind, Rank(0), words);
        let handled = handle_answer(&mut completer, from, &answer, PAYLOAD_BYTES, Ahead::Ring);
        let is_touched = !completer.touched.is_empty();
        assert_eq!(is_touched, handled.is_ok() && kind == Kind::Written, "who is woken");
        handled.map_err(|error| match error {
            GlobalError::Record { node, what, value } if node.0 == from => (what, value),
            error => panic!("{error}"),
        })
    }

    fn assert_refused(memory: &NicMemory, from: u32, kind: Kind, words: &[u64], (what, value): (&str, u64)) {
        assert_eq!(answered(memory, from, kind, words), Err((what, value)), "{kind:?} of node {from}");
    }

    #[test]
    fn an_answer_is_taken_only_of_a_message_whose_sender_is_invited_and_of_its_node() {
        let memory = first_of_three();
        let [landing, uninvited, old] = [5, 6, 7].map(|request| begun(&memory, 1, request, BYTES));
        let (id, old_id) = (landing.id.get(), old.id.get());
        invite(landing);
        invite(old);
        memory.landings().free(old);
        assert_eq!(due(&memory, 1).len(), 3, "grants of the one that is not invited");
        let uninvited_id = uninvited.id.get();
        let is_as_it_was = |landing: &Landing, granted: u64| {
            (landing.granted.get(), landing.moved.get(), landing.placed.get()) == (granted, 0, 0)
        };
        for kind in [Kind::Written, Kind::Declined] {
            for (from, id) in [
                (1, 0),
                (1, 1),
                (1, u64::MAX),
                (1, id + 16),
                (1, id ^ 1 << 50),
                (1, old_id),
                (1, uninvited_id),
                (0, id),
                (2, id),
                (2, uninvited_id),
                (1 << 20, id),
            ] {
                assert_refused(&memory, from, kind, &[id, BYTES], ("transfer", id));
            }
        }
        for bytes in [0, 1, BYTES - 1, BYTES + 1, u64::MAX] {
            assert_refused(&memory, 1, Kind::Written, &[id, bytes], ("bytes that were written", bytes));
        }
        assert_eq!([5, 6].map(|request| state(&memory, request)), [SlotState::Pending; 2]);
        assert_eq!((memory.landings().used(), granted(&memory, 1)), (2, 3 * LANDING_CHUNK_BYTES));
        assert!(is_as_it_was(landing, BYTES) && is_as_it_was(uninvited, 3 * LANDING_CHUNK_BYTES));
        assert!(answered(&memory, 1, Kind::Written, &[id, BYTES]).is_ok(), "it is still invited");
    }

    #[test]
    fn a_message_that_was_written_completes_its_receive_and_is_answered_once() {
        let memory = first_of_three();
        let [landing, other] = [5, 6].map(|request| begun(&memory, 1, request, BYTES));
        let id = landing.id.get();
        invite(landing);
        invite(other);
        assert_eq!(answered(&memory, 1, Kind::Written, &[id, BYTES]), Ok(Grants::new()));
        assert_eq!([5, 6].map(|request| state(&memory, request)), [SlotState::Done, SlotState::Pending]);
        let (outcome, delivery) = memory.request(HERE, RequestId(5)).unwrap().completion();
        assert_eq!((outcome.source, outcome.tag, delivery), (CommRank(1), 7, Delivery::InPlace));
        assert_eq!(outcome.length.bytes(), BYTES);
        assert_eq!((memory.landings().used(), granted(&memory, 1)), (1, 0));
        // Whoever has the place next is another.
        let next = begun(&memory, 1, 5, BYTES);
        assert!(std::ptr::eq(next, landing));
        invite(next);
        for kind in [Kind::Written, Kind::Declined] {
            assert_refused(&memory, 1, kind, &[id, BYTES], ("transfer", id));
        }
        assert_eq!([5, 6].map(|request| state(&memory, request)), [SlotState::Pending; 2]);
        assert_eq!((memory.landings().used(), granted(&memory, 1)), (2, 0));
    }

    #[test]
    fn a_message_that_was_declined_is_asked_for_as_if_nobody_had_been_invited_and_answered_once() {
        for bytes in [1, PAYLOAD_BYTES, PAYLOAD_BYTES + 1, BYTES] {
            let (memory, uninvited) = (first_of_three(), first_of_three());
            let expected = {
                begun(&uninvited, 1, 5, bytes);
                due(&uninvited, 1)
            };
            let landing = begun(&memory, 1, 5, bytes);
            let id = landing.id.get();
            invite(landing);
            assert_eq!(answered(&memory, 1, Kind::Declined, &[id]), Ok(expected), "{bytes} bytes");
            for kind in [Kind::Written, Kind::Declined] {
                assert_refused(&memory, 1, kind, &[id, bytes], ("transfer", id));
            }
            assert_eq!(state(&memory, 5), SlotState::Pending);
            assert_eq!(granted(&memory, 1), granted(&uninvited, 1));
            // The bytes come, and others are asked for until all are there.
            let mut completer = Completer::new(&memory, Pacing::default());
            let mut offset = 0;
            while offset < bytes {
                assert_eq!(state(&memory, 5), SlotState::Pending);
                let next = (bytes - offset).min(LANDING_CHUNK_BYTES).min(landing.granted.get() - offset);
                assert_eq!(range_of(landing, 1, offset, next).unwrap(), Range { offset, bytes: next });
                count(landing, &mut completer, next, PAYLOAD_BYTES, Ahead::Ring).unwrap();
                offset += next;
            }
            assert_eq!((state(&memory, 5), memory.landings().used()), (SlotState::Done, 0), "{bytes} bytes");
            assert_eq!(granted(&memory, 1), 0);
            for kind in [Kind::Written, Kind::Declined] {
                assert_refused(&memory, 1, kind, &[id, bytes], ("transfer", id));
            }
        }
    }

    #[test]
    fn a_message_that_was_declined_is_asked_for_when_the_link_has_room_and_the_oldest_first() {
        let memory = first_of_three();
        let [declined, busy, younger] = [5, 6, 7].map(|request| begun(&memory, 1, request, BYTES));
        invite(declined);
        invite(younger);
        assert!(due(&memory, 1).iter().all(|grant| grant.transfer == busy.id.get()));
        let most = granted(&memory, 1);
        for landing in [younger, declined] {
            assert_eq!(answered(&memory, 1, Kind::Declined, &[landing.id.get()]), Ok(Grants::new()));
        }
        assert_eq!(granted(&memory, 1), most, "so much is on its way");
        let mut completer = Completer::new(&memory, Pacing::default());
        let come = LANDING_CHUNK_BYTES;
        let due = count(busy, &mut completer, come, PAYLOAD_BYTES, Ahead::Ring).unwrap().grants;
        let (of, range) = (declined.id.get(), Range { offset: 0, bytes: LANDING_CHUNK_BYTES });
        assert_eq!(due.iter().map(|grant| (grant.transfer, grant.range)).collect::<Vec<_>>(), [(of, range)]);
    }

    #[test]
    fn the_sender_of_a_long_put_is_told_when_it_is_in_place_and_not_when_its_bytes_have_left() {
        let memory = first_of_three();
        let landing = begun(&memory, 1, 5, BYTES);
        landing.request.set(RequestId::NONE);
        let (mut offset, mut completer) = (0, Completer::new(&memory, Pacing::default()));
        let mut grants = due(&memory, 1);
        while offset < BYTES {
            let grant = grants.remove(0);
            assert!(!grant.is_last && grant.range.offset == offset, "{grant:?}");
            let come = count(landing, &mut completer, grant.range.bytes, PAYLOAD_BYTES, Ahead::Ring).unwrap();
            offset += grant.range.bytes;
            let told = come.placed.map(|told| (told.kind, told.rank, told.words[0]));
            assert_eq!(told, (offset == BYTES).then_some((Kind::Matched, Rank(1), 9)), "{offset}");
            grants.extend(come.grants);
        }
        assert_eq!((memory.landings().used(), granted(&memory, 1)), (0, 0));
        assert!(completer.touched.is_empty() && state(&memory, 5) == SlotState::Pending);
    }

    #[test]
    fn no_bytes_of_a_message_are_asked_for_or_taken_while_its_sender_is_invited() {
        let memory = first_of_three();
        let landing = begun(&memory, 1, 5, BYTES);
        invite(landing);
        assert_eq!((due(&memory, 1), granted(&memory, 1)), (Grants::new(), 0));
        for (offset, bytes) in [(0, 0), (0, 8), (0, BYTES), (8, 8), (BYTES, 0), (u64::MAX, 8)] {
            for from in [1, 2] {
                for range in [range_of, placed_range].map(|range| range(landing, from, offset, bytes)) {
                    let Err(GlobalError::Record { node, value, .. }) = range else {
                        panic!("{bytes} bytes at {offset} of node {from}: {range:?}");
                    };
                    assert_eq!((node.0, value), (from, offset));
                }
                assert!(
                    !place_next(landing, from, offset, bytes),
                    "{bytes} bytes at {offset} of node {from}"
                );
            }
        }
        let counts = [&landing.granted, &landing.moved, &landing.placed].map(|count| count.get());
        assert_eq!((counts, state(&memory, 5)), ([BYTES, 0, 0], SlotState::Pending));
        assert_eq!(answered(&memory, 1, Kind::Written, &[landing.id.get(), BYTES]), Ok(Grants::new()));
        assert_eq!(state(&memory, 5), SlotState::Done);
    }
}

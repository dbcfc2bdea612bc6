//! Messages of other nodes on their way straight into the memory of a rank of this node
//! ([`crate::memory::landing`]). Whoever holds the run token goes on with them: grants bytes, and puts those
//! that come where they go.
//!
//! With elastic slices, where ranks drive the links. A node is asked for as much ahead as keeps its link
//! busy, the oldest message first, and for more as that comes. The bytes of a message come in their order.

use super::error::{GlobalError, strange};
use super::grant::Grant;
use super::message::place;
use crate::matching::Message;
use crate::memory::descriptor::ReceiveDescriptor;
use crate::memory::landing::Landing;
use crate::memory::request::Delivery;
use crate::memory::transfer::Range;
use crate::memory::{CommRank, Corrupt, LocalRank, NicMemory, Rank};
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
            is_last: offset + bytes == total,
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
    let is_next = offset == next && end <= landing.granted.get() && landing.node.get() == from;
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

/// So many bytes are where they go. The grants that are due after that.
///
/// # Errors
/// NIC memory is corrupt.
pub(super) fn count(
    landing: &Landing,
    completer: &mut Completer<'_>,
    bytes: u64,
    payload_bytes: u64,
    ahead: Ahead,
) -> Result<Grants, Corrupt> {
    let (memory, node) = (completer.memory, landing.node.get());
    landing.moved.set(landing.moved.get().saturating_add(bytes));
    note_come(memory, node, bytes)?;
    if landing.moved.get() >= landing.bytes.get() {
        completer.complete(receiver(landing), status(landing), &Delivery::InPlace)?;
        memory.landings().free(landing);
    }
    due_grants(memory, node, payload_bytes, ahead)
}

//! Messages of other nodes on their way straight into the memory of a rank of this node
//! ([`crate::memory::landing`]). Whoever holds the run token goes on with them: grants bytes, and puts those
//! that come where they go.
//!
//! With elastic slices, where ranks drive the links. So much of a message is granted ahead as keeps the links
//! busy, and when half of that has come, as much again. The bytes of a message come in their order.

use super::error::{GlobalError, strange};
use super::grant::{CHUNK_BYTES, Grant};
use super::matched::Matched;
use super::message::place;
use crate::memory::landing::Landing;
use crate::memory::request::Delivery;
use crate::memory::transfer::Range;
use crate::memory::{CommRank, Corrupt, NicMemory, Rank};
use crate::threads::completer::{Completer, RankRequest, Status};
use smallvec::SmallVec;

/// Bytes of a message that are granted ahead: more than a link holds.
const AHEAD_BYTES: u64 = 1 << 20;

/// Begins the landing of a matched message: grants are next ([`due_grants`]). None when none is free.
///
/// # Errors
/// No such rank.
pub(super) fn begin<'m>(memory: &'m NicMemory, matched: &Matched) -> Result<Option<&'m Landing>, Corrupt> {
    let (node, _) = memory.place(matched.message.origin)?;
    let Some(landing) = memory.landings().take() else { return Ok(None) };
    let descriptor = &matched.message.send;
    let (source, tag, length) = descriptor.status();
    let (slab, from) = place(descriptor.payload);
    landing.node.set(node);
    landing.origin.set(matched.message.origin.0);
    landing.sent_by.set(descriptor.request);
    landing.receiver.set(matched.receiver);
    landing.request.set(matched.receive.request);
    landing.source.set(source.0);
    landing.tag.set(tag as u32);
    landing.length.set(length);
    landing.place.set(slab);
    landing.from.set(from);
    landing.to.set(matched.receive.address);
    landing.bytes.set(matched.bytes());
    landing.granted.set(0);
    landing.moved.set(0);
    Ok(Some(landing))
}

/// The grants that are due: none as long as more than half of [`AHEAD_BYTES`] is on its way, so that several
/// go at once. What they ask for counts as granted.
pub(super) fn due_grants(landing: &Landing, payload_bytes: u64) -> SmallVec<[Grant; 16]> {
    let (total, moved) = (landing.bytes.get(), landing.moved.get());
    let (mut granted, mut grants) = (landing.granted.get(), SmallVec::new());
    if granted.saturating_sub(moved) > AHEAD_BYTES / 2 {
        return grants;
    }
    let chunk = payload_bytes.clamp(1, CHUNK_BYTES);
    while granted < total && (granted <= moved || granted - moved + chunk <= AHEAD_BYTES) {
        let bytes = (total - granted).min(chunk);
        grants.push(Grant {
            rank: Rank(landing.origin.get()),
            request: landing.sent_by.get(),
            place: landing.place.get(),
            address: landing.from.get(),
            range: Range { offset: granted, bytes },
            is_last: granted + bytes == total,
            transfer: landing.id.get(),
            total,
        });
        granted += bytes;
    }
    landing.granted.set(granted);
    grants
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

/// So many bytes are where they go. The grants that are due, of a message that is not complete.
///
/// # Errors
/// NIC memory is corrupt.
pub(super) fn count(
    landing: &Landing,
    completer: &mut Completer<'_>,
    bytes: u64,
    payload_bytes: u64,
) -> Result<SmallVec<[Grant; 16]>, Corrupt> {
    landing.moved.set(landing.moved.get().saturating_add(bytes));
    if landing.moved.get() < landing.bytes.get() {
        return Ok(due_grants(landing, payload_bytes));
    }
    completer.complete(receiver(landing), status(landing), &Delivery::InPlace)?;
    completer.memory.landings().free(landing);
    Ok(SmallVec::new())
}

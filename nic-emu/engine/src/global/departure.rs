//! BS, for messages to other nodes: descriptors leave, in each rank's order, and bytes that lie in slabs
//! travel with them as far as they may. Whoever holds the run token does that: the NIC thread, or a rank that
//! waits.

use super::message::{BUDGET_BYTES, RawBytes, local};
use super::record::{Kind, PostingSlice, Record};
use crate::memory::descriptor::{Payload, PointToPoint, SendDescriptor, SendWords, is_send};
use crate::memory::request::Delivery;
use crate::memory::ring::LABEL;
use crate::memory::slab::{Departed, RUN_BYTES, SLABS};
use crate::memory::{CommRank, Corrupt, NicMemory, Rank, RequestId, SlabId, checked};
use crate::threads::completer::Completer;

/// Sends outbound descriptors, posted in this slice as others are told it, with payloads of at most so many
/// bytes. `send` takes a record for a node, and the payload that goes with it; it answers false when it has
/// no room for that, or takes none for this node now.
///
/// # Errors
/// NIC memory is corrupt, or what `send` fails with.
pub(super) fn exchange(
    memory: &NicMemory,
    posted: PostingSlice,
    payload_bytes: u64,
    mut send: impl FnMut(u32, &Record, RawBytes<'_>) -> Result<bool, Corrupt>,
) -> Result<(), Corrupt> {
    let remote = &memory.header().remote;
    for index in memory.local_ranks() {
        if remote.outbound.get() == 0 {
            break;
        }
        let rank = memory.rank(index)?;
        let origin = memory.job_rank(index);
        while let Some((entry, words)) = rank.outbound.find(memory, |_| true)? {
            let (node, _) = memory.place(SendWords(&words).destination())?;
            let record = Record { posted, ..Record::new(Kind::Send, origin, &words[..LABEL]) };
            let in_slabs = match PointToPoint::decode(&words) {
                Some(
                    PointToPoint::Send(SendDescriptor { payload: Payload::Slab(slab), bytes, .. })
                    | PointToPoint::Operate(SendDescriptor { payload: Payload::Slab(slab), bytes, .. }),
                ) => Some((slab, checked("bytes of a message in slabs", bytes, RUN_BYTES + 1)? as u64)),
                _ => None,
            };
            let ahead = match in_slabs {
                Some((_, bytes)) if bytes <= payload_bytes && may_be_ahead(memory, node, bytes)? => in_slabs,
                _ => None,
            };
            let payload = match ahead {
                Some((slab, bytes)) => RawBytes::of(memory, index, slab, 0, bytes)?,
                // For operations nobody posts a receive that would ask for their bytes: they travel together.
                None if in_slabs.is_some() && !is_send(&words) => break,
                None => RawBytes::NONE,
            };
            if !send(node, &record, payload)? {
                // What follows in this rank's queue stays behind it: nothing overtakes.
                break;
            }
            if let Some((slab, bytes)) = in_slabs {
                rank.departed[checked("slab", slab.0, SLABS)?].set(bytes, ahead.is_some());
                memory.node_state(node)?.ahead.add(payload.len() as i64);
            }
            rank.outbound.remove(memory, entry)?;
            remote.outbound.add(-1);
            remote.descriptors.add(1);
        }
    }
    Ok(())
}

/// How many bytes may be on their way to a node ahead of their match.
pub fn most_ahead(memory: &NicMemory) -> u64 {
    let (_, nodes) = memory.node();
    BUDGET_BYTES / u64::from(nodes.max(1))
}

/// Whether so many bytes may travel to a node ahead of their match.
fn may_be_ahead(memory: &NicMemory, node: u32, bytes: u64) -> Result<bool, Corrupt> {
    Ok(bytes <= most_ahead(memory).saturating_sub(memory.node_state(node)?.ahead.get()))
}

/// A message of this node's is out of the slabs, the number of whose first one plus one `place` is, if it was
/// in some: it is matched on that node, or was taken back.
///
/// # Errors
/// No such rank.
pub(super) fn give_back(memory: &NicMemory, to: u32, rank: Rank, place: u64) -> Result<(), Corrupt> {
    if place == 0 {
        return Ok(());
    }
    let block = memory.rank(local(memory, rank)?)?;
    let slab = SlabId((place - 1) as u32);
    if let Some((bytes, were_ahead)) = block.departed.get(slab.index()).and_then(Departed::take) {
        let ahead = &memory.node_state(to)?.ahead;
        ahead.set(ahead.get().saturating_sub(were_ahead));
        block.returned.give_back(slab, bytes);
    }
    Ok(())
}

/// A message is matched and nothing of it moves any more, as *Matched* says that has come from a node, or the
/// end of its bytes: its sender is done with it.
///
/// # Errors
/// It names no rank, request or slab of this node.
pub(super) fn finish_send(
    memory: &NicMemory,
    completer: &mut Completer<'_>,
    from: u32,
    matched: &Record,
) -> Result<(), Corrupt> {
    let [request, place, ..] = matched.words;
    let index = local(memory, matched.rank)?;
    give_back(memory, from, matched.rank, place)?;
    let request = RequestId(request as u32);
    if request != RequestId::NONE {
        completer.complete((index, request), (CommRank(0), 0, 0), &Delivery::InPlace)?;
    }
    Ok(())
}

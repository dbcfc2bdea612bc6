//! Scatter as the NIC's broadcast of a slab at a time, of as many blocks as it holds: each member takes its
//! own, and does not wait for other slabs. One step for a slab; more bytes than are wanted, of which there
//! are few.

use super::super::movement::Movement;
use super::row::Row;
use super::slab_by_slab::slab_by_slab;
use crate::error::MpiResult;
use crate::process::task::with;
use crate::progress::meeting::Arrival;
use crate::progress::party::Party;
use crate::progress::released::take_result;
use nic_emu::descriptor::CollectiveKind;
use std::ptr::null;

/// Scatters blocks that lie one behind the other.
///
/// # Errors
/// The NIC fails.
pub async fn scatter_on_nic(party: &Party, movement: &Movement<'_>) -> MpiResult {
    let (root, rank, each) = (movement.pattern.root(), party.rank, movement.agreed.bytes);
    let row = Row::of(party.size, each);
    let most_bytes = each * party.size as usize;
    let arrival = Arrival { kind: CollectiveKind::Broadcast, most_bytes, ..movement.arrival() };
    let reach = |slab| {
        let members = row.members(slab);
        let first = row.part(slab).start;
        let data = if rank == root { movement.outgoing(members.start).0.wrapping_add(first) } else { null() };
        let takes = rank != root && members.contains(&rank);
        // SAFETY: the promise of `Movement::new`; who is not the root gives nothing.
        unsafe { party.reach(&arrival, data, row.bytes(slab), takes) }
    };
    let take = |slab, release| {
        let (to, part) = (movement.incoming(root).0, row.part(slab));
        let (skip, to) = (row.place(slab, rank).start, to.wrapping_add(part.start));
        // SAFETY: the promise of `Movement::new`: the place has as many bytes as the block.
        with(|process| unsafe { take_result(process, release, skip, to, part.len()) })
    };
    slab_by_slab(party, row.slabs(), reach, take).await
}

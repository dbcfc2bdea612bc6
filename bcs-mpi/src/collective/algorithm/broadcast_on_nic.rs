//! Broadcast by the NIC: what rides in the root's descriptor, or in slabs. One step for a slab, along the
//! strobe's tree; the root waits for nobody.

use super::super::broadcast::Broadcast;
use super::cut::Cut;
use super::slab_by_slab::slab_by_slab;
use crate::error::MpiResult;
use crate::process::task::with;
use crate::progress::meeting::Arrival;
use crate::progress::party::Party;
use crate::progress::released::take_result;
use nic_emu::descriptor::CollectiveKind;
use std::ptr::null;

/// Brings a block to all: of up to a slab, or in a call that blocks of more.
///
/// # Errors
/// The root's is longer; the NIC fails.
pub async fn broadcast_on_nic(party: &Party, broadcast: &Broadcast) -> MpiResult {
    let arrival = Arrival { kind: CollectiveKind::Broadcast, ..broadcast.arrival() };
    let is_root = party.rank == broadcast.root;
    let cut = Cut::of(broadcast.bytes, 1, if is_root { 0..0 } else { 0..broadcast.bytes });
    let reach = |number| {
        let (slab, waits) = (cut.slab(number), cut.wanted(number).is_some());
        let data = if is_root { broadcast.place().wrapping_add(slab.start).cast_const() } else { null() };
        // SAFETY: the promise of `Broadcast::new`; who is not the root gives nothing.
        unsafe { party.reach(&arrival, data, slab.len(), waits) }
    };
    let take = |number, release| {
        let slab = cut.slab(number);
        let to = broadcast.place().wrapping_add(slab.start);
        // SAFETY: the promise of `Broadcast::new`.
        with(|process| unsafe { take_result(process, release, 0, to, slab.len()) })
    };
    slab_by_slab(party, cut.slabs(), reach, take).await
}

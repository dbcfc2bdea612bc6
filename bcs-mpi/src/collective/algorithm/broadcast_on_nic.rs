//! Broadcast by the NIC: what rides in the root's descriptor, or in a slab. One step, along the strobe's
//! tree.

use super::super::broadcast::Broadcast;
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::party::Party;
use nic_emu::descriptor::CollectiveKind;
use std::ptr::{null, null_mut};

/// Brings a block of up to a slab to all.
///
/// # Errors
/// The root's is longer; the NIC fails.
pub async fn broadcast_on_nic(party: &Party, broadcast: &Broadcast) -> MpiResult {
    let &Broadcast { root, signature, bytes, .. } = broadcast;
    let arrival =
        Arrival { kind: CollectiveKind::Broadcast, operation: signature, root, ..Arrival::default() };
    let (data, to, room) = match party.rank == root {
        true => (broadcast.place().cast_const(), null_mut(), 0),
        false => (null(), broadcast.place(), bytes),
    };
    // SAFETY: the promise of `Broadcast::new`; who is not the root gives nothing.
    unsafe { party.on_nic(&arrival, (data, bytes), 0, (to, room)).await }
}

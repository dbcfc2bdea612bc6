//! Scatter as the NIC's broadcast of all blocks together: each member takes its own. One step; more bytes
//! than are wanted, of which there are few.

use super::super::movement::Movement;
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::party::Party;
use nic_emu::descriptor::CollectiveKind;
use std::ptr::{null, null_mut};

/// Scatters blocks of up to a slab together, which lie one behind the other.
///
/// # Errors
/// The NIC fails.
pub async fn scatter_on_nic(party: &Party, movement: &Movement<'_>) -> MpiResult {
    let root = movement.pattern.root();
    let bytes = movement.agreed.bytes * party.size as usize;
    let arrival = Arrival { kind: CollectiveKind::Broadcast, most_bytes: 0, ..movement.arrival() };
    let (data, to, room) = if party.rank == root {
        (movement.outgoing(0).0, null_mut(), 0)
    } else {
        let (to, room) = movement.incoming(root);
        (null(), to, room)
    };
    // SAFETY: the promise of `Movement::new`; who is not the root gives nothing.
    unsafe { party.on_nic(&arrival, (data, bytes), party.rank as usize * movement.agreed.bytes, (to, room)) }
        .await
}

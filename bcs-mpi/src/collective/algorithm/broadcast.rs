//! Broadcast: by the NIC what [`policy`] says, else along a binomial tree: log2 n steps, each member sends to those of which it is the root.

use super::super::block::{Block, post_landing, post_wire};
use super::super::policy;
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::party::{Join, Party};
use nic_emu::descriptor::CollectiveKind;
use std::ptr::{null, null_mut};

/// Brings the root's block to all.
///
/// # Errors
/// The root sent more than there is room for; the NIC fails.
pub async fn broadcast(party: Party, block: Block, root: u32) -> MpiResult {
    if party.size == 1 {
        return Ok(());
    }
    if block.bytes == 0 {
        return party.announce(root, (0, 0), 0);
    }
    if block.bytes <= policy::most_on_nic(&party) {
        let operation = block.agreed().signature;
        let arrival = Arrival { kind: CollectiveKind::Broadcast, operation, root, ..Arrival::default() };
        if party.rank == root {
            let wire = block.wire();
            // SAFETY: the wire lives until the message is buffered.
            return unsafe { party.on_nic(&arrival, (wire.data(), block.bytes), 0, (null_mut(), 0)).await };
        }
        let landing = block.landing();
        // SAFETY: the landing lives until the answer is there; a member that is not the root contributes nothing.
        unsafe { party.on_nic(&arrival, (null(), block.bytes), 0, (landing.data(), block.bytes)).await? };
        block.land(&landing);
        return Ok(());
    }
    party.announce(root, block.agreed().signature, block.bytes)?;
    // Ranks are counted from the root.
    let size = party.size;
    let place = (party.rank + size - root) % size;
    let member = |place: u32| (place + root) % size;
    // A member's parent is the place without its lowest bit; its children are the places with one bit more below that.
    let lowest = if place == 0 { size.next_power_of_two() } else { place & place.wrapping_neg() };
    if place != 0 {
        let landing = block.landing();
        let mut join = Join::new();
        // SAFETY: the landing lives until the join is complete.
        unsafe { post_landing(&party, &mut join, member(place - lowest), &landing)? };
        join.all().await?;
        block.land(&landing);
    }
    let wire = block.wire();
    let mut join = Join::new();
    let mut bit = lowest >> 1;
    while bit != 0 {
        if place + bit < size {
            // SAFETY: the wire lives until the join is complete.
            unsafe { post_wire(&party, &mut join, member(place + bit), &wire)? };
        }
        bit >>= 1;
    }
    join.all().await
}

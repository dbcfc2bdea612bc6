//! Broadcast: by the NIC what rides in a descriptor, else along a binomial tree: log2 n steps, each member sends to those of which it is the root.

use super::super::block::{Block, post_landing, post_wire};
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::party::{Join, Party};
use nic_emu::descriptor::{CollectiveKind, INLINE_BYTES};

/// Brings the root's block to all.
///
/// # Errors
/// The root sent more than there is room for; the NIC fails.
pub async fn broadcast(party: Party, block: Block, root: u32) -> MpiResult {
    if party.size == 1 || block.bytes == 0 {
        return Ok(());
    }
    if block.bytes <= INLINE_BYTES {
        let arrival = Arrival { kind: CollectiveKind::Broadcast, root, ..Arrival::default() };
        let mut bytes = [0; INLINE_BYTES];
        let bytes = &mut bytes[..block.bytes];
        if party.rank == root {
            block.read(bytes);
            return party.on_nic(arrival, bytes, &mut []).await;
        }
        let mut result = [0; INLINE_BYTES];
        party.on_nic(arrival, bytes, &mut result[..block.bytes]).await?;
        block.write(&result[..block.bytes]);
        return Ok(());
    }
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

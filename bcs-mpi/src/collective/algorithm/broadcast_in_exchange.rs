//! Broadcast in an exchange, as all members are on one node: all take from the root's lane at once, part by
//! part while it lays the next, or from its memory. One step.

use super::super::broadcast::Broadcast;
use super::binomial_broadcast::binomial_broadcast;
use crate::error::MpiResult;
use crate::progress::party::Party;

/// Brings a block to all.
///
/// # Errors
/// The root's is longer or shorter; the NIC fails.
pub async fn broadcast_in_exchange(party: &Party, broadcast: &Broadcast) -> MpiResult {
    let Some(exchange) = party.exchange(&broadcast.arrival()).await? else {
        return binomial_broadcast(party, broadcast).await;
    };
    let place = broadcast.place();
    // SAFETY: the promise of `Broadcast::new`; the root only reads.
    unsafe { exchange.stream(broadcast.root, place.cast_const(), place, broadcast.bytes).await }
}

//! Broadcast in an exchange, as all members are on one node: all take from the root's lane at once, part by
//! part while it lays the next, or from its memory. One step.

use super::binomial_broadcast::binomial_broadcast;
use crate::collective::Broadcast;
use crate::error::MpiResult;
use crate::progress::Party;

/// Brings a block to all.
///
/// # Errors
/// The root's is longer or shorter; the NIC fails.
pub async fn broadcast_in_exchange(party: &Party, broadcast: &Broadcast) -> MpiResult {
    match party.exchange(&broadcast.arrival()).await? {
        Some(exchange) => exchange.stream(broadcast.root, broadcast.memory).await,
        None => binomial_broadcast(party, broadcast).await,
    }
}

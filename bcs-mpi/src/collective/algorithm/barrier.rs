//! Barrier: the NIC's Collective Helper completes it, without the ranks. One arrival, one release.

use crate::error::MpiResult;
use crate::progress::{Arrival, Party};
use std::ptr::null;

/// Complete when all members have called it, of an intercommunicator those of both groups.
///
/// # Errors
/// The NIC fails.
pub async fn barrier(party: Party) -> MpiResult {
    if party.is_alone() {
        return Ok(());
    }
    // SAFETY: nothing is given.
    unsafe { party.meet(&Arrival::BARRIER, null(), 0, true) }.await.map(drop)
}

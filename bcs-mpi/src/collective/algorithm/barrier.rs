//! Barrier: the NIC's Collective Helper completes it, without the ranks. One arrival, one release.

use crate::error::MpiResult;
use crate::progress::meeting::Arrival;
use crate::progress::party::Party;
use nic_emu::descriptor::CollectiveKind;

/// Complete when all members have called it, of an intercommunicator those of both groups.
///
/// # Errors
/// The NIC fails.
pub async fn barrier(party: Party) -> MpiResult {
    if party.is_alone() {
        return Ok(());
    }
    let arrival = Arrival { kind: CollectiveKind::Barrier, ..Arrival::default() };
    // SAFETY: nothing is given and nothing taken.
    unsafe { party.on_nic(&arrival, (std::ptr::null(), 0), 0, (std::ptr::null_mut(), 0)).await }
}

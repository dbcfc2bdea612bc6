//! Barrier: the NIC's Collective Helper completes it for both groups, without the ranks. One arrival, one
//! release.

use super::super::Sides;
use crate::collective::algorithm;
use crate::error::MpiResult;

/// Complete when all members of both groups have called it: the standard asks for those of the other
/// group (MPI-5.0, §6.3).
///
/// # Errors
/// The NIC fails.
pub async fn barrier(sides: Sides) -> MpiResult {
    algorithm::barrier(sides.remote).await
}

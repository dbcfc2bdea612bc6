//! Barrier: each group meets, the rank 0s tell each other so, and each group meets again. Three steps.

use super::super::Sides;
use crate::collective::algorithm;
use crate::error::MpiResult;

/// Complete when all members of the other group have called it.
///
/// # Errors
/// The NIC fails.
pub async fn barrier(sides: Sides) -> MpiResult {
    let Sides { remote, before, after } = sides;
    let leads = before.rank == 0;
    algorithm::barrier(before).await?;
    if leads {
        remote.swap(0, &[1], &mut [0]).await?;
    }
    algorithm::barrier(after).await
}

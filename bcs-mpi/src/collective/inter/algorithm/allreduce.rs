//! Allreduce: each group combines along its reduction tree, the last members exchange results, and each group
//! gets the other's from its last member. 2 log2 n + 1 steps.

use super::super::sides::Sides;
use crate::collective::algorithm::{from_last, to_last};
use crate::collective::combination::Operands;
use crate::collective::reduction::Reduction;
use crate::collective::vector::Vector;
use crate::error::MpiResult;
use crate::progress::members::Members;

/// Combines the vectors of each group; all members of the other one get the result.
///
/// # Errors
/// The NIC fails.
pub async fn allreduce(sides: Sides, reduction: Reduction, operands: Operands) -> MpiResult {
    let Operands { from, to, count } = operands;
    sides.announce(reduction.said(), count * reduction.element)?;
    let Sides { remote, before, after, .. } = sides;
    // SAFETY: whoever made the operands has checked them, and the program keeps them.
    let mut value = unsafe { reduction.load(from, 0, count)? };
    if value.is_empty() {
        return Ok(());
    }
    to_last(&before, &reduction, &mut value).await?;
    let mut result = Vector::new(value.len())?;
    if before.rank == before.size - 1 {
        remote.swap((remote.size - 1, &value), (remote.size - 1, &mut result)).await?;
    }
    from_last(&after, &mut result).await?;
    // SAFETY: as above.
    unsafe { reduction.store(&result, to) };
    Ok(())
}

//! Reduce: the group that gives combines along its reduction tree, and its last member sends the result to
//! the root. log2 n + 1 steps.

use super::super::sides::{Role, Sides};
use crate::collective::algorithm::to_last;
use crate::collective::combination::Operands;
use crate::collective::reduction::Reduction;
use crate::collective::vector::Vector;
use crate::error::MpiResult;
use crate::progress::members::Members;

/// Combines the vectors of the group that the root is not in; the root gets the result.
///
/// # Errors
/// The NIC fails.
pub async fn reduce(sides: Sides, reduction: Reduction, operands: Operands, role: Role) -> MpiResult {
    let Operands { from, to, count } = operands;
    let bytes = count * reduction.element;
    sides.announce_rooted(role, reduction.said(), bytes)?;
    if bytes == 0 {
        return Ok(());
    }
    let Sides { remote, before, .. } = sides;
    match role {
        Role::Idle => Ok(()),
        Role::Root => {
            let mut result = Vector::new(bytes)?;
            remote.receive(remote.size - 1, &mut result).await?;
            // SAFETY: whoever made the operands has checked them, and the program keeps them.
            unsafe { reduction.store(&result, to) };
            Ok(())
        }
        Role::Of(root) => {
            // SAFETY: as above.
            let mut value = unsafe { reduction.load(from, 0, count)? };
            to_last(&before, &reduction, &mut value).await?;
            if before.rank == before.size - 1 { remote.send(root, &value).await } else { Ok(()) }
        }
    }
}

//! Reduce-scatter: each group combines along its reduction tree, the last members exchange results and send the members of their groups their shares.
//! log2 n + 2 steps.

use super::super::Sides;
use crate::collective::algorithm::to_last;
use crate::collective::combination::Operands;
use crate::collective::reduction::{Reduction, Vector};
use crate::error::MpiResult;
use crate::progress::members::Members;
use crate::progress::pending::Join;

/// Combines the vectors of each group, and gives each member of the other one its share of the result.
///
/// # Errors
/// The NIC fails.
pub async fn reduce_scatter(
    sides: Sides,
    reduction: Reduction,
    operands: Operands,
    shares: Vec<usize>,
) -> MpiResult {
    let Operands { from, to, count } = operands;
    sides.announce(reduction.said(), count * reduction.element)?;
    let Sides { remote, before, after, .. } = sides;
    // SAFETY: whoever made the operands has checked them, and the program keeps them.
    let mut value = unsafe { reduction.load(from, 0, count)? };
    if value.is_empty() {
        return Ok(());
    }
    to_last(&before, &reduction, &mut value).await?;
    let (own, last) = (after.rank as usize, after.size - 1);
    let bytes: Vec<usize> = shares.iter().map(|share| share * reduction.element).collect();
    if after.rank != last {
        if bytes[own] == 0 {
            return Ok(());
        }
        let mut share = Vector::new(bytes[own])?;
        after.receive(last, &mut share).await?;
        // SAFETY: as above.
        unsafe { reduction.store(&share, to) };
        return Ok(());
    }
    let mut result = Vector::new(value.len())?;
    remote.swap((remote.size - 1, &value), (remote.size - 1, &mut result)).await?;
    let mut join = Join::new();
    let mut rest = &result[..];
    for (member, &bytes) in bytes.iter().enumerate() {
        let (share, after_it) = rest.split_at(bytes);
        rest = after_it;
        if member == own {
            // SAFETY: as above.
            unsafe { reduction.store(share, to) };
        } else if bytes > 0 {
            // SAFETY: the result lives, unchanged, until the join is complete.
            join.add(unsafe { after.post_send(member as u32, share.as_ptr(), bytes)? });
        }
    }
    join.all().await
}

//! Reduce-scatter: each group combines along its reduction tree, the last members exchange results and send
//! the members of their groups their shares. log2 n + 2 steps.

use super::super::sides::Sides;
use crate::collective::algorithm::to_last;
use crate::collective::combination::Operands;
use crate::collective::reduction::Reduction;
use crate::collective::vector::Vector;
use crate::error::MpiResult;
use crate::progress::members::Members;
use crate::progress::message::Join;
use std::ops::Range;
use std::sync::Arc;

/// Combines the vectors of each group, and gives each member of the other one its share of the result.
///
/// # Errors
/// The NIC fails.
pub async fn reduce_scatter(
    sides: Sides,
    reduction: Reduction,
    operands: Operands,
    shares: Arc<[Range<usize>]>,
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
    let last = after.size - 1;
    let bytes = |member: u32| {
        let Range { start, end } = shares[member as usize].clone();
        start * reduction.element..end * reduction.element
    };
    let own = bytes(after.rank);
    if after.rank != last {
        if own.is_empty() {
            return Ok(());
        }
        let mut share = Vector::new(own.len())?;
        after.receive(last, &mut share).await?;
        // SAFETY: as above.
        unsafe { reduction.store(&share, to) };
        return Ok(());
    }
    let mut result = Vector::new(value.len())?;
    remote.swap((remote.size - 1, &value), (remote.size - 1, &mut result)).await?;
    // SAFETY: as above.
    unsafe { reduction.store(&result[own], to) };
    let mut join = Join::new();
    for (member, share) in (0..last).map(|member| (member, &result[bytes(member)])) {
        if !share.is_empty() {
            // SAFETY: the result lives, unchanged, until the join is complete.
            join.add(unsafe { after.post_send(member, share.as_ptr(), share.len())? });
        }
    }
    join.all().await
}

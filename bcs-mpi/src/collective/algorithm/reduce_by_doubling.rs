//! Reduce and allreduce by recursive doubling (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
//! Collective Communication Operations in MPICH", 2005): in each step two members exchange what their blocks
//! of members come to, near ones first, so that operands are combined in the order of the reduction tree.
//! log2 p steps for p members, a power of two; in each a member sends a vector.

use crate::collective::{Combination, Reduction, Vector};
use crate::error::MpiResult;
use crate::progress::Members;

/// Combines vectors of any length and kind.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn reduce_by_doubling(members: &impl Members, combination: &Combination) -> MpiResult {
    let mut value = combination.load(0, combination.count)?;
    double(members, &combination.reduction, &mut value).await?;
    if combination.gets_all(members.rank()) {
        combination.store(&value, 0);
    }
    Ok(())
}

/// Combines the values of members that are a power of two; each becomes the result.
pub(super) async fn double(members: &impl Members, reduction: &Reduction, value: &mut Vector) -> MpiResult {
    let rank = members.rank();
    let mut theirs = Vector::new(value.len())?;
    let mut distance = 1;
    while distance < members.size() {
        let other = rank.across(distance);
        members.swap((other, value), (other, &mut theirs)).await?;
        if other < rank {
            reduction.combine(&theirs, value)?;
        } else {
            // This member's are the left operands: the result is where the other's have come.
            reduction.combine(value, &mut theirs)?;
            std::mem::swap(value, &mut theirs);
        }
        distance *= 2;
    }
    Ok(())
}

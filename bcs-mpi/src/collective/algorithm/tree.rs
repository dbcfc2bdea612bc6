//! Reductions along the reduction tree, by messages of whole vectors: the holder of a left half sends it
//! to the holder of the right one, which combines; log2 n steps. From the last member the result goes to
//! the root, or along a binomial tree to all: one step, or log2 n. (Thakur, Rabenseifner, Gropp, 2005.)

use crate::collective::{Combination, Reduction, Results, Vector};
use crate::error::MpiResult;
use crate::progress::{Join, Members, binomial};
use nic_emu::arith::reduction_tree::ReductionTree;
use nic_emu::memory::numbers::CommRank;
use std::num::NonZeroU32;

/// Reduce and allreduce of operands of all kinds.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn reduce_along_tree(members: &impl Members, combination: &Combination) -> MpiResult {
    let mut value = combination.load(0, combination.count)?;
    to_last(members, &combination.reduction, &mut value).await?;
    let (rank, last) = (members.rank(), members.last());
    match combination.results {
        Results::Root(root) if root == last => {}
        Results::Root(root) if rank == last => return members.send(root, &value).await,
        Results::Root(root) if rank == root => members.receive(last, &mut value).await?,
        Results::Root(_) => {}
        _ => from_last(members, &mut value).await?,
    }
    if combination.gets_all(rank) {
        combination.store(&value, 0);
    }
    Ok(())
}

/// Combines the members' values along the reduction tree; the last member's becomes the result.
pub async fn to_last(members: &impl Members, reduction: &Reduction, value: &mut Vector) -> MpiResult {
    let Some(ranks) = NonZeroU32::new(members.size()) else { return Ok(()) };
    let mut left = Vector::default();
    for step in ReductionTree::new(ranks).steps() {
        let (giver, taker) = (CommRank(step.left), CommRank(step.right));
        if giver == members.rank() {
            // A left half is taken once: this member has no part in later steps.
            return members.send(taker, value).await;
        }
        if taker == members.rank() {
            if left.is_empty() {
                left = Vector::new(value.len())?;
            }
            members.receive(giver, &mut left).await?;
            reduction.combine(&left, value)?;
        }
    }
    Ok(())
}

/// Brings the last member's vector to all.
pub async fn from_last(members: &impl Members, value: &mut Vector) -> MpiResult {
    // Places count down from the last rank.
    let last = members.last().index();
    let member = |place: usize| CommRank((last - place) as u32);
    let (parent, children) = binomial(last - members.rank().index(), last + 1);
    if let Some(parent) = parent {
        members.receive(member(parent), value).await?;
    }
    let mut join = Join::new();
    for child in children {
        join.send(members, member(child), value)?;
    }
    join.all().await
}

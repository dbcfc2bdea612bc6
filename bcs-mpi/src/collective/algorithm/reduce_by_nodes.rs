//! Reduce and allreduce of members that share nodes: those of a node combine first, along the reduction tree;
//! the last one of each node exchanges with those of the others, and brings the result to its node, or to the
//! root (V. Tipparaju, J. Nieplocha, D. Panda, "Fast Collective Operations Using Shared and Remote Memory
//! Access Protocols on Clusters", IPDPS 2003). The others of a node wait for that one alone, and leave the
//! processors to it.
//!
//! The members of each node have to be a whole part of the reduction tree. For N nodes of n members, log2 n
//! steps on a node, then log2 N by recursive doubling where N is a power of two, else twice as many along the
//! tree; and at last log2 n for all of a node, or one for the root. A node sends a vector to another one in
//! each step between nodes.

use super::reduce_by_doubling::double;
use super::tree::{from_last, to_last};
use crate::collective::{Combination, Results};
use crate::error::MpiResult;
use crate::progress::{Members, Membership, Subgroup};

/// Combines vectors of any length and kind.
///
/// # Errors
/// Another member's vector is longer; no memory is left; the NIC fails.
pub async fn reduce_by_nodes(members: &impl Members, combination: &Combination) -> MpiResult {
    let (nodes, reduction) = (members.nodes()?, &combination.reduction);
    let (node, place) = nodes.place(members.rank());
    let mut value = combination.load(0, combination.count)?;
    let beside = Subgroup::new(members, nodes.members(node).to_vec(), place);
    to_last(&beside, reduction, &mut value).await?;
    let last = beside.size() as usize - 1;
    if place == last {
        let lasts = (0..nodes.count()).map(|node| nodes.members(node)[last]).collect();
        let across = Subgroup::new(members, lasts, node);
        if across.size().is_power_of_two() {
            double(&across, reduction, &mut value).await?;
        } else {
            to_last(&across, reduction, &mut value).await?;
            from_last(&across, &mut value).await?;
        }
    }
    let from = nodes.members(node)[last];
    match combination.results {
        Results::Root(root) if nodes.place(root).0 != node || root == from => {}
        Results::Root(root) if members.rank() == from => members.send(root, &value).await?,
        Results::Root(root) if members.rank() == root => members.receive(from, &mut value).await?,
        Results::Root(_) => {}
        _ => from_last(&beside, &mut value).await?,
    }
    if combination.gets_all(members.rank()) {
        combination.store(&value, 0);
    }
    Ok(())
}

//! Reduce and allreduce of members that share nodes: those of a node combine their vectors first, each a
//! share of them, and shares of all nodes are combined between members that have the same place on
//! theirs. So a vector crosses the network once for a node, and all members of a node have it do so at
//! the same time (J. L. Träff, S. Hunold, "Decomposing MPI Collectives for Exploiting Multi-lane
//! Communication", CLUSTER 2020).
//!
//! The members of each node have to be a whole part of the reduction tree. Three steps, of n - 1, N - 1
//! and N - 1 messages for N nodes of n members; a node sends 2 (N - 1) / N of a vector to others for
//! allreduce.

use super::shares::{bring_shares, combine_share, equal_share};
use crate::collective::{Combination, Vector};
use crate::error::MpiResult;
use crate::progress::{Members, Subgroup};
use nic_emu::memory::numbers::CommRank;

/// Combines vectors that travel as they lie.
///
/// # Errors
/// Another member's vector is longer; no memory is left; the NIC fails.
pub async fn reduce_in_lanes(members: &impl Members, combination: &Combination) -> MpiResult {
    let (reduction, count) = (&combination.reduction, combination.count);
    let (nodes, rank, element) = (members.nodes()?, members.rank(), reduction.element);
    let (node, lane) = nodes.place(rank);
    let lanes = nodes.members(node).len();
    let of_lane = |lane: usize| equal_share(lane, lanes, count, element);
    let of_node =
        |lane: usize, node: usize| equal_share(node, nodes.count(), of_lane(lane).len() / element, element);
    let share = |member: CommRank| {
        let (node, lane) = nodes.place(member);
        let (first, part) = (of_lane(lane).start, of_node(lane, node));
        first + part.start..first + part.end
    };
    let beside = Subgroup::new(members, nodes.members(node).to_vec(), lane);
    let (_vector, of_this_node) = Vector::apart(of_lane(lane).len())?;
    let share_beside = |mate: CommRank| of_lane(mate.index());
    combine_share(&beside, reduction, combination.given(), share_beside, of_this_node).await?;
    let opposite = (0..nodes.count()).map(|node| nodes.members(node)[lane]).collect();
    let across = Subgroup::new(members, opposite, node);
    let (_elsewhere, result) = combination.place_of_share(rank, share(rank))?;
    let share_across = |node: CommRank| of_node(lane, node.index());
    // In place, all have read this member's vector.
    combine_share(&across, reduction, of_this_node, share_across, result).await?;
    bring_shares(members, combination, share, result).await
}

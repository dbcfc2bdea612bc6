//! Reduce-scatter of members that share nodes: those of a node combine first, each what the members that have
//! its place on any node get; then those that have the same place combine what each of them gets. So every
//! byte of a result crosses the network once for a node, and all members of a node have it do so at the
//! same time (J. L. Träff, S. Hunold, "Decomposing MPI Collectives for Exploiting Multi-lane
//! Communication", CLUSTER 2020).
//!
//! The members of each node have to be a whole part of the reduction tree. Two steps, of n - 1 and N - 1
//! messages for N nodes of n members. Where shares are alike, a member sends (n - 1) / n of a vector to the
//! others of its node, and a node sends (N - 1) / N of one to other nodes; by `shares` it sends n times as
//! much. Long vectors go part by part, of every share as much: so little memory is needed for shares in the
//! order of lanes.

use super::shares::combine_share;
use crate::collective::{Combination, Vector};
use crate::error::MpiResult;
use crate::progress::{Members, Membership, Subgroup};
use nic_emu::memory::numbers::CommRank;

/// Bytes of a vector that are combined at once, where all shares are as long.
const PART_BYTES: usize = 4 << 20;

/// Combines vectors that travel as they lie, and gives each member its share.
///
/// # Errors
/// Another member's share is longer; no memory is left; the NIC fails.
pub async fn reduce_scatter_in_lanes(members: &impl Members, combination: &Combination) -> MpiResult {
    let (reduction, nodes, rank) = (&combination.reduction, members.nodes()?, members.rank());
    let (node, lane) = nodes.place(rank);
    let in_lane = |lane: usize| (0..nodes.count()).map(|node| nodes.members(node)[lane]).collect::<Vec<_>>();
    let lanes: Vec<Vec<CommRank>> = (0..nodes.members(node).len()).map(in_lane).collect();
    let beside = Subgroup::new(members, nodes.members(node).to_vec(), lane);
    let across = Subgroup::new(members, lanes[lane].clone(), node);
    let size = members.size() as usize;
    let longest =
        CommRank::all(members.size()).map(|member| combination.result_of(member).len()).max().unwrap_or(0);
    let most = (PART_BYTES / size / reduction.element).max(1) * reduction.element;
    let (_elsewhere, result) = combination.place_apart(rank)?;
    let (_vector, by_lanes) = Vector::apart(combination.bytes().min(most * size))?;
    for part in 0..longest.div_ceil(most) {
        // A part of each share, lane by lane, and where those of lanes end.
        let mut ends = vec![0];
        for member in lanes.iter().flatten() {
            let share = combination.given().part(combination.result_of(*member)).block(part, most);
            let start = ends[ends.len() - 1];
            ends.push(start + share.bytes());
            share.copy_to(by_lanes.part(start..start + share.bytes()));
        }
        let first_of = |lane: usize| lane * nodes.count();
        let of_lane = |lane: CommRank| ends[first_of(lane.index())]..ends[first_of(lane.index() + 1)];
        let own_lane = by_lanes.part(of_lane(beside.rank()));
        combine_share(&beside, reduction, by_lanes, of_lane, own_lane).await?;
        let ends = &ends[first_of(lane)..];
        let share = |node: CommRank| ends[node.index()] - ends[0]..ends[node.index() + 1] - ends[0];
        combine_share(&across, reduction, own_lane, share, result.block(part, most)).await?;
    }
    // Of all parts this member's vector has been read.
    result.copy_to(combination.wanted(rank));
    Ok(())
}

//! Reduce-scatter of operands that have to be packed for their way: every member sends every other its share
//! whole. One step.

use crate::collective::{Combination, Results, Vector};
use crate::error::MpiResult;
use crate::progress::{Join, Members};
use nic_emu::memory::numbers::CommRank;
use std::ops::Range;

/// Combines vectors, and gives each member its share.
///
/// # Errors
/// Another member's share is longer; the NIC fails.
pub async fn combine_packed_shares(members: &impl Members, combination: &Combination) -> MpiResult {
    let Results::Shares(shares) = &combination.results else { return Ok(()) };
    let rank = members.rank();
    let load = |share: &Range<usize>| combination.load(share.start, share.len());
    let own: Vec<Vector> = shares.iter().map(load).collect::<MpiResult<_>>()?;
    let mut vectors = vec![own[rank.index()].clone(); own.len()];
    let mut join = Join::new();
    for (member, vector) in (0..).map(CommRank).zip(&mut vectors) {
        if member != rank && !vector.is_empty() {
            join.receive(members, member, vector)?;
        }
    }
    for member in members.others().filter(|member| !own[member.index()].is_empty()) {
        join.send(members, member, &own[member.index()])?;
    }
    join.all().await?;
    if let Some(result) = combination.reduction.combine_all(&mut vectors)? {
        combination.store(result, 0);
    }
    Ok(())
}

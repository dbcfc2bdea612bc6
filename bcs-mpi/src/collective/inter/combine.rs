//! Reductions: a group combines along its reduction tree. Of a reduce only the group that gives does, and its
//! last member sends the result to the root: log2 n + 1 steps. Otherwise the last members of both exchange
//! results, and bring them to their groups: all of it along a binomial tree in 2 log2 n + 1 steps, or to each
//! member its share in log2 n + 2.

use super::sides::{Role, Sides};
use crate::collective::algorithm::{from_last, to_last};
use crate::collective::{Combination, Results, Vector};
use crate::error::MpiResult;
use crate::progress::{Arrival, Join, Members, Membership};
use nic_emu::memory::numbers::CommRank;
use nic_emu::root::NO_ROOT;

/// Combines the vectors of the group that the root is not in; the root gets the result.
///
/// # Errors
/// The NIC fails.
pub async fn reduce(sides: Sides, combination: Combination, role: Role) -> MpiResult {
    let bytes = combination.bytes();
    sides.announce_rooted(role, combination.reduction.said(), bytes)?;
    let Sides { remote, before, .. } = sides;
    match role {
        _ if bytes == 0 => {}
        Role::Idle => {}
        Role::Root => {
            let mut result = Vector::new(bytes)?;
            remote.receive(remote.last(), &mut result).await?;
            combination.store(&result, 0);
        }
        Role::Of(root) => {
            let mut value = combination.load(0, combination.count)?;
            to_last(&before, &combination.reduction, &mut value).await?;
            if before.rank == before.last() {
                remote.send(root, &value).await?;
            }
        }
    }
    Ok(())
}

/// Combines the vectors of each group, and gives each member of the other one the result, or its share.
///
/// # Errors
/// The NIC fails.
pub async fn combine(sides: Sides, combination: Combination) -> MpiResult {
    let Sides { remote, before, after, .. } = sides;
    remote.announce(&Arrival::board(NO_ROOT, combination.reduction.said(), combination.bytes()))?;
    let mut value = combination.load(0, combination.count)?;
    if value.is_empty() {
        return Ok(());
    }
    to_last(&before, &combination.reduction, &mut value).await?;
    let (rank, last) = (after.rank, after.last());
    let mut result = value;
    if rank == last {
        let own = std::mem::replace(&mut result, Vector::new(combination.bytes())?);
        remote.swap((remote.last(), &own), (remote.last(), &mut result)).await?;
    }
    let share = |member| combination.result_of(member);
    match combination.results {
        Results::Shares(_) if rank == last => {
            let mut join = Join::new();
            for member in CommRank::all(last.0).filter(|member| !share(*member).is_empty()) {
                join.send(&after, member, &result[share(member)])?;
            }
            join.all().await?;
        }
        Results::Shares(_) if share(rank).is_empty() => {}
        Results::Shares(_) => after.receive(last, &mut result[share(rank)]).await?,
        _ => from_last(&after, &mut result).await?,
    }
    combination.store(&result[share(rank)], 0);
    Ok(())
}

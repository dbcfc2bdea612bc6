//! Reduce and allreduce in an exchange, as all members are on one node, in two steps or more: every member
//! combines a share of all vectors ([`super::combine`]), and gives its share of the result to the root, or to
//! all. Where there are few members, the root combines everything, in one.

use super::combine::{combine_given, combine_results};
use super::move_in_exchange::move_blocks;
use super::shares::{equal_share, reduce_by_shares};
use crate::collective::{Agreed, Combination, Movement, Pattern, Results};
use crate::error::MpiResult;
use crate::process::with;
use crate::progress::{Arrival, Exchange, Members, Memory, Party, take_board};
use nic_emu::memory::numbers::CommRank;
use nic_emu::policy;
use nic_emu::slab::SLAB_BYTES;
use std::ops::Range;

/// Combines vectors of any length.
///
/// # Errors
/// Another member gave less; no memory is left; the NIC fails.
pub async fn reduce_in_exchange(party: &Party, combination: &Combination) -> MpiResult {
    let (count, element) = (combination.count, combination.reduction.element);
    let (rank, size) = (party.rank, party.size);
    let Some(exchange) = party.exchange(&combination.arrival()).await? else {
        return reduce_by_shares(party, combination).await;
    };
    let alone = match combination.results {
        Results::All if policy::all_combine(party.is_crowded(), size) => {
            return combine_results(&exchange, combination).await;
        }
        Results::Root(root) if policy::root_combines(party.is_crowded(), size) => Some(root),
        _ => None,
    };
    let share = |member: CommRank| match alone {
        Some(root) if member == root => 0..count * element,
        Some(_) => 0..0,
        None => equal_share(member.index(), size as usize, count, element),
    };
    let (_elsewhere, result) = combination.place_of_share(rank, share(rank))?;
    // In place, others read the own share of this member nowhere.
    combine_given(&exchange, combination, &share, result).await?;
    match alone {
        Some(_) => Ok(()),
        None => gather_shares(&exchange, combination, &share, result).await,
    }
}

/// Gives this member's share of the result to those who get all of it, and takes the others' if it does. A
/// step of the exchange.
///
/// # Errors
/// The NIC fails.
async fn gather_shares(
    exchange: &Exchange,
    combination: &Combination,
    share: &dyn Fn(CommRank) -> Range<usize>,
    result: Memory,
) -> MpiResult {
    let party = &exchange.party;
    let takes = combination.gets_all(party.rank);
    let longest = CommRank::all(party.size).map(|member| share(member).len()).max().unwrap_or(0);
    let place = |member: CommRank| combination.wanted(party.rank).part(share(member));
    if longest <= SLAB_BYTES {
        let arrival = Arrival::board(CommRank(0), (0, 0), longest);
        // SAFETY: the promise of `Memory::new`; at most a slab is buffered when it is posted.
        let release = unsafe { party.meet(&arrival, result.first(), result.bytes(), takes) }.await?;
        let Some(release) = release.filter(|_| takes) else { return Ok(()) };
        let pieces = party.others().map(|member| (member, 0, place(member)));
        return with(|process| take_board(process, release, result.bytes(), pieces));
    }
    let pattern = match combination.results {
        Results::Root(root) => Pattern::Gather(root),
        _ => Pattern::Allgather,
    };
    move_blocks(exchange, &Movement::new(pattern, Agreed::default(), &|_| result, &place)).await
}

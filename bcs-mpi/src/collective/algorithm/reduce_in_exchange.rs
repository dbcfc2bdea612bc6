//! Reduce and allreduce in an exchange, as all members are on one node, in two steps or more: every member
//! combines a share of all vectors ([`super::combine`]), and gives its share of the result to the root, or to
//! all. Where there are few members, the root combines everything, in one.

use super::super::combination::{Combination, Results};
use super::combine::{combine_given, combine_results};
use super::shares::{equal_share_bytes, reduce_by_shares};
use crate::error::MpiResult;
use crate::process::task::with;
use crate::progress::exchange::{Contribution, Destination, Exchange};
use crate::progress::meeting::Arrival;
use crate::progress::members::Members;
use crate::progress::party::Party;
use crate::progress::released::take_board;
use nic_emu::port::Giving;
use nic_emu::slab::SLAB_BYTES;
use std::ops::Range;

/// Combines vectors of any length.
///
/// # Errors
/// Another member gave less; no memory is left; the NIC fails.
pub async fn reduce_in_exchange(party: &Party, combination: &Combination<'_>) -> MpiResult {
    let (count, element) = (combination.count(), combination.reduction.element);
    let (rank, size, to) = (party.rank, party.size, combination.to());
    let Some(exchange) = party.exchange(&combination.arrival()).await? else {
        return reduce_by_shares(party, combination).await;
    };
    if matches!(combination.results, Results::All) && nic_emu::policy::all_combine(party.is_crowded(), size) {
        return combine_results(&exchange, combination).await;
    }
    let root = match *combination.results {
        Results::Root(root) => Some(root),
        _ => None,
    };
    let by_root = nic_emu::policy::root_combines(party.is_crowded(), size);
    let alone = root.filter(|_| by_root);
    let share = |member| match alone {
        Some(root) if member == root => 0..count * element,
        Some(_) => 0..0,
        None => equal_share_bytes(member, size, count, element),
    };
    let (own, gets_all) = (share(rank), combination.gets_all(rank));
    let (_elsewhere, result) = combination.place_of_share(rank, &own)?;
    // SAFETY: the promise of `Combination::new`. In place, others read the own share of this member nowhere.
    unsafe { combine_given(&exchange, combination, &share, result).await? };
    if alone.is_some() {
        return Ok(());
    }
    let readers: Vec<u32> = party.others().filter(|member| combination.gets_all(*member)).collect();
    // SAFETY: the shares of the result are disjoint, and live until the answer is there; the own share stays
    // as it is.
    unsafe { gather_shares(&exchange, (result, &readers), gets_all, &share, to).await }
}

/// Gives this member's share of a result, and puts the others', which are `share` of it, in their places from
/// `to` on, if it takes them. A step of the exchange.
///
/// # Safety
/// The given share must be readable and, if this member takes, the others' places writable; nobody else uses
/// them until the answer is there.
///
/// # Errors
/// The NIC fails.
async unsafe fn gather_shares(
    exchange: &Exchange,
    (data, readers): (*const u8, &[u32]),
    takes: bool,
    share: &dyn Fn(u32) -> Range<usize>,
    to: *mut u8,
) -> MpiResult {
    let party = exchange.party().clone();
    let (bytes, others) = (share(party.rank).len(), party.others().filter(|_| takes));
    let longest = (0..party.size).map(|member| share(member).len()).max().unwrap_or(0);
    let place = |member: u32| to.wrapping_add(share(member).start);
    if longest <= SLAB_BYTES {
        let arrival = Arrival { most_bytes: longest, ..Arrival::default() };
        // SAFETY: the caller's promise; at most a slab is buffered when it is posted.
        let release = unsafe { party.meet(&arrival, data, bytes, takes) }.await?;
        let Some(release) = release.filter(|_| takes) else { return Ok(()) };
        let pieces = others.map(|member| (member, 0..share(member).len(), place(member)));
        // SAFETY: as above.
        return with(|process| unsafe { take_board(process, release, bytes, pieces) });
    }
    let destinations: Vec<Destination> =
        others.map(|member| (member, place(member), share(member).len())).collect();
    let giving = Giving::Same { data, bytes };
    // SAFETY: the caller's promise.
    unsafe { exchange.move_blocks(Contribution { giving, readers }, &destinations).await }
}

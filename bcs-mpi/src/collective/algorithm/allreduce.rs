//! Allreduce, as [`policy`](super::super::policy) says: by the NIC's Reduce Helper; from a board; or by
//! shares in two steps: every member combines a share of all vectors, in a call that blocks on one node in
//! an exchange ([`super::combining`]), else by messages ([`super::shares`]), and gives its share's
//! result to all others. Vectors that have to be packed go along the reduction tree to the last rank and from
//! there to all along a binomial tree: 2 log2 n steps.

use super::super::policy::{self, Way};
use super::super::reduction::{Reduction, Vector};
use super::combining::{Combined, combine_given, combine_on_board};
use super::gather_shares::gather_shares;
use super::reduce::{Operands, to_last};
use super::shares::{combine_share, equal_share_bytes};
use super::to_all::to_all;
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::nodes::binomial;
use crate::progress::party::Party;
use crate::progress::pending::Join;
use nic_emu::descriptor::CollectiveKind;

/// Combines all members' vectors; everybody gets the result.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn allreduce(party: Party, reduction: Reduction, operands: Operands) -> MpiResult {
    let Operands { from, to, count } = operands;
    let bytes = count * reduction.element;
    if bytes == 0 {
        return party.announce(0, (0, 0), 0);
    }
    if party.size == 1 {
        // SAFETY: whoever made the operands has checked them, and the program keeps them.
        unsafe { reduction.store(&reduction.load(from, 0, count), to) };
        return Ok(());
    }
    match policy::way_of_reduction(&party, &reduction, bytes) {
        Way::Nic(operation) => {
            let arrival = Arrival { kind: CollectiveKind::Allreduce, operation, ..Arrival::default() };
            // SAFETY: as above.
            unsafe { party.on_nic(&arrival, (from, bytes), 0, (to, bytes)).await }
        }
        Way::Board => {
            let wanted = (0..party.size, 0..bytes);
            // SAFETY: as above.
            unsafe { combine_on_board(&party, &reduction, (from, bytes, 0), wanted, to).await }
        }
        Way::Exchange => {
            // SAFETY: as above.
            unsafe { in_exchange(&party, &reduction, from, to, count).await }
        }
        Way::Shares => {
            party.announce(0, reduction.said(), bytes)?;
            // SAFETY: as above.
            unsafe { by_shares(&party, &reduction, from, to, count).await }
        }
        Way::Tree => {
            party.announce(0, reduction.said(), bytes)?;
            // SAFETY: as above.
            unsafe { along_trees(&party, &reduction, from, to, count).await }
        }
    }
}

async unsafe fn in_exchange(
    party: &Party,
    reduction: &Reduction,
    from: *const u8,
    to: *mut u8,
    count: usize,
) -> MpiResult {
    let (element, bytes) = (reduction.element, count * reduction.element);
    let arrival = Arrival { operation: reduction.said(), most_bytes: bytes, ..Arrival::default() };
    let exchange = party.exchange(&arrival).await?;
    let share = |member| equal_share_bytes(member, party.size, count, element);
    let result = to.wrapping_add(share(party.rank).start);
    let combined = Combined::share_of_all(party, &share);
    // SAFETY: the caller's promise: both vectors have `count` elements. In place, others read the own share
    // of this member nowhere.
    unsafe { combine_given(&exchange, reduction, (from, bytes), &combined, result).await? };
    let readers: Vec<u32> = party.others().collect();
    // SAFETY: the shares of the result are disjoint; the own share stays as it is.
    unsafe { gather_shares(&exchange, (result, &readers), true, &share, to).await }
}

async unsafe fn by_shares(
    party: &Party,
    reduction: &Reduction,
    from: *const u8,
    to: *mut u8,
    count: usize,
) -> MpiResult {
    let element = reduction.element;
    let share = |member| equal_share_bytes(member, party.size, count, element);
    let own = share(party.rank);
    // SAFETY: the caller's promise: both vectors have `count` elements.
    let result = unsafe { to.add(own.start) };
    // SAFETY: as above; in place, no other share is written before all have been sent.
    unsafe { combine_share(party, reduction, from, share, result).await? };
    let place = |member: u32| (to.wrapping_add(share(member).start), share(member).len());
    // SAFETY: the shares of the result are disjoint; the own share stays as it is.
    unsafe { to_all(party, (result, own.len()), place, false).await }
}

async unsafe fn along_trees(
    party: &Party,
    reduction: &Reduction,
    from: *const u8,
    to: *mut u8,
    count: usize,
) -> MpiResult {
    // SAFETY: the caller's promise.
    let mut value = unsafe { reduction.load(from, 0, count) };
    to_last(party, reduction, &mut value).await?;
    from_last(party, &mut value).await?;
    // SAFETY: the caller's promise.
    unsafe { reduction.store(&value, to) };
    Ok(())
}

/// Brings the last member's vector to all.
pub(in crate::collective) async fn from_last(party: &Party, value: &mut Vector) -> MpiResult {
    // Places count down from the last rank.
    let member = |place: usize| party.size - 1 - place as u32;
    let (parent, children) = binomial(member(party.rank as usize) as usize, party.size as usize);
    if let Some(parent) = parent {
        party.receive(member(parent), value).await?;
    }
    let mut join = Join::new();
    for child in children {
        // SAFETY: the value lives, unchanged, until the join is complete.
        join.add(unsafe { party.post_send(member(child), value.as_ptr(), value.len())? });
    }
    join.all().await
}

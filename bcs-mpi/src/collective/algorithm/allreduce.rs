//! Allreduce: by the NIC's Reduce Helper what [`policy`](super::super::policy) says. Larger vectors by shares (two steps: [`super::shares`], then every member sends its
//! share's result to all others), and those that have to be packed for their way along the reduction tree to the last rank and from there to all along
//! a binomial tree: 2 log2 n steps.

use super::super::policy::{self, Way};
use super::super::reduction::{Reduction, Vector};
use super::reduce::{Operands, to_last};
use super::shares::{combine_share, equal_share};
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::party::{Join, Party};
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

async unsafe fn by_shares(
    party: &Party,
    reduction: &Reduction,
    from: *const u8,
    to: *mut u8,
    count: usize,
) -> MpiResult {
    let element = reduction.element;
    let share = |member: u32| {
        let elements = equal_share(member, party.size, count);
        elements.start * element..elements.end * element
    };
    let own = share(party.rank);
    // SAFETY: the caller's promise: both vectors have `count` elements.
    let result = unsafe { to.add(own.start) };
    // SAFETY: as above; in place, no other share is written before all have been sent.
    unsafe { combine_share(party, reduction, from, share, result).await? };
    let mut join = Join::new();
    for member in party.others() {
        let theirs = share(member);
        if !theirs.is_empty() {
            // SAFETY: the shares of the result are disjoint.
            join.add(unsafe { party.post_receive(member, to.add(theirs.start), theirs.len())? });
        }
    }
    for member in party.others().filter(|_| !own.is_empty()) {
        // SAFETY: as above; the own share stays as it is.
        join.add(unsafe { party.post_send(member, result, own.len())? });
    }
    join.all().await
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
    let size = party.size;
    let place = size - 1 - party.rank;
    let lowest = if place == 0 { size.next_power_of_two() } else { place & place.wrapping_neg() };
    if place != 0 {
        party.receive(size - 1 - (place - lowest), value).await?;
    }
    let mut join = Join::new();
    let mut bit = lowest >> 1;
    while bit != 0 {
        if place + bit < size {
            // SAFETY: the value lives, unchanged, until the join is complete.
            join.add(unsafe { party.post_send(size - 1 - place - bit, value.as_ptr(), value.len())? });
        }
        bit >>= 1;
    }
    join.all().await
}

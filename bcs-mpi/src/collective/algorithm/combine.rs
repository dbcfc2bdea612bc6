//! Combining in an exchange, as all members are on one node: each combines what it wants of the contributions
//! that count for it, in the order of the reduction tree, from where members give them. One step for each
//! part, which a cache holds of several members; a byte is copied once, or twice through a lane.

use super::super::combination::Combination;
use super::super::reduction::Reduction;
use super::scratch::Scratch;
use super::shares::combine_shares;
use crate::error::MpiResult;
use crate::progress::exchange::{Contribution, Destination, Exchange};
use crate::progress::members::Members;
use crate::progress::party::Party;
use nic_emu::port::{Giving, Taking};
use std::ops::Range;

/// Bytes that are combined in a step at most: what a cache holds, and where ranks share cores more, as each
/// step may cost a context switch. With 2 ranks an allreduce of 1 MB takes 240 µs by 96 KB, and 350 by 256
/// (`storm run -n 2 microbench allreduce --sizes 1M`).
const fn most_bytes(is_crowded: bool) -> usize {
    if is_crowded { 256 << 10 } else { 96 << 10 }
}

/// Reduce-scatter.
///
/// # Errors
/// Another member gave less; no memory is left; the NIC fails.
pub async fn combine_in_exchange(party: &Party, combination: &Combination<'_>) -> MpiResult {
    match party.exchange(&combination.arrival()).await? {
        Some(exchange) => combine_results(&exchange, combination).await,
        None => combine_shares(party, combination).await,
    }
}

/// Combines what this member gets, in an exchange that members have met for: reduce-scatter, or a scan.
///
/// # Errors
/// As [`combine_in_exchange`].
pub async fn combine_results(exchange: &Exchange, combination: &Combination<'_>) -> MpiResult {
    let share = |member: u32| combination.result_of(member);
    let (elsewhere, result) = combination.place_apart(share(exchange.party().rank).len())?;
    // SAFETY: the promise of `Combination::new`; at the end all have read this member's operands.
    unsafe {
        combine_given(exchange, combination, &share, result).await?;
        std::ptr::copy_nonoverlapping(elsewhere.as_ptr(), combination.to(), elsewhere.len());
    }
    Ok(())
}

/// Combines this member's share of the contributions that count for it into `result`, which may lie where the
/// share lies in its own. `share` says which bytes of a contribution are a member's.
///
/// # Safety
/// `result` must be writable for this member's share; nobody else uses it until the answer is there.
///
/// # Errors
/// As [`combine_in_exchange`].
pub async unsafe fn combine_given(
    exchange: &Exchange,
    combination: &Combination<'_>,
    share: &dyn Fn(u32) -> Range<usize>,
    result: *mut u8,
) -> MpiResult {
    let (party, element) = (exchange.party(), combination.reduction.element);
    let (rank, size) = (party.rank, party.size);
    let operands = combination.operands_of(rank, size);
    let longest = (0..party.size).map(|member| share(member).len()).max().unwrap_or(0);
    let most = most_bytes(party.is_crowded());
    let most = (most - most % element).max(element).min(longest);
    let mut scratch = Scratch::take(party, operands.len() * most.min(share(rank).len()))?;
    for first in (0..longest).step_by(most.max(1)) {
        let part = |member: u32| {
            let share = share(member);
            let start = share.end.min(share.start + first);
            start..share.end.min(start + most)
        };
        let (own, bytes) = (part(rank), part(rank).len());
        let places = Places::new(
            (rank as usize, operands.len()),
            (combination.from().wrapping_add(own.start), bytes),
            (result.wrapping_add(first.min(share(rank).len())), scratch.as_mut_ptr()),
        );
        // What this member combines itself the others do not, unless it combines all.
        let skip = if share(rank).len() < combination.bytes() { own.clone() } else { 0..0 };
        let giving = Giving::Same {
            data: combination.from(),
            bytes: combination.bytes(),
            skip,
            taking: Taking::Combine(most),
        };
        let reads = |member: &u32| {
            combination.operands_of(*member, size).contains(&rank) && !part(*member).is_empty()
        };
        let readers: Vec<u32> = party.others().filter(reads).collect();
        let contribution = Contribution { giving, wanted: Some(&part), readers: &readers };
        let others = operands.clone().filter(|member| *member != rank && bytes > 0);
        let destinations: Vec<Destination> =
            others.map(|member| (member, places.of(member as usize), bytes)).collect();
        // SAFETY: the caller's promise, and that of `Combination::new`; the places are apart from each other.
        unsafe {
            exchange.move_blocks(contribution, &destinations).await?;
            places.combine(combination.reduction)?;
        }
    }
    scratch.give_back(party)
}

/// Where a part of each contribution that counts is combined.
struct Places {
    rank: usize,
    members: usize,
    own: *const u8,
    bytes: usize,
    result: *mut u8,
    scratch: *mut u8,
    /// The last member's place is that of the result.
    is_last_in_result: bool,
    /// This member's own part is used where it lies: a left operand is only read.
    is_own_in_place: bool,
}

impl Places {
    fn new(
        (rank, members): (usize, usize),
        (own, bytes): (*const u8, usize),
        (result, scratch): (*mut u8, *mut u8),
    ) -> Self {
        let is_last_or_no_operand = rank + 1 >= members;
        // Otherwise the result would overwrite this member's own part before its turn.
        let is_last_in_result = is_last_or_no_operand || own.addr().abs_diff(result.addr()) >= bytes;
        let is_own_in_place = rank.is_multiple_of(2) && !is_last_or_no_operand;
        Self { rank, members, own, bytes, result, scratch, is_last_in_result, is_own_in_place }
    }

    fn of(&self, member: usize) -> *mut u8 {
        match member {
            _ if member == self.rank && self.is_own_in_place => self.own.cast_mut(),
            _ if member + 1 == self.members && self.is_last_in_result => self.result,
            _ => self.scratch.wrapping_add(member * self.bytes),
        }
    }

    /// Combines what is at the places, and puts it where the result goes.
    ///
    /// # Safety
    /// The own part must be readable, and the places of all members hold what they give.
    unsafe fn combine(&self, reduction: &Reduction) -> MpiResult {
        if self.members == 0 {
            return Ok(());
        }
        let (own, last, bytes) = (self.of(self.rank), self.of(self.members - 1), self.bytes);
        // SAFETY: the caller's promise. The places are different ones, and the own part, where it lies, is no
        // right operand. In place, the own part may lie where the result goes.
        unsafe {
            if self.rank < self.members && own.cast_const() != self.own {
                std::ptr::copy(self.own, own, bytes);
            }
            reduction.combine_places(self.members, bytes, |member| self.of(member))?;
            if last != self.result {
                std::ptr::copy_nonoverlapping(last, self.result, bytes);
            }
        }
        Ok(())
    }
}

//! Combining in an exchange, as all members are on one node: each combines what it wants of the contributions
//! that count for it, in the order of the reduction tree, from where members give them. One step for each
//! part, which a cache holds of several members; a byte is copied once, or twice through a lane.

use super::shares::combine_shares;
use crate::collective::{Combination, Reduction, Vector};
use crate::error::MpiResult;
use crate::progress::{Contribution, Destination, Exchange, Members, Memory, Party};
use nic_emu::lane::LANE_CHUNK_BYTES;
use nic_emu::memory::numbers::CommRank;
use nic_emu::port::Giving;
use std::ops::Range;

/// Bytes that a member combines in a step at most: what a cache holds, and of so many different parts what a
/// lane takes at once, unless that is little. Where ranks share cores more, as each step may cost a context
/// switch.
const fn part_bytes(is_crowded: bool, parts: usize) -> usize {
    let (cached, laid) = (96 << 10, LANE_CHUNK_BYTES / parts);
    match is_crowded {
        true => LANE_CHUNK_BYTES,
        false if laid < 16 << 10 || laid > cached => cached,
        false => laid,
    }
}

/// Reduce-scatter.
///
/// # Errors
/// Another member gave less; no memory is left; the NIC fails.
pub async fn combine_in_exchange(party: &Party, combination: &Combination) -> MpiResult {
    match party.exchange(&combination.arrival()).await? {
        Some(exchange) => combine_results(&exchange, combination).await,
        None => combine_shares(party, combination).await,
    }
}

/// Combines what this member gets, in an exchange that members have met for: reduce-scatter, or a scan.
///
/// # Errors
/// As [`combine_in_exchange`].
pub async fn combine_results(exchange: &Exchange, combination: &Combination) -> MpiResult {
    let rank = exchange.party.rank;
    let (_elsewhere, result) = combination.place_apart(rank)?;
    combine_given(exchange, combination, &|member| combination.result_of(member), result).await?;
    // All have read this member's operands.
    result.copy_to(combination.wanted(rank));
    Ok(())
}

/// Combines this member's share of the contributions that count for it into `result`, which may lie where the
/// share lies in its own. `share` says which bytes of a contribution are a member's.
///
/// # Errors
/// As [`combine_in_exchange`].
pub async fn combine_given(
    exchange: &Exchange,
    combination: &Combination,
    share: &dyn Fn(CommRank) -> Range<usize>,
    result: Memory,
) -> MpiResult {
    let (party, element, given) = (&exchange.party, combination.reduction.element, combination.given());
    let (rank, size) = (party.rank, party.size);
    let operands = combination.operands_of(rank, size);
    let longest = CommRank::all(size).map(|member| share(member).len()).max().unwrap_or(0);
    // Members want the same of each other if each wants everything, or nothing.
    let is_same = CommRank::all(size).all(|member| [0, combination.bytes()].contains(&share(member).len()));
    let most = part_bytes(party.is_crowded(), if is_same { 1 } else { size as usize });
    let most = (most - most % element).max(element).min(longest);
    let mut scratch = Vector::new(operands as usize * most.min(share(rank).len()))?;
    for first in (0..longest).step_by(most.max(1)) {
        let part = |member: CommRank| {
            let share = share(member);
            let start = share.end.min(share.start + first);
            start..share.end.min(start + most)
        };
        let raw = |memory: Memory| (memory.first().cast_const(), memory.bytes());
        let blocks: Vec<_> =
            CommRank::all(size).filter(|_| !is_same).map(|member| raw(given.part(part(member)))).collect();
        let giving = match is_same {
            true => {
                let (data, bytes) = raw(given.part(first..longest.min(first + most)));
                Giving::Same { data, bytes }
            }
            false => Giving::Each { blocks: &blocks, combined: true },
        };
        let own = given.part(part(rank));
        let start = first.min(result.bytes());
        let places = PartPlaces {
            rank: rank.index(),
            members: operands as usize,
            own,
            result: result.part(start..start + own.bytes()),
            scratch: scratch.memory(),
        };
        let reads =
            |member: &CommRank| rank.0 < combination.operands_of(*member, size) && !part(*member).is_empty();
        let readers: Vec<_> = party.others().filter(reads).collect();
        let others = CommRank::all(operands).filter(|member| *member != rank && own.bytes() > 0);
        let destinations: Vec<Destination> =
            others.map(|member| (member, places.of(member.index()))).collect();
        // SAFETY: the promise of `Memory::new`; the places are apart from each other.
        let combine = |others: &[*const u8]| unsafe { places.combine(&combination.reduction, others) };
        let (contribution, stays) =
            (Contribution { giving, readers: &readers }, combination.reduction.combines_what_others_write());
        // SAFETY: as above.
        unsafe { exchange.move_operands(contribution, &destinations, stays, combine).await? };
    }
    Ok(())
}

/// Where a part of each contribution that counts is combined.
struct PartPlaces {
    rank: usize,
    members: usize,
    own: Memory,
    result: Memory,
    scratch: Memory,
}

impl PartPlaces {
    /// The last member's place is that of the result, unless that would overwrite this member's own part
    /// before its turn.
    fn of(&self, member: usize) -> Memory {
        let (own, result, bytes) = (self.own.first(), self.result.first(), self.own.bytes());
        let is_free = self.rank + 1 >= self.members || own.addr().abs_diff(result.addr()) >= bytes;
        match member + 1 == self.members && is_free {
            true => self.result,
            false => self.scratch.block(member, bytes),
        }
    }

    /// Combines the own part, if that counts, and those of the other members, from where they are, and puts
    /// the result where it goes.
    ///
    /// # Safety
    /// All must be readable.
    unsafe fn combine(&self, reduction: &Reduction, others: &[*const u8]) -> MpiResult {
        let mut operands = others.to_vec();
        if self.rank < self.members {
            operands.insert(self.rank.min(operands.len()), self.own.first());
        }
        let bytes = self.own.bytes();
        let Some(&last) = operands.last().filter(|_| bytes > 0) else { return Ok(()) };
        let is_alone = operands.len() == 1;
        // SAFETY: the caller's promise; the places are different ones. In place, the own part may lie where
        // the result goes.
        unsafe {
            reduction.combine_places(operands, bytes, |member| self.of(member).first())?;
            let combined =
                if is_alone { Memory::new(last.cast_mut(), bytes) } else { self.of(self.members - 1) };
            combined.copy_to(self.result);
        }
        Ok(())
    }
}

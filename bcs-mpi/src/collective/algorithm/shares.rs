//! Combining by shares: every member sends every other the share that this one combines, and combines its
//! own of all contributions, in the order of the reduction tree. One step, of n - 1 messages each way for
//! n members; every byte is sent once. Reduce-scatter is that; in reductions of whole vectors a second
//! step brings the shares of the result to the root, or to all, across the network once for a node
//! (Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, with one step each
//! instead of log2 n).

use super::allgather_by_nodes::to_all;
use super::move_directly::move_directly;
use crate::collective::vector::KEPT_BYTES;
use crate::collective::{Agreed, Combination, Movement, Pattern, Reduction, Results, Vector};
use crate::error::{MpiError, MpiResult};
use crate::progress::{Join, Members, Memory};
use nic_emu::memory::numbers::CommRank;
use std::ops::Range;

/// Bytes of a share that are combined at once at least, where there are more.
const LEAST_PART_BYTES: usize = 64 << 10;

/// One of the shares of a vector of so many elements, of so many bytes each, that is cut into shares as equal
/// as can be: its bytes.
pub fn equal_share(share: usize, shares: usize, elements: usize, element: usize) -> Range<usize> {
    let (each, more) = (elements / shares, elements % shares);
    let start = share * each + share.min(more);
    start * element..(start + each + (share < more) as usize) * element
}

/// Bytes of a share that are combined at once, a whole number of elements: as many as give all members' two
/// parts room in what is kept, and enough for a message that is worth its way. The same for all members.
fn part_bytes(members: u32, element: usize) -> usize {
    let bytes = (KEPT_BYTES / (2 * members as usize)).max(LEAST_PART_BYTES);
    (bytes - bytes % element.max(1)).max(element)
}

/// Combines this member's share of all contributions, of which this member's is `data`, into `result`, which
/// may lie where the share lies in that. `share` says which bytes of a contribution are a member's. Long
/// shares are combined part by part: while one is combined, the next is on its way.
///
/// # Errors
/// Another member's share is longer; no memory is left; the NIC fails.
pub async fn combine_share(
    members: &impl Members,
    reduction: &Reduction,
    data: Memory,
    share: impl Fn(CommRank) -> Range<usize>,
    result: Memory,
) -> MpiResult {
    let (rank, size) = (members.rank(), members.size());
    let longest = CommRank::all(size).map(|member| share(member).len()).max().unwrap_or(0);
    let most = part_bytes(size, reduction.element).min(longest);
    let part = |member: CommRank, number: usize| {
        let share = share(member);
        let start = share.end.min(share.start + number * most);
        start..share.end.min(start + most)
    };
    let room = most.min(share(rank).len());
    let count = size as usize;
    let mut scratch = Vector::new(2 * count * room)?;
    let staged = scratch.memory();
    let place = |number: usize, member: CommRank| {
        staged.block(number % 2 * count + member.index(), room).part(0..part(rank, number).len())
    };
    let post = |number: usize| {
        let mut join = Join::new();
        for member in members.others().filter(|_| !part(rank, number).is_empty()) {
            join.add(members.post_receive(member, place(number, member))?);
        }
        for member in members.others() {
            let theirs = part(member, number);
            if !theirs.is_empty() {
                join.add(members.post_send(member, data.part(theirs))?);
            }
        }
        Ok::<_, MpiError>(join)
    };
    let parts = longest.div_ceil(most.max(1));
    let start = share(rank).start;
    let mut under_way = if parts > 0 { post(0)? } else { Join::new() };
    for number in 0..parts {
        let next = if number + 1 < parts { post(number + 1)? } else { Join::new() };
        let arrived = std::mem::replace(&mut under_way, next).all().await;
        if arrived.is_err() {
            // The scratch memory is the next part's until that has come.
            _ = under_way.all().await;
            return arrived;
        }
        let own = part(rank, number);
        if !own.is_empty() {
            data.part(own.clone()).copy_to(place(number, rank));
            let operands =
                CommRank::all(size).map(|member| place(number, member).first().cast_const()).collect();
            // SAFETY: the places are different ones, and nobody else uses this part of the scratch memory.
            unsafe {
                let to = |member: usize| place(number, CommRank(member as u32)).first();
                reduction.combine_places(operands, own.len(), to)?;
            }
            place(number, members.last()).copy_to(result.part(own.start - start..own.end - start));
        }
    }
    Ok(())
}

/// Reduce-scatter of operands that travel as they lie.
///
/// # Errors
/// Another member's share is longer; no memory is left; the NIC fails.
pub async fn combine_shares(members: &impl Members, combination: &Combination) -> MpiResult {
    let share = |member: CommRank| combination.result_of(member);
    let (_elsewhere, result) = combination.place_apart(members.rank())?;
    combine_share(members, &combination.reduction, combination.given(), share, result).await?;
    // All shares have gone.
    result.copy_to(combination.wanted(members.rank()));
    Ok(())
}

/// Reduce and allreduce of operands that travel as they lie.
///
/// # Errors
/// Another member's vector is longer; no memory is left; the NIC fails.
pub async fn reduce_by_shares(members: &impl Members, combination: &Combination) -> MpiResult {
    let (count, element) = (combination.count, combination.reduction.element);
    let (rank, size) = (members.rank(), members.size());
    let share = |member: CommRank| equal_share(member.index(), size as usize, count, element);
    let (_elsewhere, result) = combination.place_of_share(rank, share(rank))?;
    // In place, no other share is written before all have been sent.
    combine_share(members, &combination.reduction, combination.given(), share, result).await?;
    bring_shares(members, combination, share, result).await
}

/// Brings this member's share of the result to those who get all of it, and all shares here if it does.
///
/// # Errors
/// The NIC fails.
pub async fn bring_shares(
    members: &impl Members,
    combination: &Combination,
    share: impl Fn(CommRank) -> Range<usize>,
    result: Memory,
) -> MpiResult {
    let rank = members.rank();
    let place = |member: CommRank| combination.wanted(rank).part(share(member));
    if combination.gets_all(rank) {
        result.copy_to(place(rank));
    }
    if let Results::Root(root) = combination.results {
        let outgoing = |_| result;
        let movement = Movement::new(Pattern::Gather(root), Agreed::default(), &outgoing, &place);
        return move_directly(members, &movement).await;
    }
    to_all(members, result, place, Agreed::default()).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_part_is_a_whole_number_of_elements(members in 1u32..100_000, element in 1usize..1 << 30) {
            let part = part_bytes(members, element);
            prop_assert!(part > 0 && part.is_multiple_of(element));
            prop_assert!(part <= element.max(KEPT_BYTES / 2));
        }
    }
}

//! Combining by shares: every member sends every other the share that this one combines, and combines its
//! own of all contributions, in the order of the reduction tree. One step, of n - 1 messages each way for
//! n members; every byte is sent once. Reduce-scatter is that; in reductions of whole vectors a second
//! step brings the shares of the result to the root, or to all, across the network once for a node
//! (Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, with one step each
//! instead of log2 n).

use super::super::block::Agreed;
use super::super::combination::{Combination, Results};
use super::super::movement::{Movement, Pattern};
use super::super::reduction::Reduction;
use super::allgather_by_nodes::to_all;
use super::move_directly::move_directly;
use super::scratch::{KEPT_BYTES, Scratch};
use crate::error::{MpiError, MpiResult};
use crate::progress::members::Members;
use crate::progress::message::Join;
use std::ops::Range;

/// Bytes of a share that are combined at once at least, where there are more.
const LEAST_PART_BYTES: usize = 64 << 10;

/// The share of each member where a vector is cut into parts as equal as can be: elements.
fn equal_share(member: u32, members: u32, elements: usize) -> Range<usize> {
    let (members, member) = (members as usize, member as usize);
    let (each, more) = (elements / members, elements % members);
    let start = member * each + member.min(more);
    start..start + each + (member < more) as usize
}

/// The same in bytes, of elements that have so many.
pub fn equal_share_bytes(member: u32, members: u32, elements: usize, element: usize) -> Range<usize> {
    let share = equal_share(member, members, elements);
    share.start * element..share.end * element
}

/// Bytes of a share that are combined at once, a whole number of elements: as many as give all members' two
/// parts room in what is kept, and enough for a message that is worth its way. The same for all members.
fn part_bytes(members: u32, element: usize) -> usize {
    let bytes = (KEPT_BYTES / (2 * members as usize)).max(LEAST_PART_BYTES);
    (bytes - bytes % element.max(1)).max(element)
}

/// Combines this member's share of all contributions into `result`, which may lie where the share lies in
/// this member's own. `share` says which bytes of a contribution are a member's. Long shares are combined
/// part by part: while one is combined, the next is on its way.
///
/// # Safety
/// `data` must be readable for all shares, and `result` writable for this member's; nobody else uses them
/// until the answer is there.
///
/// # Errors
/// Another member's share is longer; no memory is left; the NIC fails.
pub async unsafe fn combine_share(
    members: &impl Members,
    reduction: &Reduction,
    data: *const u8,
    share: impl Fn(u32) -> Range<usize>,
    result: *mut u8,
) -> MpiResult {
    let (rank, size) = (members.rank(), members.size());
    let longest = (0..size).map(|member| share(member).len()).max().unwrap_or(0);
    let most = part_bytes(size, reduction.element).min(longest);
    let part = |member: u32, number: usize| {
        let share = share(member);
        let start = share.end.min(share.start + number * most);
        start..share.end.min(start + most)
    };
    let room = most.min(share(rank).len());
    let count = size as usize;
    let mut scratch = Scratch::take(members, 2 * count * room)?;
    let staged = scratch.as_mut_ptr();
    let place = |number: usize, member: usize| staged.wrapping_add((number % 2 * count + member) * room);
    let post = |number: usize| {
        let mut join = Join::new();
        let own = part(rank, number);
        for member in members.others().filter(|_| !own.is_empty()) {
            let to = place(number, member as usize);
            // SAFETY: the scratch memory lives, and nobody else uses this part of it, until the join is
            // complete.
            join.add(unsafe { members.post_receive(member, to, own.len())? });
        }
        for member in members.others() {
            let theirs = part(member, number);
            if !theirs.is_empty() {
                // SAFETY: the caller's promise.
                join.add(unsafe { members.post_send(member, data.add(theirs.start), theirs.len())? });
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
        let bytes = own.len();
        if bytes > 0 {
            // SAFETY: the caller's promise; the own part of the scratch memory is free.
            unsafe {
                std::ptr::copy_nonoverlapping(data.add(own.start), place(number, rank as usize), bytes);
                let operands = (0..count).map(|member| place(number, member).cast_const()).collect();
                reduction.combine_places(operands, bytes, |member| place(number, member))?;
                let result = result.add(own.start - start);
                std::ptr::copy_nonoverlapping(place(number, count - 1), result, bytes);
            }
        }
    }
    scratch.give_back(members)
}

/// Reduce-scatter of operands that travel as they lie.
///
/// # Errors
/// Another member's share is longer; no memory is left; the NIC fails.
pub async fn combine_shares(members: &impl Members, combination: &Combination<'_>) -> MpiResult {
    let share = |member: u32| combination.result_of(member);
    let (elsewhere, result) = combination.place_apart(share(members.rank()).len())?;
    // SAFETY: the promise of `Combination::new`; all shares have gone when the answer is there.
    unsafe {
        combine_share(members, combination.reduction, combination.from(), share, result).await?;
        std::ptr::copy_nonoverlapping(elsewhere.as_ptr(), combination.to(), elsewhere.len());
    }
    Ok(())
}

/// Reduce and allreduce of operands that travel as they lie.
///
/// # Errors
/// Another member's vector is longer; no memory is left; the NIC fails.
pub async fn reduce_by_shares(members: &impl Members, combination: &Combination<'_>) -> MpiResult {
    let (count, element) = (combination.count(), combination.reduction.element);
    let (rank, size) = (members.rank(), members.size());
    let share = |member: u32| equal_share_bytes(member, size, count, element);
    let own = share(rank);
    let (_elsewhere, result) = combination.place_of_share(rank, &own)?;
    // SAFETY: the promise of `Combination::new`; in place, no other share is written before all have been
    // sent.
    unsafe { combine_share(members, combination.reduction, combination.from(), share, result).await? };
    // SAFETY: as above.
    unsafe { bring_shares(members, combination, share, result).await }
}

/// Brings this member's share of the result to those who get all of it, and theirs here if it does.
///
/// # Safety
/// The shares must be disjoint, this member's be at `result`, and nobody else use them until the answer is
/// there.
///
/// # Errors
/// The NIC fails.
pub async unsafe fn bring_shares(
    members: &impl Members,
    combination: &Combination<'_>,
    share: impl Fn(u32) -> Range<usize>,
    result: *const u8,
) -> MpiResult {
    let bytes = share(members.rank()).len();
    let place = |member: u32| (combination.to().wrapping_add(share(member).start), share(member).len());
    if let Results::Root(root) = *combination.results {
        let outgoing = |_| (result, bytes);
        // SAFETY: the caller's promise.
        let movement = unsafe { Movement::new(Pattern::Gather(root), Agreed::default(), &outgoing, &place) };
        return move_directly(members, &movement).await;
    }
    // SAFETY: as above; the own share stays as it is.
    unsafe { to_all(members, (result, bytes), place, false).await }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_shares_are_the_vector_in_order(members in 1u32..70, elements in 0usize..1000) {
            let mut next = 0;
            for member in 0..members {
                let share = equal_share(member, members, elements);
                prop_assert_eq!(share.start, next);
                prop_assert!(share.len() <= equal_share(0, members, elements).len());
                next = share.end;
            }
            prop_assert_eq!(next, elements);
        }

        #[test]
        fn a_part_is_a_whole_number_of_elements(members in 1u32..100_000, element in 1usize..1 << 30) {
            let part = part_bytes(members, element);
            prop_assert!(part > 0 && part.is_multiple_of(element));
            prop_assert!(part <= element.max(KEPT_BYTES / 2));
        }
    }
}

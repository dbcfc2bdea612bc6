//! Combining by shares: every member sends every other the share that this one combines, and combines its own
//! of all contributions, in the order of the reduction tree. One step, of n - 1 messages each way for n
//! members; every byte is sent once. The first half of large reductions, and all of reduce-scatter.

use super::super::reduction::Reduction;
use crate::error::{MpiError, MpiResult, Problem};
use crate::progress::party::Party;
use crate::progress::pending::Join;
use crate::progress::task::with;
use nic_emu::arith::reduction_tree::ReductionTree;
use std::num::NonZeroU32;
use std::ops::Range;

/// Bytes of working memory that are kept from operation to operation.
const KEPT_BYTES: usize = 64 << 20;

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

/// Working memory, kept from operation to operation: large fresh memory costs more in page faults than the
/// combining.
pub struct Scratch(Vec<u8>);

impl Scratch {
    /// At least so many bytes.
    ///
    /// # Errors
    /// There are not so many left; outside of a task.
    pub fn take(bytes: usize) -> MpiResult<Self> {
        let mut kept = with(|process| Ok(std::mem::take(&mut process.scratch)))?;
        if kept.len() < bytes {
            if kept.try_reserve_exact(bytes - kept.len()).is_err() {
                let problem = format!("no memory for {bytes} bytes in which contributions are combined");
                return Err(MpiError::new(Problem::Exhausted(problem)));
            }
            kept.resize(bytes, 0);
        }
        Ok(Self(kept))
    }

    /// Its first byte.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    /// To be used again.
    ///
    /// # Errors
    /// Outside of a task.
    pub fn give_back(mut self) -> MpiResult {
        self.0.truncate(KEPT_BYTES);
        with(|process| {
            if process.scratch.len() < self.0.len() {
                process.scratch = self.0;
            }
            Ok(())
        })
    }
}

/// Combines `bytes` bytes at each of the places of consecutive ranks, in the order of the tree over as many;
/// the result is at the last place.
///
/// # Safety
/// Places must be different ones of so many bytes; those that are no right operand of the tree are only read.
///
/// # Errors
/// As [`Reduction::combine`].
pub unsafe fn combine_places(
    reduction: &Reduction,
    count: usize,
    bytes: usize,
    place: impl Fn(usize) -> *mut u8,
) -> MpiResult {
    let Some(ranks) = NonZeroU32::new(count as u32).filter(|_| bytes > 0) else { return Ok(()) };
    for step in ReductionTree::new(ranks).steps(0..ranks.get()) {
        // SAFETY: the caller's promise.
        let (left, right) = unsafe {
            (
                std::slice::from_raw_parts(place(step.left as usize).cast_const(), bytes),
                std::slice::from_raw_parts_mut(place(step.right as usize), bytes),
            )
        };
        reduction.combine(left, right)?;
    }
    Ok(())
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
    party: &Party,
    reduction: &Reduction,
    data: *const u8,
    share: impl Fn(u32) -> Range<usize>,
    result: *mut u8,
) -> MpiResult {
    let longest = (0..party.size).map(|member| share(member).len()).max().unwrap_or(0);
    let most = part_bytes(party.size, reduction.element).min(longest);
    let part = |member: u32, number: usize| {
        let share = share(member);
        let start = share.end.min(share.start + number * most);
        start..share.end.min(start + most)
    };
    let (rank, size) = (party.rank as usize, party.size as usize);
    let room = most.min(share(party.rank).len());
    let mut scratch = Scratch::take(2 * size * room)?;
    let staged = scratch.as_mut_ptr();
    let place = |number: usize, member: usize| staged.wrapping_add((number % 2 * size + member) * room);
    let post = |number: usize| {
        let mut join = Join::new();
        let own = part(party.rank, number);
        for member in party.others().filter(|_| !own.is_empty()) {
            let to = place(number, member as usize);
            // SAFETY: the scratch memory lives, and nobody else uses this part of it, until the join is
            // complete.
            join.add(unsafe { party.post_receive(member, to, own.len())? });
        }
        for member in party.others() {
            let theirs = part(member, number);
            if !theirs.is_empty() {
                // SAFETY: the caller's promise.
                join.add(unsafe { party.post_send(member, data.add(theirs.start), theirs.len())? });
            }
        }
        Ok::<Join, MpiError>(join)
    };
    let parts = longest.div_ceil(most.max(1));
    let start = share(party.rank).start;
    let mut under_way = if parts > 0 { post(0)? } else { Join::new() };
    for number in 0..parts {
        let next = if number + 1 < parts { post(number + 1)? } else { Join::new() };
        let arrived = std::mem::replace(&mut under_way, next).all().await;
        if arrived.is_err() {
            // The scratch memory is the next part's until that has come.
            _ = under_way.all().await;
            return arrived;
        }
        let own = part(party.rank, number);
        let bytes = own.len();
        if bytes > 0 {
            // SAFETY: the caller's promise; the own part of the scratch memory is free.
            unsafe {
                std::ptr::copy_nonoverlapping(data.add(own.start), place(number, rank), bytes);
                combine_places(reduction, size, bytes, |member| place(number, member))?;
                let result = result.add(own.start - start);
                std::ptr::copy_nonoverlapping(place(number, size - 1), result, bytes);
            }
        }
    }
    scratch.give_back()
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

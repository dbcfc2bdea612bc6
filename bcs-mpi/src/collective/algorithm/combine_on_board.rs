//! Combining from a board: all have put up their vectors, of at most a slab, and who gets some of the result
//! combines it, in the order of the reduction tree. One step; the NIC brings a board to every node once.

use super::super::combination::Combination;
use super::scratch::Scratch;
use crate::error::MpiResult;
use crate::progress::party::Party;
use crate::progress::released::take_board;
use crate::progress::task::with;

/// Reductions of all kinds, of operands that travel as they lie.
///
/// # Errors
/// No memory is left; the NIC fails.
pub async fn combine_on_board(party: &Party, combination: &Combination<'_>) -> MpiResult {
    let (own, bytes) = (combination.from(), combination.bytes());
    let (members, wanted) =
        (combination.operands_of(party.rank, party.size), combination.result_of(party.rank));
    let arrival = combination.arrival();
    // SAFETY: the promise of `Combination::new`; at most a slab is buffered when it is posted.
    let release = unsafe { party.meet(&arrival, own, bytes, !wanted.is_empty()).await? };
    let Some(release) = release.filter(|_| !wanted.is_empty()) else { return Ok(()) };
    let (count, room) = (members.len(), wanted.len());
    let mut scratch = Scratch::take(party, count * room)?;
    let place = scratch.as_mut_ptr();
    let place_of = |number: usize| place.wrapping_add(number * room);
    let pieces = members.enumerate().map(|(number, member)| (member, wanted.clone(), place_of(number)));
    // SAFETY: each place has as many bytes as are wanted.
    let taken = with(|process| unsafe { take_board(process, release, bytes, pieces) });
    let done = taken.and_then(|()| {
        // SAFETY: the places are different ones, of this process's own memory.
        unsafe { combination.reduction.combine_places(count, room, place_of)? };
        // SAFETY: the promise of `Combination::new`.
        unsafe { std::ptr::copy_nonoverlapping(place_of(count - 1), combination.to(), room) };
        Ok(())
    });
    scratch.give_back(party)?;
    done
}

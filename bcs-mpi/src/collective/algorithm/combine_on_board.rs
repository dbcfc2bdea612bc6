//! Combining from a board: all have put up their vectors, a slab at a time, and who gets some of the result
//! combines it, in the order of the reduction tree. One step for a slab; the NIC brings a board to every node
//! once.

use super::super::combination::Combination;
use super::scratch::Scratch;
use super::slab_by_slab::slab_by_slab;
use crate::error::MpiResult;
use crate::process::task::with;
use crate::progress::party::Party;
use crate::progress::released::take_board;
use nic_emu::slab::SLAB_BYTES;

/// Reductions of all kinds, of operands that travel as they lie.
///
/// # Errors
/// No memory is left; the NIC fails.
pub async fn combine_on_board(party: &Party, combination: &Combination<'_>) -> MpiResult {
    let (members, arrival) = (combination.operands_of(party.rank, party.size), combination.arrival());
    let room = combination.result_of(party.rank).len().min(SLAB_BYTES);
    let cut = combination.cut(party.rank);
    let mut scratch = Scratch::take(party, members.len() * room)?;
    let place = scratch.as_mut_ptr();
    let place_of = |number: usize| place.wrapping_add(number * room);
    let reach = |number| {
        let (slab, waits) = (cut.slab(number), cut.wanted(number).is_some());
        // SAFETY: the promise of `Combination::new`; at most a slab is buffered when it is posted, before
        // anything of the result is stored there.
        unsafe { party.reach(&arrival, combination.from().wrapping_add(slab.start), slab.len(), waits) }
    };
    let take = |number, release| {
        let (wanted, at) = cut.wanted(number).unwrap_or_default();
        let to = combination.to().wrapping_add(at);
        let pieces =
            members.clone().zip(0..).map(|(member, place)| (member, wanted.clone(), place_of(place)));
        // SAFETY: each place has as many bytes as are wanted of a slab.
        with(|process| unsafe { take_board(process, release, cut.slab(number).len(), pieces) })?;
        let places = |number| if number + 1 == members.len() { to } else { place_of(number) };
        let operands = (0..members.len()).map(|number| place_of(number).cast_const()).collect();
        // SAFETY: the promise of `Combination::new`; the places are different ones.
        unsafe {
            if members.len() == 1 {
                std::ptr::copy_nonoverlapping(place, to, wanted.len());
            }
            combination.reduction.combine_places(operands, wanted.len(), places)
        }
    };
    let done = slab_by_slab(party, cut.slabs(), reach, take).await;
    scratch.give_back(party)?;
    done
}

//! What members do with a board on which all have put up what they give, a slab at a time: who takes blocks
//! reads them from there, and who gets some of a result combines it, in the order of the reduction tree. One
//! step for a slab of what a member gives; the NIC brings a board to every node once.

use super::slab_by_slab::{Cut, slab_by_slab};
use crate::collective::{Combination, Movement, Pattern, Vector};
use crate::error::MpiResult;
use crate::process::with;
use crate::progress::{Members, Party, take_board};
use nic_emu::memory::numbers::CommRank;
use nic_emu::slab::SLAB_BYTES;

/// Moves blocks of the same length; those that a member gives lie one behind the other.
///
/// # Errors
/// The NIC fails.
pub async fn move_on_board(party: &Party, movement: &Movement<'_>) -> MpiResult {
    let (rank, each, pattern) = (party.rank, movement.agreed.bytes, movement.pattern);
    // A block for all, or one for each.
    let (blocks, own) = if pattern == Pattern::Alltoall { (party.size, rank.0) } else { (1, 0) };
    let cut = Cut::of_row(blocks, each, pattern.takes(rank).then_some(own));
    // SAFETY: blocks that go slab by slab lie so.
    let given = pattern.gives(rank).then(|| unsafe { movement.row(blocks) });
    slab_by_slab(party, &movement.arrival(), &cut, given, |wanted, release| {
        let givers = party.others().filter(|member| pattern.goes(*member, rank));
        let place = |member: CommRank| movement.incoming(member).part(wanted.place.clone());
        let pieces = givers.map(|member| (member, wanted.part.start, place(member)));
        with(|process| take_board(process, release, wanted.slab_bytes, pieces))
    })
    .await
}

/// Reductions of all kinds, of operands that travel as they lie.
///
/// # Errors
/// No memory is left; the NIC fails.
pub async fn combine_on_board(party: &Party, combination: &Combination) -> MpiResult {
    let (members, to) =
        (combination.operands_of(party.rank, party.size) as usize, combination.wanted(party.rank));
    let room = to.bytes().min(SLAB_BYTES);
    let mut scratch = Vector::new(members * room)?;
    let places = scratch.memory();
    let (arrival, cut) = (combination.arrival(), combination.cut(party.rank));
    slab_by_slab(party, &arrival, &cut, Some(combination.given()), |wanted, release| {
        let bytes = wanted.part.len();
        let place = |number: usize| places.block(number, room).part(0..bytes);
        let operands = CommRank::all(members as u32);
        let pieces = operands.map(|member| (member, wanted.part.start, place(member.index())));
        with(|process| take_board(process, release, wanted.slab_bytes, pieces))?;
        let to = to.part(wanted.place);
        if members == 1 {
            place(0).copy_to(to);
        }
        let places = |number| if number + 1 == members { to.first() } else { place(number).first() };
        let operands = (0..members).map(|number| place(number).first().cast_const()).collect();
        // SAFETY: the places are different ones.
        unsafe { combination.reduction.combine_places(operands, bytes, places) }
    })
    .await
}

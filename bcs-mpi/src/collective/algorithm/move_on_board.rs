//! Blocks from a board: all who give have put up what they give, and who takes reads its blocks from there.
//! One step for a slab of what a member gives; the NIC brings a board to every node once.

use super::super::movement::{Movement, Pattern};
use super::row::Row;
use super::slab_by_slab::slab_by_slab;
use crate::error::MpiResult;
use crate::process::task::with;
use crate::progress::members::Members;
use crate::progress::party::Party;
use crate::progress::released::take_board;
use std::ptr::null;

/// Moves blocks of the same length; those that a member gives lie one behind the other.
///
/// # Errors
/// The NIC fails.
pub async fn move_on_board(party: &Party, movement: &Movement<'_>) -> MpiResult {
    let (rank, each, pattern) = (party.rank, movement.agreed.bytes, movement.pattern);
    let (gives, takes) = (pattern.gives(rank), pattern.takes(rank));
    // A block for all, or one for each.
    let row = if pattern == Pattern::Alltoall { Row::of(party.size, each) } else { Row::of(1, each) };
    let is_mine = |slab| pattern != Pattern::Alltoall || row.members(slab).contains(&rank);
    let arrival = movement.arrival();
    let reach = |slab| {
        let data = || movement.outgoing(row.members(slab).start).0.wrapping_add(row.part(slab).start);
        let (data, bytes) = if gives { (data(), row.bytes(slab)) } else { (null(), 0) };
        // SAFETY: the promise of `Movement::new`; at most a slab is buffered when it is posted.
        unsafe { party.reach(&arrival, data, bytes, takes && is_mine(slab)) }
    };
    let take = |slab, release| {
        let place = row.place(slab, if pattern == Pattern::Alltoall { rank } else { 0 });
        let givers = party.others().filter(|member| pattern.goes(*member, rank));
        let to = |member| movement.incoming(member).0.wrapping_add(row.part(slab).start);
        let pieces = givers.map(|member| (member, place.clone(), to(member)));
        // SAFETY: the promise of `Movement::new`: every place has as many bytes as a block.
        with(|process| unsafe { take_board(process, release, row.bytes(slab), pieces) })
    };
    slab_by_slab(party, row.slabs(), reach, take).await
}

//! Blocks from a board: all who give have put up what they give, and who takes reads its blocks from there.
//! One step; the NIC brings a board to every node once.

use super::super::movement::{Movement, Pattern};
use crate::error::MpiResult;
use crate::progress::members::Members;
use crate::progress::party::Party;
use crate::progress::released::take_board;
use crate::progress::task::with;
use std::ptr::null;

/// Moves blocks of up to a slab for each member that gives; those that it gives lie one behind the other.
///
/// # Errors
/// The NIC fails.
pub async fn move_on_board(party: &Party, movement: &Movement<'_>) -> MpiResult {
    let (rank, each, pattern) = (party.rank, movement.agreed.bytes, movement.pattern);
    let takes = party.others().any(|member| pattern.goes(member, rank));
    let gives = party.others().any(|member| pattern.goes(rank, member));
    let bytes = if pattern == Pattern::Alltoall { each * party.size as usize } else { each };
    let (data, given) = if gives { (movement.outgoing(0).0, bytes) } else { (null(), 0) };
    let arrival = movement.arrival();
    // SAFETY: the promise of `Movement::new`; at most a slab is buffered when it is posted.
    let release = unsafe { party.meet(&arrival, data, given, takes).await? };
    let Some(release) = release else { return Ok(()) };
    let start = if pattern == Pattern::Alltoall { rank as usize * each } else { 0 };
    let givers = party.others().filter(|member| pattern.goes(*member, rank));
    let pieces = givers.map(|member| (member, start..start + each, movement.incoming(member).0));
    // SAFETY: the promise of `Movement::new`: every place has as many bytes.
    with(|process| unsafe { take_board(process, release, bytes, pieces) })
}

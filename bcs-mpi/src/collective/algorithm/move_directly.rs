//! Blocks as messages from each member that gives to each that takes, beginning with the next one. One step;
//! no byte goes where it is not wanted, and a member sends and receives up to n - 1 messages.

use super::super::movement::Movement;
use crate::error::MpiResult;
use crate::progress::members::Members;
use crate::progress::message::Join;
use crate::progress::message::Message;

/// Moves blocks of any length.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn move_directly(members: &impl Members, movement: &Movement<'_>) -> MpiResult {
    let (rank, pattern, agreed) = (members.rank(), movement.pattern, movement.agreed);
    let mut join = Join::new();
    for member in members.others().filter(|member| pattern.goes(*member, rank)) {
        let (to, room) = movement.incoming(member);
        if agreed.is_message(room) {
            // SAFETY: the promise of `Movement::new`.
            join.add(unsafe { members.post_receive(member, to, room)? }.exactly());
        }
    }
    for member in members.others().filter(|member| pattern.goes(rank, *member)) {
        let (data, bytes) = movement.outgoing(member);
        if agreed.is_message(bytes) {
            // SAFETY: as above.
            join.add(unsafe { members.post_send(member, data, bytes)? });
        }
    }
    join.all().await
}

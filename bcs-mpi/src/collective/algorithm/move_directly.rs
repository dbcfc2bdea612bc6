//! Blocks as messages from each member that gives to each that takes, beginning with the next one. One step;
//! no byte goes where it is not wanted, and a member sends and receives up to n - 1 messages.

use crate::collective::Movement;
use crate::error::MpiResult;
use crate::progress::{Join, Members, Message};

/// Moves blocks of any length.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn move_directly(members: &impl Members, movement: &Movement<'_>) -> MpiResult {
    let (rank, pattern, agreed) = (members.rank(), movement.pattern, movement.agreed);
    let mut join = Join::new();
    for member in members.others().filter(|member| pattern.goes(*member, rank)) {
        let to = movement.incoming(member);
        if agreed.is_message(to.bytes()) {
            join.add(members.post_receive(member, to)?.exactly());
        }
    }
    for member in members.others().filter(|member| pattern.goes(rank, *member)) {
        let data = movement.outgoing(member);
        if agreed.is_message(data.bytes()) {
            join.add(members.post_send(member, data)?);
        }
    }
    join.all().await
}

//! Gather of small blocks among many members, along a binomial tree: a member sends its parent what it
//! has and what its children have sent. log2 p steps for p members; the root receives log2 p messages,
//! and a block is sent up to log2 p times. (Thakur, Rabenseifner, Gropp, 2005.)

use crate::collective::{Movement, Vector};
use crate::error::MpiResult;
use crate::progress::{Branch, Join, Members, Message};

/// Brings every member's block, of equal lengths, to the root.
///
/// # Errors
/// A block is not as long as its place; no memory is left; the NIC fails.
pub async fn binomial_gather(members: &impl Members, movement: &Movement<'_>) -> MpiResult {
    let (rank, size, root) = (members.rank(), members.size(), movement.pattern.root());
    let bytes = movement.agreed.bytes;
    if size == 1 || bytes == 0 {
        return Ok(());
    }
    let Branch { parent, children, size: below } = Branch::new(rank, size, root);
    let mut scratch = Vector::new(below * bytes)?;
    let row = scratch.memory();
    let mut join = Join::new();
    for (child, first, blocks) in children {
        let to = row.part(first * bytes..(first + blocks) * bytes);
        join.add(members.post_receive(child, to)?.exactly());
    }
    let arrived = join.all().await;
    let Some(parent) = parent else {
        arrived?;
        for place in 1..below {
            row.block(place, bytes).copy_to(movement.incoming(root.after(place as u32, size)));
        }
        return Ok(());
    };
    movement.outgoing(root).copy_to(row);
    let sent = members.post_send(parent, row)?.await;
    arrived.and(sent)
}

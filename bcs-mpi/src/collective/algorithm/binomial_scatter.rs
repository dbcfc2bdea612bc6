//! Scatter of small blocks among many members, along a binomial tree: a member takes its block and those
//! of all below it from its parent, and sends its children theirs. log2 p steps for p members; the root
//! sends log2 p messages, and a block is sent up to log2 p times. (Thakur, Rabenseifner, Gropp, 2005.)

use crate::collective::{Movement, Vector};
use crate::error::MpiResult;
use crate::progress::{Branch, Join, Members, Message};

/// Brings every member its block, of equal lengths, of the root's.
///
/// # Errors
/// A block is not as long as its place; no memory is left; the NIC fails.
pub async fn binomial_scatter(members: &impl Members, movement: &Movement<'_>) -> MpiResult {
    let (rank, size, root) = (members.rank(), members.size(), movement.pattern.root());
    let bytes = movement.agreed.bytes;
    if size == 1 || bytes == 0 {
        return Ok(());
    }
    let Branch { parent, children, size: below } = Branch::new(rank, size, root);
    let mut scratch = Vector::new(below * bytes)?;
    let row = scratch.memory();
    let mut received = Ok(());
    match parent {
        Some(parent) => received = members.post_receive(parent, row)?.exactly().await,
        None => {
            for place in 1..below {
                movement.outgoing(root.after(place as u32, size)).copy_to(row.block(place, bytes));
            }
        }
    }
    let mut join = Join::new();
    for (child, first, blocks) in children {
        join.add(members.post_send(child, row.part(first * bytes..(first + blocks) * bytes))?);
    }
    if parent.is_some() && received.is_ok() {
        row.block(0, bytes).copy_to(movement.incoming(root));
    }
    received.and(join.all().await)
}

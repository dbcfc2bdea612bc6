//! Allgather of small blocks among many members, as Bruck et al. do it ("Efficient Algorithms for All-to-All
//! Communications in Multiport Message-Passing Systems", 1997): with every step a member has twice as many
//! blocks, its own and those of the next members. log2 p steps for p members; a member sends p - 1 blocks.

use crate::collective::{Movement, Vector};
use crate::error::MpiResult;
use crate::progress::Members;

/// Brings every member's block, of equal lengths, to all.
///
/// # Errors
/// A block is not as long as its place; no memory is left; the NIC fails.
pub async fn bruck_allgather(members: &impl Members, movement: &Movement<'_>) -> MpiResult {
    let (rank, size, bytes) = (members.rank(), members.size(), movement.agreed.bytes);
    if size == 1 || bytes == 0 {
        return Ok(());
    }
    let mut scratch = Vector::new(size as usize * bytes)?;
    // The blocks of this member and the next ones, in this order.
    let row = scratch.memory();
    movement.outgoing(rank).copy_to(row);
    let mut has = 1;
    while has < size {
        let more = has.min(size - has);
        let (to, from) = (rank.before(has, size), rank.after(has, size));
        let (given, room) = (0..more as usize * bytes, has as usize * bytes..(has + more) as usize * bytes);
        members.exchange((to, row.part(given)), (from, row.part(room))).await?;
        has += more;
    }
    for step in 1..size {
        row.block(step as usize, bytes).copy_to(movement.incoming(rank.after(step, size)));
    }
    Ok(())
}

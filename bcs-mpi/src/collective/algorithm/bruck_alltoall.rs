//! Alltoall of small blocks among many members, as Bruck et al. do it (1997): a block goes to its member
//! by the powers of two that its way is made of, together with all others that go so far. log2 p steps
//! for p members; a member sends p / 2 log2 p blocks.

use crate::collective::{Movement, Vector};
use crate::error::MpiResult;
use crate::progress::Members;

/// Exchanges blocks of equal lengths.
///
/// # Errors
/// A block is not as long as its place; no memory is left; the NIC fails.
pub async fn bruck_alltoall(members: &impl Members, movement: &Movement<'_>) -> MpiResult {
    let (rank, size, bytes) = (members.rank(), members.size(), movement.agreed.bytes);
    if size == 1 || bytes == 0 {
        return Ok(());
    }
    let mut scratch = Vector::new(3 * size as usize * bytes)?;
    let memory = scratch.memory();
    let [row, given, taken] = [0, 1, 2].map(|part| memory.block(part, size as usize * bytes));
    // Blocks by how far they have to go.
    for way in 1..size {
        movement.outgoing(rank.after(way, size)).copy_to(row.block(way as usize, bytes));
    }
    let mut step = 1;
    while step < size {
        let that_go = || (0..size as usize).filter(|way| way & step as usize != 0).enumerate();
        for (number, way) in that_go() {
            row.block(way, bytes).copy_to(given.block(number, bytes));
        }
        let (to, from, room) = (rank.after(step, size), rank.before(step, size), that_go().count() * bytes);
        members.exchange((to, given.part(0..room)), (from, taken.part(0..room))).await?;
        for (number, way) in that_go() {
            taken.block(number, bytes).copy_to(row.block(way, bytes));
        }
        step *= 2;
    }
    for way in 1..size {
        row.block(way as usize, bytes).copy_to(movement.incoming(rank.before(way, size)));
    }
    Ok(())
}

//! Allgather of small blocks among many members, as Bruck et al. do it ("Efficient Algorithms for All-to-All
//! Communications in Multiport Message-Passing Systems", 1997): with every step a member has twice as many
//! blocks, its own and those of the next members. log2 p steps for p members; a member sends p - 1 blocks.

use super::super::movement::Movement;
use super::scratch::Scratch;
use crate::error::MpiResult;
use crate::progress::members::Members;
use std::slice;

/// Brings every member's block, of equal lengths, to all.
///
/// # Errors
/// A block is not as long as its place; no memory is left; the NIC fails.
pub async fn bruck_allgather(members: &impl Members, movement: &Movement<'_>) -> MpiResult {
    let (rank, size, bytes) = (members.rank(), members.size(), movement.agreed.bytes);
    if size == 1 || bytes == 0 {
        return Ok(());
    }
    let mut scratch = Scratch::take(members, size as usize * bytes)?;
    // The blocks of this member and the next ones, in this order.
    // SAFETY: the scratch memory has so many bytes.
    let row = unsafe { slice::from_raw_parts_mut(scratch.as_mut_ptr(), size as usize * bytes) };
    let (own, _) = movement.outgoing(rank);
    // SAFETY: the promise of `Movement::new`.
    unsafe { std::ptr::copy_nonoverlapping(own, row.as_mut_ptr(), bytes) };
    let mut has = 1;
    while has < size {
        let more = has.min(size - has) as usize * bytes;
        let (given, room) = row.split_at_mut(has as usize * bytes);
        let (to, from) = ((rank + size - has) % size, (rank + has) % size);
        members.swap((to, &given[..more]), (from, &mut room[..more])).await?;
        has += has.min(size - has);
    }
    for (step, block) in row.chunks_exact(bytes).enumerate().skip(1) {
        let (to, room) = movement.incoming((rank + step as u32) % size);
        // SAFETY: the promise of `Movement::new`.
        unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), to, bytes.min(room)) };
    }
    scratch.give_back(members)
}

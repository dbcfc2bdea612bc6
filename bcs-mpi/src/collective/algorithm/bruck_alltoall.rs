//! Alltoall of small blocks among many members, as Bruck et al. do it (1997): a block goes to its member
//! by the powers of two that its way is made of, together with all others that go so far. log2 p steps
//! for p members; a member sends p / 2 log2 p blocks.

use super::super::movement::Movement;
use super::scratch::Scratch;
use crate::error::MpiResult;
use crate::progress::members::Members;
use std::slice;

/// Exchanges blocks of equal lengths.
///
/// # Errors
/// A block is not as long as its place; no memory is left; the NIC fails.
pub async fn bruck_alltoall(members: &impl Members, movement: &Movement<'_>) -> MpiResult {
    let (rank, size, bytes) = (members.rank(), members.size(), movement.agreed.bytes);
    if size == 1 || bytes == 0 {
        return Ok(());
    }
    let all = size as usize * bytes;
    let mut scratch = Scratch::take(members, 3 * all)?;
    // SAFETY: the scratch memory has so many bytes.
    let memory = unsafe { slice::from_raw_parts_mut(scratch.as_mut_ptr(), 3 * all) };
    let (row, rest) = memory.split_at_mut(all);
    let (given, taken) = rest.split_at_mut(all);
    // Blocks by how far they have to go.
    for (way, block) in row.chunks_exact_mut(bytes).enumerate().skip(1) {
        let (from, length) = movement.outgoing((rank + way as u32) % size);
        // SAFETY: the promise of `Movement::new`.
        unsafe { std::ptr::copy_nonoverlapping(from, block.as_mut_ptr(), bytes.min(length)) };
    }
    let mut step = 1;
    while step < size {
        let that_go = (0..size as usize).filter(|way| way & step as usize != 0);
        let mut room = 0;
        for way in that_go.clone() {
            given[room..room + bytes].copy_from_slice(&row[way * bytes..(way + 1) * bytes]);
            room += bytes;
        }
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        members.swap((to, &given[..room]), (from, &mut taken[..room])).await?;
        for (way, block) in that_go.zip(taken.chunks_exact(bytes)) {
            row[way * bytes..(way + 1) * bytes].copy_from_slice(block);
        }
        step *= 2;
    }
    for (way, block) in row.chunks_exact(bytes).enumerate().skip(1) {
        let (to, room) = movement.incoming((rank + size - way as u32) % size);
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), to, bytes.min(room)) };
    }
    scratch.give_back(members)
}

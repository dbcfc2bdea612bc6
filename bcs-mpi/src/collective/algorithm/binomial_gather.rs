//! Gather of small blocks among many members, along a binomial tree: a member sends its parent what it
//! has and what its children have sent. log2 p steps for p members; the root receives log2 p messages,
//! and a block is sent up to log2 p times. (Thakur, Rabenseifner, Gropp, 2005.)

use super::super::movement::Movement;
use super::scratch::Scratch;
use crate::error::MpiResult;
use crate::progress::members::Members;
use crate::progress::message::Join;
use crate::progress::message::Message;
use crate::progress::nodes::Branch;
use std::slice;

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
    let room = below * bytes;
    let mut scratch = Scratch::take(members, room)?;
    let row = scratch.as_mut_ptr();
    let mut join = Join::new();
    for (child, first, blocks) in children {
        let (to, room) = (row.wrapping_add(first * bytes), blocks * bytes);
        // SAFETY: the scratch memory has a place for all below this member, used by nobody else.
        join.add(unsafe { members.post_receive(child, to, room)? }.exactly());
    }
    let arrived = join.all().await;
    let Some(parent) = parent else {
        arrived?;
        // SAFETY: so many bytes have come.
        let row = unsafe { slice::from_raw_parts(row, room) };
        for (place, block) in row.chunks_exact(bytes).enumerate().skip(1) {
            let (to, room) = movement.incoming((root + place as u32) % size);
            // SAFETY: the promise of `Movement::new`.
            unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), to, bytes.min(room)) };
        }
        return scratch.give_back(members);
    };
    // SAFETY: the promise of `Movement::new`; the scratch memory lives until the message is over.
    let sent = unsafe {
        std::ptr::copy_nonoverlapping(movement.outgoing(root).0, row, bytes);
        members.post_send(parent, row, room)?.await
    };
    scratch.give_back(members)?;
    arrived.and(sent)
}

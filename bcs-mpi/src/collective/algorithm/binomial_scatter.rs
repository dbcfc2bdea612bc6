//! Scatter of small blocks among many members, along a binomial tree: a member takes its block and those
//! of all below it from its parent, and sends its children theirs. log2 p steps for p members; the root
//! sends log2 p messages, and a block is sent up to log2 p times. (Thakur, Rabenseifner, Gropp, 2005.)

use super::super::movement::Movement;
use super::scratch::Scratch;
use crate::error::MpiResult;
use crate::progress::members::Members;
use crate::progress::message::Join;
use crate::progress::message::Message;
use crate::progress::nodes::Branch;

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
    let room = below * bytes;
    let mut scratch = Scratch::take(members, room)?;
    let row = scratch.as_mut_ptr();
    let mut received = Ok(());
    match parent {
        Some(parent) => {
            // SAFETY: the scratch memory has so many bytes, used by nobody else.
            received = unsafe { members.post_receive(parent, row, room)? }.exactly().await;
        }
        None => {
            for place in 1..size as usize {
                let (from, length) = movement.outgoing((root + place as u32) % size);
                // SAFETY: the promise of `Movement::new`.
                unsafe {
                    std::ptr::copy_nonoverlapping(from, row.add(place * bytes), bytes.min(length));
                }
            }
        }
    }
    let mut join = Join::new();
    for (child, first, blocks) in children {
        let from = row.wrapping_add(first * bytes).cast_const();
        // SAFETY: the scratch memory stays as it is until the join is complete.
        join.add(unsafe { members.post_send(child, from, blocks * bytes)? });
    }
    if parent.is_some() && received.is_ok() {
        let (to, room) = movement.incoming(root);
        // SAFETY: the promise of `Movement::new`.
        unsafe { std::ptr::copy_nonoverlapping(row.cast_const(), to, bytes.min(room)) };
    }
    let sent = join.all().await;
    scratch.give_back(members)?;
    received.and(sent)
}

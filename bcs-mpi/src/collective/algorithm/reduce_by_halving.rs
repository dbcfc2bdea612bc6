//! Reduce and allreduce of many members by recursive halving (R. Rabenseifner, "Optimization of
//! Collective Reduction Operations", ICCS 2004): in each step two members exchange halves of what they
//! have combined, near ones first, so that operands are combined in the order of the reduction tree. Then
//! shares of the result go to the root, or to all the same way back. log2 p steps for p members, a power
//! of two, and one or as many again; a member sends a vector's bytes, or twice as many.

use super::shares::bring_shares;
use crate::collective::{Combination, Results, Vector};
use crate::error::MpiResult;
use crate::progress::{Members, Memory};
use nic_emu::memory::numbers::CommRank;
use std::ops::Range;

/// Which elements of a vector a member combines in the end, after steps up to this distance.
fn piece(member: CommRank, distance: u32, elements: usize) -> Range<usize> {
    let (mut piece, mut step) = (0..elements, 1);
    while step < distance {
        let middle = piece.start + piece.len() / 2;
        piece = if member.0 & step == 0 { piece.start..middle } else { middle..piece.end };
        step *= 2;
    }
    piece
}

/// Combines vectors that travel as they lie.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn reduce_by_halving(members: &impl Members, combination: &Combination) -> MpiResult {
    let (rank, size, reduction) = (members.rank(), members.size(), &combination.reduction);
    let bytes = |member: CommRank, distance: u32| {
        let Range { start, end } = piece(member, distance, combination.count);
        start * reduction.element..end * reduction.element
    };
    let mut value = combination.load(0, combination.count)?;
    let mut theirs = Vector::new(bytes(rank, 2).len().max(bytes(rank.across(1), 2).len()))?;
    let mut distance = 1;
    while distance < size {
        let other = rank.across(distance);
        let (kept, given) = (bytes(rank, 2 * distance), bytes(other, 2 * distance));
        let room = &mut theirs[..kept.len()];
        members.swap((other, &value[given]), (other, room)).await?;
        if other < rank {
            reduction.combine(room, &mut value[kept])?;
        } else {
            // This member's are the left operands: the result is where the other's have come.
            reduction.combine(&value[kept.clone()], room)?;
            value[kept].copy_from_slice(room);
        }
        distance *= 2;
    }
    if let Results::Root(_) = combination.results {
        let piece = |member: CommRank| bytes(member, size);
        let own = &mut value[piece(rank)];
        // SAFETY: the value lives until the answer is there.
        let own = unsafe { Memory::new(own.as_mut_ptr(), own.len()) };
        return bring_shares(members, combination, piece, own).await;
    }
    while distance > 1 {
        let other = rank.across(distance / 2);
        let halves = value.get_disjoint_mut([bytes(rank, distance), bytes(other, distance)]);
        let [own, room] = halves.expect("two halves of a piece");
        members.swap((other, own), (other, room)).await?;
        distance /= 2;
    }
    combination.store(&value, 0);
    Ok(())
}

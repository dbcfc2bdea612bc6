//! Reduce-scatter of operands that have to be packed for their way: every member sends every other its share
//! whole. One step.

use super::super::combination::{Combination, Results};
use super::super::vector::Vector;
use crate::error::MpiResult;
use crate::progress::members::Members;
use crate::progress::message::Join;

/// Combines vectors, and gives each member its share.
///
/// # Errors
/// Another member's share is longer; the NIC fails.
pub async fn combine_packed_shares(members: &impl Members, combination: &Combination<'_>) -> MpiResult {
    let Results::Shares(shares) = combination.results else { return Ok(()) };
    let (rank, reduction) = (members.rank(), combination.reduction);
    // SAFETY: the promise of `Combination::new`.
    let load = |share: &std::ops::Range<usize>| unsafe {
        reduction.load(combination.from(), share.start, share.len())
    };
    let own: Vec<Vector> = shares.iter().map(load).collect::<MpiResult<_>>()?;
    let mine = own[rank as usize].clone();
    let mut vectors = vec![mine; own.len()];
    let mut join = Join::new();
    for member in members.others() {
        let vector = &mut vectors[member as usize];
        if !vector.is_empty() {
            // SAFETY: the vectors live, and nobody else uses this one, until the join is complete.
            join.add(unsafe { members.post_receive(member, vector.as_mut_ptr(), vector.len())? });
        }
    }
    for member in members.others() {
        let share = &own[member as usize];
        if !share.is_empty() {
            // SAFETY: the shares live, unchanged, until the join is complete.
            join.add(unsafe { members.post_send(member, share.as_ptr(), share.len())? });
        }
    }
    join.all().await?;
    if shares[rank as usize].is_empty() {
        return Ok(());
    }
    if let Some(result) = reduction.combine_all(&mut vectors)? {
        // SAFETY: as above.
        unsafe { reduction.store(result, combination.to()) };
    }
    Ok(())
}

//! Reduce-scatter: every member sends every other the share that this one gets, and combines those that it gets itself, in the order of the
//! reduction tree. One step.

use super::super::reduction::{Reduction, Vector};
use super::reduce::Operands;
use crate::error::MpiResult;
use crate::progress::party::{Join, Party};

/// Combines all members' vectors and gives each its share of so many elements. In place, operands are where the result goes.
///
/// # Errors
/// Another member's share is longer; the NIC fails.
pub async fn reduce_scatter(
    party: Party,
    reduction: Reduction,
    operands: Operands,
    shares: Vec<usize>,
) -> MpiResult {
    party.announce(0, reduction.said(), operands.count * reduction.element)?;
    let mut first = 0;
    let mut own: Vec<Vector> = Vec::with_capacity(shares.len());
    for &share in &shares {
        // SAFETY: whoever made the operands has checked them, and the program keeps them.
        own.push(unsafe { reduction.load(operands.from, first, share) });
        first += share;
    }
    let mine = own[party.rank as usize].clone();
    let mut vectors = vec![mine; party.size as usize];
    let mut join = Join::new();
    for member in party.others() {
        let vector = &mut vectors[member as usize];
        if !vector.is_empty() {
            // SAFETY: the vectors live, and nobody else uses this one, until the join is complete.
            join.add(unsafe { party.post_receive(member, vector.as_mut_ptr(), vector.len())? });
        }
    }
    for member in party.others() {
        let share = &own[member as usize];
        if !share.is_empty() {
            // SAFETY: the shares live, unchanged, until the join is complete.
            join.add(unsafe { party.post_send(member, share.as_ptr(), share.len())? });
        }
    }
    join.all().await?;
    if shares[party.rank as usize] == 0 {
        return Ok(());
    }
    if let Some(result) = reduction.combine_all(vectors)? {
        // SAFETY: as above.
        unsafe { reduction.store(&result, operands.to) };
    }
    Ok(())
}

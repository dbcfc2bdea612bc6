//! Reduce-scatter: every member sends every other the share that this one gets, and combines those that it gets itself, in the order of the
//! reduction tree: [`super::shares`]. One step, of whole shares where operands have to be packed for their way.

use super::super::reduction::{Reduction, Vector};
use super::reduce::Operands;
use super::shares::combine_share;
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
    if reduction.travels_as_it_lies() {
        // SAFETY: whoever made the operands has checked them, and the program keeps them.
        return unsafe { by_parts(&party, &reduction, &operands, &shares).await };
    }
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
    if let Some(result) = reduction.combine_all(&mut vectors)? {
        // SAFETY: as above.
        unsafe { reduction.store(result, operands.to) };
    }
    Ok(())
}

async unsafe fn by_parts(
    party: &Party,
    reduction: &Reduction,
    operands: &Operands,
    shares: &[usize],
) -> MpiResult {
    let mut first = 0;
    let ranges: Vec<_> = shares
        .iter()
        .map(|share| {
            let start = first;
            first += share * reduction.element;
            start..first
        })
        .collect();
    let bytes = ranges[party.rank as usize].len();
    let share = |member: u32| ranges[member as usize].clone();
    if operands.from != operands.to.cast_const() {
        // SAFETY: the caller's promise.
        return unsafe { combine_share(party, reduction, operands.from, share, operands.to).await };
    }
    // In place the result lies where the first member's share does, which may still have to go.
    let mut result = Vector::new(bytes);
    // SAFETY: the caller's promise; all shares have gone when the answer is there.
    unsafe {
        combine_share(party, reduction, operands.from, share, result.as_mut_ptr()).await?;
        std::ptr::copy_nonoverlapping(result.as_ptr(), operands.to, bytes);
    }
    Ok(())
}

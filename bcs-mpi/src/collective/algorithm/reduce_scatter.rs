//! Reduce-scatter: every member takes of every other's vector the share that it gets itself, and combines it
//! in the order of the reduction tree. In a call that blocks from a board or in an exchange
//! ([`super::combining`]), else by messages ([`super::shares`]): one step, of whole shares where operands
//! have to be packed for their way.

use super::super::policy::{self, Way};
use super::super::reduction::{Reduction, Vector};
use super::combining::{Combined, combine};
use super::reduce::Operands;
use super::shares::combine_share;
use crate::error::MpiResult;
use crate::progress::party::Party;
use crate::progress::pending::Join;
use std::ops::Range;

/// Combines all members' vectors and gives each its share of so many elements. In place, operands are where
/// the result goes.
///
/// # Errors
/// Another member's share is longer; the NIC fails.
pub async fn reduce_scatter(
    party: Party,
    reduction: Reduction,
    operands: Operands,
    shares: Vec<usize>,
) -> MpiResult {
    let bytes = operands.count * reduction.element;
    let way = policy::way_of_shares(&party, &reduction, bytes);
    if !matches!(way, Way::Board | Way::Exchange) || bytes == 0 {
        party.announce(0, reduction.said(), bytes)?;
    }
    let mut first = 0;
    let range = |share: &usize| {
        let start = first;
        first += share * reduction.element;
        start..first
    };
    let ranges: Vec<_> = shares.iter().map(range).collect();
    match way {
        _ if bytes == 0 => Ok(()),
        Way::Board | Way::Exchange => {
            let share = |member: u32| ranges[member as usize].clone();
            let combined = Combined::share_of_all(&party, &share);
            // SAFETY: whoever made the operands has checked them, and the program keeps them.
            unsafe { combine(&party, &reduction, &operands, &combined, way).await }
        }
        // SAFETY: as above.
        Way::Shares => unsafe { by_parts(&party, &reduction, &operands, &ranges).await },
        Way::Nic(_) | Way::Tree => packed(&party, &reduction, &operands, &shares).await,
    }
}

async unsafe fn by_parts(
    party: &Party,
    reduction: &Reduction,
    operands: &Operands,
    ranges: &[Range<usize>],
) -> MpiResult {
    let share = |member: u32| ranges[member as usize].clone();
    // In place, the result would overwrite what others, or this member, still have to read.
    let in_place = operands.from == operands.to.cast_const();
    let mut elsewhere = Vector::new(if in_place { share(party.rank).len() } else { 0 });
    let result = if elsewhere.is_empty() { operands.to } else { elsewhere.as_mut_ptr() };
    // SAFETY: the caller's promise; all shares have gone when the answer is there.
    unsafe {
        combine_share(party, reduction, operands.from, share, result).await?;
        std::ptr::copy_nonoverlapping(elsewhere.as_ptr(), operands.to, elsewhere.len());
    }
    Ok(())
}

/// By messages, operands packed.
async fn packed(party: &Party, reduction: &Reduction, operands: &Operands, shares: &[usize]) -> MpiResult {
    let mut first = 0;
    let mut own: Vec<Vector> = Vec::with_capacity(shares.len());
    for &share in shares {
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

//! Scan and exscan by recursive doubling (Hillis, Steele, "Data Parallel Algorithms", 1986): with every
//! step the members of two aligned blocks exchange what their block comes to, and those of the higher one
//! keep what is before them. In the order of the reduction tree over the lower ranks: the blocks that are
//! before a member are its left halves. log2 p steps for p members, in each of which a member sends a
//! vector at most once.

use crate::collective::{Combination, Vector};
use crate::error::MpiResult;
use crate::progress::{Join, Members};

/// Combines vectors of any length and kind.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn doubling_scan(members: &impl Members, combination: &Combination) -> MpiResult {
    let (rank, size, reduction) = (members.rank(), members.size(), &combination.reduction);
    let own = combination.load(0, combination.count)?;
    let counts_itself = rank.0 < combination.operands_of(rank, size);
    // What this member gets, and what its block comes to.
    let (mut result, mut block) = (counts_itself.then(|| own.clone()), own);
    let mut step = 1;
    while step < size {
        let other = rank.across(step);
        let is_lower = other > rank;
        // Somebody is behind both blocks.
        let is_wanted = rank.0 / (2 * step) * (2 * step) + 2 * step < size;
        let mut theirs = Vector::default();
        let mut join = Join::new();
        if other.0 < size {
            if !is_lower || is_wanted {
                theirs = Vector::new(block.len())?;
                join.receive(members, other, &mut theirs)?;
            }
            if is_lower || is_wanted {
                join.send(members, other, &block)?;
            }
        }
        join.all().await?;
        if !is_lower {
            match &mut result {
                Some(result) => reduction.combine(&theirs, result)?,
                None => result = Some(theirs.clone()),
            }
            if is_wanted {
                reduction.combine(&theirs, &mut block)?;
            }
        } else if is_wanted {
            reduction.combine(&block, &mut theirs)?;
            block = theirs;
        }
        step *= 2;
    }
    if let Some(result) = result {
        combination.store(&result, 0);
    }
    Ok(())
}

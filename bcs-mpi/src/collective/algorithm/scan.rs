//! Scan and exscan: every member sends its vector to all higher ranks, and combines those of the lower ones in the order of the reduction tree over
//! as many. One step.

use super::super::reduction::{Reduction, Vector};
use super::super::scan::ScanKind;
use super::reduce::Operands;
use crate::error::MpiResult;
use crate::progress::party::{Join, Party};

/// Combines the vectors of the members before this one, and this one's if `kind` says so.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn scan(party: Party, reduction: Reduction, operands: Operands, kind: ScanKind) -> MpiResult {
    let Operands { from, to, count } = operands;
    // SAFETY: whoever made the operands has checked them, and the program keeps them.
    let own = unsafe { reduction.load(from, 0, count) };
    if own.is_empty() {
        return Ok(());
    }
    party.announce(0, reduction.said(), own.len())?;
    let mut vectors: Vec<Vector> = (0..party.rank).map(|_| Vector::new(own.len())).collect();
    let mut join = Join::new();
    for (member, vector) in vectors.iter_mut().enumerate() {
        // SAFETY: the vectors live, and nobody else uses this one, until the join is complete.
        join.add(unsafe { party.post_receive(member as u32, vector.as_mut_ptr(), vector.len())? });
    }
    for member in party.rank + 1..party.size {
        // SAFETY: the own vector lives, unchanged, until the join is complete.
        join.add(unsafe { party.post_send(member, own.as_ptr(), own.len())? });
    }
    join.all().await?;
    if kind == ScanKind::Inclusive {
        vectors.push(own);
    }
    if let Some(result) = reduction.combine_all(vectors)? {
        // SAFETY: as above.
        unsafe { reduction.store(&result, to) };
    }
    Ok(())
}

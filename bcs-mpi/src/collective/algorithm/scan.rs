//! Scan and exscan: every member gives its vector to all higher ranks, and combines those of the lower ones
//! in the order of the reduction tree over as many. In a call that blocks from a board or in an exchange
//! ([`super::combining`]); else by messages: one step, or one for each part of a vector that is longer than a
//! part.

use super::super::policy::{self, Way};
use super::super::reduction::{Reduction, Vector};
use super::super::scan::ScanKind;
use super::combining::{Combined, combine};
use super::reduce::Operands;
use crate::error::MpiResult;
use crate::progress::party::Party;
use crate::progress::pending::Join;

/// Bytes of a vector that are under way and combined at once: of each lower rank there are as many in memory.
const PART_BYTES: usize = 1 << 20;

/// Combines the vectors of the members before this one, and this one's if `kind` says so.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn scan(party: Party, reduction: Reduction, operands: Operands, kind: ScanKind) -> MpiResult {
    let bytes = operands.count * reduction.element;
    if bytes == 0 {
        return party.announce(0, (0, 0), 0);
    }
    match policy::way_of_shares(&party, &reduction, bytes) {
        way @ (Way::Board | Way::Exchange) => {
            let members = match kind {
                ScanKind::Inclusive => 0..party.rank + 1,
                ScanKind::Exclusive => 0..party.rank,
            };
            let readers = (party.rank + 1..party.size).collect();
            let combined = Combined { members, wanted: &|_| 0..bytes, readers };
            // SAFETY: whoever made the operands has checked them, and the program keeps them.
            unsafe { combine(&party, &reduction, &operands, &combined, way).await }
        }
        Way::Nic(_) | Way::Shares | Way::Tree => by_messages(&party, &reduction, &operands, kind).await,
    }
}

async fn by_messages(party: &Party, reduction: &Reduction, operands: &Operands, kind: ScanKind) -> MpiResult {
    let &Operands { from, to, count } = operands;
    party.announce(0, reduction.said(), count * reduction.element)?;
    let each = (PART_BYTES / reduction.element).max(1);
    let mut lower: Vec<Vector> = Vec::new();
    for first in (0..count).step_by(each) {
        // SAFETY: whoever made the operands has checked them, and the program keeps them.
        let own = unsafe { reduction.load(from, first, each.min(count - first)) };
        lower.resize_with(party.rank as usize, Vector::default);
        let mut join = Join::new();
        for (member, vector) in lower.iter_mut().enumerate() {
            if vector.len() != own.len() {
                *vector = Vector::new(own.len());
            }
            // SAFETY: the vectors live, and nobody else uses this one, until the join is complete.
            join.add(unsafe { party.post_receive(member as u32, vector.as_mut_ptr(), vector.len())? });
        }
        for member in party.rank + 1..party.size {
            // SAFETY: the own vector lives, unchanged, until the join is complete.
            join.add(unsafe { party.post_send(member, own.as_ptr(), own.len())? });
        }
        join.all().await?;
        if kind == ScanKind::Inclusive {
            lower.push(own);
        }
        if let Some(result) = reduction.combine_all(&mut lower)? {
            // SAFETY: as above; in place, what was there has been loaded.
            unsafe { reduction.store(result, reduction.place_of(to, first)) };
        }
    }
    Ok(())
}

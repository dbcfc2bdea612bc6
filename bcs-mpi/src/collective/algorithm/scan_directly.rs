//! Scan and exscan by messages: every member sends its vector to all higher ranks, and combines those of
//! the lower ones in the order of the reduction tree over as many. One step, or one for each part of a
//! vector that is longer than a part; a member sends and receives n - 1 messages together.

use crate::collective::{Combination, Vector};
use crate::error::MpiResult;
use crate::progress::{Join, Members};
use nic_emu::memory::numbers::CommRank;

/// Bytes of a vector that are under way and combined at once: of each lower rank there are as many in memory.
const PART_BYTES: usize = 1 << 20;

/// Combines vectors of any length and kind.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn scan_directly(members: &impl Members, combination: &Combination) -> MpiResult {
    let (rank, reduction, count) = (members.rank(), &combination.reduction, combination.count);
    let counts_itself = rank.0 < combination.operands_of(rank, members.size());
    let each = (PART_BYTES / reduction.element).max(1);
    let mut lower: Vec<Vector> = Vec::new();
    for first in (0..count).step_by(each) {
        let own = combination.load(first, each.min(count - first))?;
        lower.resize_with(rank.index(), Vector::default);
        let mut join = Join::new();
        for (member, vector) in (0..).map(CommRank).zip(&mut lower) {
            if vector.len() != own.len() {
                *vector = Vector::new(own.len())?;
            }
            join.receive(members, member, vector)?;
        }
        for member in CommRank::all(members.size()).skip(rank.index() + 1) {
            join.send(members, member, &own)?;
        }
        join.all().await?;
        if counts_itself {
            lower.push(own);
        }
        if let Some(result) = reduction.combine_all(&mut lower)? {
            combination.store(result, first);
        }
    }
    Ok(())
}

//! Reduce: by the NIC's Reduce Helper what rides in a descriptor, else along the reduction tree itself: the holder of a left half sends it to the
//! holder of the right one, which combines. log2 n steps; the last rank has the result, and sends it to the root.

use super::super::reduction::{Reduction, Vector};
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::party::Party;
use nic_emu::arith::reduction_tree::ReductionTree;
use nic_emu::descriptor::{CollectiveKind, INLINE_BYTES};
use std::num::NonZeroU32;

/// A vector of the program's that is combined with the other members'.
#[derive(Clone, Debug)]
pub struct Operands {
    /// Where this member's is.
    pub from: *const u8,
    /// Where the result goes, if this member gets one.
    pub to: *mut u8,
    /// Elements.
    pub count: usize,
}

/// Combines all members' vectors; the root gets the result.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn reduce(party: Party, reduction: Reduction, operands: Operands, root: u32) -> MpiResult {
    let Operands { from, to, count } = operands;
    // SAFETY: whoever made the operands has checked them, and the program keeps them.
    let mut value = unsafe { reduction.load(from, 0, count) };
    if value.is_empty() {
        return Ok(());
    }
    let is_root = party.rank == root;
    if party.size == 1 {
        // SAFETY: as above.
        unsafe { reduction.store(&value, to) };
        return Ok(());
    }
    if let Some(operation) = reduction.on_nic().filter(|_| value.len() <= INLINE_BYTES) {
        let arrival = Arrival { kind: CollectiveKind::Reduce, operation, root, ..Arrival::default() };
        let mut result = [0; INLINE_BYTES];
        let result = &mut result[..if is_root { value.len() } else { 0 }];
        party.on_nic(arrival, &value, result).await?;
        if is_root {
            // SAFETY: as above.
            unsafe { reduction.store(result, to) };
        }
        return Ok(());
    }
    to_last(&party, &reduction, &mut value).await?;
    let last = party.size - 1;
    if root != last {
        if party.rank == last {
            return party.send(root, &value).await;
        }
        if is_root {
            party.receive(last, &mut value).await?;
        }
    }
    if is_root {
        // SAFETY: as above.
        unsafe { reduction.store(&value, to) };
    }
    Ok(())
}

/// Combines the members' values along the reduction tree; the last member's becomes the result.
pub(super) async fn to_last(party: &Party, reduction: &Reduction, value: &mut Vector) -> MpiResult {
    let Some(ranks) = NonZeroU32::new(party.size) else { return Ok(()) };
    let mut left = Vector::default();
    for step in ReductionTree::new(ranks).steps(0..ranks.get()) {
        if step.left == party.rank {
            // A left half is taken once: this member has no part in later steps.
            return party.send(step.right, value).await;
        }
        if step.right == party.rank {
            if left.is_empty() {
                left = Vector::new(value.len());
            }
            party.receive(step.left, &mut left).await?;
            reduction.combine(&mut left, value)?;
        }
    }
    Ok(())
}

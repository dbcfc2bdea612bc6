//! Combining contributions of several members at one of them, in the order of the reduction tree (design §4,
//! "Arithmetic"): what blocks of reductions and scans have in common.

use super::exchange::{Call, Contribution, Piece, exchange};
use super::operand::Operand;
use crate::error::MpiResult;
use crate::process::Guard;
use nic_emu::arith::Arithmetic;
use nic_emu::arith::reduction_tree::ReductionTree;
use std::num::NonZeroU32;
use std::ops::Range;

/// Exchanges contributions and combines the same `result.len()` bytes, from `offset` on, of those of `members`; the result is that
/// of the tree over as many ranks. Members that combine nothing take part with an empty range.
///
/// # Safety
/// `own` must be readable, and at `offset` in every member's contribution there must be as many bytes as `result` has.
///
/// # Errors
/// What the exchange fails with.
pub(super) unsafe fn combine_members(
    process: &mut Guard,
    call: &Call,
    operand: &Operand,
    own: Contribution,
    offset: usize,
    members: Range<u32>,
    result: &mut [u8],
) -> MpiResult<()> {
    let bytes = result.len();
    let mut vectors: Vec<Vec<u8>> = members.clone().map(|_| vec![0; bytes]).collect();
    let pieces: Vec<Piece> = if bytes == 0 {
        Vec::new()
    } else {
        let places = vectors.iter_mut().map(|vector| vector.as_mut_ptr());
        members.clone().zip(places).map(|(member, to)| Piece { member, offset, bytes, to }).collect()
    };
    // SAFETY: the caller's promise; the vectors are as long as the pieces.
    unsafe { exchange(process, call, own, &pieces)? };
    let Some(count) = NonZeroU32::new(members.len() as u32).filter(|_| bytes > 0) else { return Ok(()) };
    let software = process.port.memory().header().arithmetic.get() == 1;
    let arithmetic = if software { Arithmetic::SoftFloat } else { Arithmetic::Native };
    for step in ReductionTree::new(count).steps(0..count.get()) {
        let (left, right) = vectors.split_at_mut(step.right as usize);
        operand.combine(&left[step.left as usize], &mut right[0], arithmetic)?;
    }
    result.copy_from_slice(&vectors[count.get() as usize - 1]);
    Ok(())
}

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

/// Bytes of working memory that are kept from call to call.
const SCRATCH_BYTES: usize = 64 << 20;

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
    let call = Call { operation: operand.on_nic().unwrap_or((0, 0)), ..*call };
    let bytes = result.len();
    let count = members.len();
    // One piece of memory for all vectors, kept from call to call: large fresh ones cost more in page faults than the combining.
    let mut scratch = std::mem::take(&mut process.scratch);
    if scratch.len() < count * bytes {
        scratch.resize(count * bytes, 0);
    }
    let pieces: Vec<Piece> = if bytes == 0 {
        Vec::new()
    } else {
        let places = scratch.chunks_exact_mut(bytes).map(<[u8]>::as_mut_ptr);
        members.clone().zip(places).map(|(member, to)| Piece { member, offset, bytes, to }).collect()
    };
    // SAFETY: the caller's promise; each place has as many bytes as its piece.
    let combined = unsafe { exchange(process, &call, own, &pieces) }.and_then(|()| {
        let Some(ranks) = NonZeroU32::new(count as u32).filter(|_| bytes > 0) else { return Ok(()) };
        let software = process.port.memory().header().arithmetic.get() == 1;
        let arithmetic = if software { Arithmetic::SoftFloat } else { Arithmetic::Native };
        for step in ReductionTree::new(ranks).steps(0..ranks.get()) {
            let (left, right) = scratch.split_at_mut(step.right as usize * bytes);
            let left = &left[step.left as usize * bytes..][..bytes];
            operand.combine(left, &mut right[..bytes], arithmetic)?;
        }
        result.copy_from_slice(&scratch[(count - 1) * bytes..][..bytes]);
        Ok(())
    });
    scratch.truncate(SCRATCH_BYTES);
    process.scratch = scratch;
    combined
}

//! Two operand vectors are combined, element by element.

use super::dispatch::{Arithmetic, run};
use super::element::ElementType;
use super::error::ArithError;
use super::kernel::Operands;
use super::operation::ReduceOp;

/// Combines element by element: `inout_right = left op inout_right`.
///
/// `left` is the operand of the lower ranks, as MPI orders them. Vectors may have any alignment.
/// [`ReduceOp::Replace`] copies `left`, [`ReduceOp::NoOp`] leaves `inout_right` as it is.
///
/// # Errors
/// The operation is not defined on the type, the lengths differ, or they are no multiple of the element's
/// size. Nothing is written then.
#[inline]
pub fn combine(
    op: ReduceOp,
    element: ElementType,
    left: &[u8],
    inout_right: &mut [u8],
    arithmetic: Arithmetic,
) -> Result<(), ArithError> {
    let (bytes, found) = (left.len(), inout_right.len());
    if bytes != found {
        return Err(ArithError::LengthMismatch { op, expected: bytes, found });
    }
    let (left, out) = (left.as_ptr(), inout_right.as_mut_ptr());
    // SAFETY: both vectors are as long, and cannot overlap because one is borrowed beside a mutable borrow.
    unsafe { combine_at(op, element, (left, out, out), bytes, arithmetic) }
}

/// Combines vectors of `bytes` bytes each that others may write, too: nothing refers to them. Who does write
/// them meanwhile has changed the result, and nothing else. Of the three places the first two have the
/// operands, and the last one gets the result.
///
/// # Safety
/// Operands must be readable and the place of the result writable for `bytes` bytes; it may be an operand's,
/// and otherwise must not overlap one.
///
/// # Errors
/// As for [`combine`]; nothing is written then.
#[inline]
pub unsafe fn combine_at(
    op: ReduceOp,
    element: ElementType,
    (left, right, out): (*const u8, *const u8, *mut u8),
    bytes: usize,
    arithmetic: Arithmetic,
) -> Result<(), ArithError> {
    let shift = element.size_log2();
    if bytes & ((1 << shift) - 1) != 0 {
        return Err(ArithError::PartialElement { element, length: bytes });
    }
    let operands = Operands { left, right, out, count: bytes >> shift };
    // SAFETY: all hold `count` elements, and the result overlaps no operand in part: the caller's promise.
    unsafe { run(op, element, operands, arithmetic) }
}

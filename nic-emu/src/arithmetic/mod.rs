//! The arithmetic of the NIC: how the Reduce Helper combines operand vectors (paper, §4.4; design, §4
//! "Arithmetic").
//!
//! Invariant: a result depends on the operands alone. It is the same, bit for bit, on every node, in every
//! run, with either [`Arithmetic`] and whatever floating-point environment the calling program has set.
//! The order in which contributions meet is the business of [`reduction_tree`].
//!
//! The rules, which both arithmetics keep:
//!
//! - Sum and product round to nearest, ties to even; subnormals are neither flushed nor taken for zero.
//!   Nothing is fused: a complex product is four products, a difference and a sum, each rounded.
//! - bf16 and f16 results are the correctly rounded results of the exact sum or product.
//! - A NaN operand comes out: the left one if both are NaN, made quiet, its sign and payload kept. An
//!   invalid operation (∞ − ∞, 0 × ∞) gives the negative quiet NaN without payload. This is what SSE does, and
//!   SoftFloat when specialised for it.
//! - Maximum and minimum are those of IEEE 754-2019 (`maximum`, `minimum`): −0 is less than +0, and a NaN
//!   operand comes out as above, so that a NaN in the data is never hidden by the order of ranks.
//! - MAXLOC and MINLOC give the value by that rule, with its index; among equal values, or two NaNs, the
//!   smaller index (MPI-5.0, §6.9.4). −0 and +0 are equal here: the smaller index wins.
//! - Integers wrap. Logical operations take any non-zero for true and give 0 or 1.
//! - Padding inside a pair type is neither read nor written.

/// An enum whose values travel as their discriminants, in whose order they stand: with a table of them, by
/// which `TryFrom` finds a value, and with their names.
macro_rules! numbered {
    ($(#[$of_enum:meta])* pub enum $name:ident, else $unknown:ident {
        $($(#[$doc:meta])* $variant:ident = $number:literal $text:literal,)+
    }) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])* $variant = $number,)+
        }

        impl $name {
            /// All of them, in the order of discriminants.
            pub const ALL: [Self; [$($number),+].len()] = [$(Self::$variant),+];

            /// What messages call it.
            pub const fn name(self) -> &'static str {
                [$($text),+][self as usize]
            }
        }

        impl TryFrom<u8> for $name {
            type Error = ArithError;

            #[inline]
            fn try_from(value: u8) -> Result<Self, ArithError> {
                Self::ALL.get(usize::from(value)).copied().ok_or(ArithError::$unknown(value))
            }
        }

        const _: () = {
            let mut i = 0;
            while i < $name::ALL.len() {
                assert!($name::ALL[i] as usize == i);
                i += 1;
            }
        };
    };
}

mod dispatch;
mod element;
#[cfg(target_arch = "x86_64")]
mod environment;
mod float;
mod integer;
mod kernel;
mod operation;
mod pair;
pub mod reduction_tree;
mod softfloat;

pub use element::ElementType;
pub use operation::{ReduceOp, supports};

use kernel::Operands;

/// What computes floating-point results. Both give the same bits.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize,
)]
#[repr(u8)]
pub enum Arithmetic {
    /// The processor's own vector arithmetic, with SoftFloat where no native kernel exists.
    #[default]
    Native = 0,
    /// The reference: Berkeley SoftFloat, as on the paper's NIC, which has no floating-point unit (§4.4).
    SoftFloat = 1,
}

/// Why operand vectors cannot be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArithError {
    /// The MPI standard does not define this operation on this type (MPI-5.0, §6.9.2).
    #[error("{op:?} is not defined on {element:?}: use an operation of the type's class (MPI-5.0, §6.9.2)")]
    Unsupported {
        /// The operation asked for.
        op: ReduceOp,
        /// The type of the operands.
        element: ElementType,
    },
    /// Two operand vectors differ in length.
    #[error("{op:?} needs vectors of one length, but got {expected} and {found} bytes: pass the same count")]
    LengthMismatch {
        /// The operation asked for.
        op: ReduceOp,
        /// Length of the left operand, in bytes.
        expected: usize,
        /// Length of the vector that differs, in bytes.
        found: usize,
    },
    /// A vector ends inside an element.
    #[error("{length} bytes are no whole number of {element:?} elements of {} bytes", element.size())]
    PartialElement {
        /// The type of the operands.
        element: ElementType,
        /// Length of the vectors, in bytes.
        length: usize,
    },
    /// A descriptor names an element type that does not exist.
    #[error("{0} is no element type: the descriptor is corrupt or of another version")]
    UnknownElementType(u8),
    /// A descriptor names an operation that does not exist.
    #[error("{0} is no reduce operation: the descriptor is corrupt or of another version")]
    UnknownReduceOp(u8),
}

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
    count_of(op, element, left.len(), inout_right.len())?;
    let (left, bytes, out) = (left.as_ptr(), left.len(), inout_right.as_mut_ptr());
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
    let count = count_of(op, element, bytes, bytes)?;
    let operands = Operands { left, right, out, count };
    // SAFETY: all hold `count` elements, and the result overlaps no operand in part: the caller's promise.
    unsafe { dispatch::run(op, element, operands, arithmetic) }
}

#[inline(always)]
fn count_of(op: ReduceOp, element: ElementType, left: usize, right: usize) -> Result<usize, ArithError> {
    if left != right {
        return Err(ArithError::LengthMismatch { op, expected: left, found: right });
    }
    let shift = element.size_log2();
    if left & ((1 << shift) - 1) != 0 {
        return Err(ArithError::PartialElement { element, length: left });
    }
    Ok(left >> shift)
}

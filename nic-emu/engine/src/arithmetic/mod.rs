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
//! - A NaN operand comes out: the left one if both are NaN, made quiet, its sign and payload kept. An invalid
//!   operation (∞ − ∞, 0 × ∞) gives the negative quiet NaN without payload. This is what SSE does, and
//!   SoftFloat when specialised for it.
//! - Maximum and minimum are those of IEEE 754-2019 (`maximum`, `minimum`): −0 is less than +0, and a NaN
//!   operand comes out as above, so that a NaN in the data is never hidden by the order of ranks.
//! - MAXLOC and MINLOC give the value by that rule, with its index; among equal values, or two NaNs, the
//!   smaller index (MPI-5.0, §6.9.4). −0 and +0 are equal here: the smaller index wins.
//! - Integers wrap. Logical operations take any non-zero for true and give 0 or 1.
//! - Padding inside a pair type is neither read nor written.

#[macro_use]
mod numbered;

mod combine;
mod dispatch;
mod element;
#[cfg(target_arch = "x86_64")]
mod environment;
mod error;
mod float;
mod integer;
mod kernel;
mod operation;
mod pair;
pub mod reduction_tree;
mod softfloat;

pub use combine::{combine, combine_at};
pub use dispatch::Arithmetic;
pub use element::ElementType;
pub use error::ArithError;
pub use operation::ReduceOp;

//! Datatypes: what the elements of a buffer are (MPI-5.0, chapter 5).
//!
//! A [`Type`] is an immutable object; it knows its bounds from the call that made it and becomes a loop
//! program ([`flat`]) once, when it is committed. A program over the elements of a message is a [`Layout`]; a
//! [`Cursor`] over that moves its bytes, from any position on, in the largest pieces there are. Handles are
//! in the process's [`Datatypes`].
//!
//! A predefined type whose elements lie together is recognised by a table look-up ([`contiguous_bytes`]) and
//! meets none of this.

pub(crate) mod basic;
pub(crate) mod bounds;
pub mod buffer;
pub(crate) mod constructor;
pub mod copying;
pub mod cursor;
pub(crate) mod darray;
pub mod flat;
pub(crate) mod order;
pub(crate) mod placement;
mod seek;
pub(crate) mod signature;
pub mod strided;
pub(crate) mod subarray;
pub(crate) mod table;
pub mod type_check;
pub(crate) mod typemap;

pub use buffer::{Incoming, Outgoing, contiguous_bytes};
pub use cursor::{Cursor, Layout};
pub use signature::{Signature, is_of_one_kind};
pub use table::Datatypes;
pub use typemap::{Measure, Type};

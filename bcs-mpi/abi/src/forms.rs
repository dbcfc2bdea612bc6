//! What an entry of a table of collective calls becomes: its blocking, its non-blocking and its persistent
//! form, which differ in their last arguments and in what they answer.
//!
//! ```text
//! forms [NAMES](arguments) [moves bytes] |call| body      the blocking, the non-blocking, the persistent one
//! twins [NAMES](arguments) [moves bytes] |call| body      also those with large counts
//! ```
//!
//! The table names the arguments up to the communicator. The body, an expression, answers the request of the
//! form that `call` says. MMDS counts the bytes, except of a persistent form, which only prepares a call.

use crate::edge::Number;
use bcs_mpi::collective::buffers::{Everyone, Vectors};
use bcs_mpi::collective::places::{Numbers, Places};
use bcs_mpi::constants::*;
use bcs_mpi::object::datatype::buffer::Elements;
use std::ffi::{c_int, c_void};

macro_rules! collectives {
    () => {};
    (forms $names:tt $arguments:tt [moves $bytes:expr] |$call:ident| $body:expr; $($rest:tt)*) => {
        three_forms! { call $names $arguments [$bytes] |$call| $body }
        collectives! { $($rest)* }
    };
    (twins $names:tt $arguments:tt [moves $bytes:expr] |$call:ident| $body:expr; $($rest:tt)*) => {
        three_forms! { twin $names $arguments [$bytes] |$call| $body }
        collectives! { $($rest)* }
    };
}

macro_rules! three_forms {
    (
        $kind:ident [$blocking:ident $immediate:ident $persistent:ident] ($($argument:ident : $type:ty),* $(,)?)
        [$bytes:expr] |$call:ident| $body:expr
    ) => {
        calls! {
            $kind $blocking($($argument: $type,)* comm: MPI_Comm) [timed($bytes) on comm] {
                let $call = Call::blocking(primitive!($blocking), comm);
                $body?
            }
            $kind $immediate($($argument: $type,)* comm: MPI_Comm, request: *mut MPI_Request)
            [timed($bytes) on comm] {
                let request = handle(request, "request")?;
                let $call = Call::immediate(primitive!($immediate), comm);
                request.set($body?)
            }
            $kind $persistent($($argument: $type,)* comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request)
            [timed(0) on comm] {
                let request = handle(request, "request")?;
                info::check(info)?;
                let $call = Call::persistent(primitive!($persistent), comm);
                request.set($body?)
            }
        }
    };
}

/// An array of counts or displacements of either width.
pub trait Array {
    /// Its numbers.
    fn numbers(self) -> Numbers;
}

impl Array for *const c_int {
    fn numbers(self) -> Numbers {
        Numbers::Small(self)
    }
}

impl Array for *const i64 {
    fn numbers(self) -> Numbers {
        Numbers::Large(self)
    }
}

impl Array for *const isize {
    fn numbers(self) -> Numbers {
        const { assert!(size_of::<isize>() == size_of::<i64>()) };
        Numbers::Large(self.cast())
    }
}

/// Elements of a buffer.
///
/// # Safety
/// As [`Elements::new`].
#[inline(always)]
pub unsafe fn own<P>(buffer: P, count: impl Number, datatype: MPI_Datatype) -> Elements<P> {
    // SAFETY: the caller's promise.
    unsafe { Elements::new(buffer, count.wide(), datatype) }
}

/// Blocks of as many elements each.
///
/// # Safety
/// As [`Everyone::new`].
pub unsafe fn everyone<P>(buffer: P, count: impl Number, datatype: MPI_Datatype) -> Everyone<P> {
    // SAFETY: the caller's promise.
    unsafe { Everyone::new(buffer, Places::Equal(count.wide(), datatype)) }
}

/// Blocks of a v form.
///
/// # Safety
/// As [`Everyone::new`].
pub unsafe fn everyone_v<P>(
    buffer: P,
    counts: impl Array,
    displs: impl Array,
    datatype: MPI_Datatype,
) -> Everyone<P> {
    // SAFETY: the caller's promise.
    unsafe { Everyone::new(buffer, Places::Vector(counts.numbers(), displs.numbers(), datatype)) }
}

/// Blocks of a w form.
///
/// # Safety
/// As [`Everyone::new`].
pub unsafe fn everyone_w<P>(
    buffer: P,
    counts: impl Array,
    displs: impl Array,
    types: *const MPI_Datatype,
) -> Everyone<P> {
    // SAFETY: the caller's promise.
    unsafe { Everyone::new(buffer, Places::Typed(counts.numbers(), displs.numbers(), types)) }
}

/// The vectors of a reduction.
///
/// # Safety
/// As [`Vectors::new`].
#[inline(always)]
pub unsafe fn vectors(
    send: *const c_void,
    receive: *mut c_void,
    count: impl Number,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> Vectors {
    // SAFETY: the caller's promise.
    unsafe { Vectors::new(send, receive, count.wide(), datatype, op) }
}

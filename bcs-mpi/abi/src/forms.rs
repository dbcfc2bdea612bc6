//! What an entry of a table of collective calls becomes: its blocking, its non-blocking and its persistent
//! form, which differ in their last arguments and in what they answer.
//!
//! ```text
//! [NAMES](arguments) [moves bytes] |call| body      the blocking, the non-blocking, the persistent one
//! ```
//!
//! The table names the arguments up to the communicator. The body, an expression, answers the request of the
//! form that `call` says. MMDS counts the bytes, except of a persistent form, which only prepares a call.

use crate::edge::Number;
use bcs_mpi::collective::buffers::{Everyone, Own, Vectors};
use bcs_mpi::collective::places::{Blocks, Numbers, Places, Typed};
use bcs_mpi::constants::*;
use std::ffi::{c_int, c_void};

macro_rules! collectives {
    ($(
        [$blocking:ident $immediate:ident $persistent:ident] $arguments:tt [moves $bytes:expr]
        |$call:ident| $body:expr;
    )*) => { $(
        three_forms! { $blocking $immediate $persistent $arguments [$bytes] |$call| $body }
    )* };
}

macro_rules! three_forms {
    (
        $blocking:ident $immediate:ident $persistent:ident ($($argument:ident),* $(,)?) [$bytes:expr]
        |$call:ident| $body:expr
    ) => {
        calls! {
            $blocking($($argument,)* comm) [timed($bytes) on comm] {
                let $call = Call::blocking(primitive!($blocking), comm);
                $body?
            }
            $immediate($($argument,)* comm, request: OUT) [timed($bytes) on comm] {
                let $call = Call::immediate(primitive!($immediate), comm);
                request.set($body?)
            }
            $persistent($($argument,)* comm, info, request: OUT) [timed(0) on comm] {
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

/// A member's own buffer.
pub fn own<P>(buffer: P, count: impl Number, datatype: MPI_Datatype) -> Own<P> {
    Own { buffer, count: count.wide(), datatype }
}

/// Blocks of as many elements each.
pub fn everyone<P>(buffer: P, count: impl Number, datatype: MPI_Datatype) -> Everyone<P> {
    Everyone::of(buffer, Blocks::Equal(count.wide()), datatype)
}

/// Blocks of a v form.
pub fn everyone_v<P>(
    buffer: P,
    counts: impl Array,
    displs: impl Array,
    datatype: MPI_Datatype,
) -> Everyone<P> {
    Everyone::of(buffer, Blocks::Vector(counts.numbers(), displs.numbers()), datatype)
}

/// Blocks of a w form.
pub fn everyone_w<P>(
    buffer: P,
    counts: impl Array,
    displs: impl Array,
    types: *const MPI_Datatype,
) -> Everyone<P> {
    let typed = Typed { counts: counts.numbers(), displacements: displs.numbers(), types };
    Everyone { buffer, places: Places::Typed(typed) }
}

/// The vectors of a reduction.
#[inline(always)]
pub fn vectors(
    send: *const c_void,
    receive: *mut c_void,
    count: impl Number,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> Vectors {
    Vectors { send, receive, count: count.wide(), datatype, op }
}

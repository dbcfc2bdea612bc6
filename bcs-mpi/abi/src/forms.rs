//! What an entry of a table of collective calls becomes: its blocking, its non-blocking and its persistent
//! form, which differ in their last arguments and in what they answer.
//!
//! ```text
//! forms NAME(arguments) [moves bytes] |call| body      MPI_NAME, MPI_Iname, MPI_NAME_init
//! twins NAME(arguments) [moves bytes] |call| body      also those with large counts
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
    () => {};
    (forms $name:ident $arguments:tt [moves $bytes:expr] |$call:ident| $body:expr; $($rest:tt)*) => {
        three_forms! { call $name $arguments [$bytes] |$call| $body }
        collectives! { $($rest)* }
    };
    (twins $name:ident $arguments:tt [moves $bytes:expr] |$call:ident| $body:expr; $($rest:tt)*) => {
        three_forms! { twin $name $arguments [$bytes] |$call| $body }
        collectives! { $($rest)* }
    };
}

macro_rules! three_forms {
    (
        $kind:ident $name:ident ($($argument:ident : $type:ty),* $(,)?)
        [$bytes:expr] |$call:ident| $body:expr
    ) => {
        pastey::paste! { calls! {
            $kind [<MPI_ $name>]($($argument: $type,)* comm: MPI_Comm)
            [time [<$name:camel>]($bytes) on comm] {
                let $call = Call::blocking(Primitive::[<$name:camel>], comm);
                $body?
            }
            $kind [<MPI_I $name:lower>]($($argument: $type,)* comm: MPI_Comm, request: *mut MPI_Request)
            [time [<I $name:lower_camel>]($bytes) on comm] {
                let request = handle(request, "request")?;
                let $call = Call::immediate(Primitive::[<I $name:lower_camel>], comm);
                request.set($body?)
            }
            $kind [<MPI_ $name _init>](
                $($argument: $type,)* comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
            ) [time [<$name:camel Init>](0) on comm] {
                let request = handle(request, "request")?;
                info::check(info)?;
                let $call = Call::persistent(Primitive::[<$name:camel Init>], comm);
                request.set($body?)
            }
        } }
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

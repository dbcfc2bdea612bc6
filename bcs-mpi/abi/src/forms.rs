//! What an entry of a table of collective calls becomes: its blocking, its non-blocking and its persistent
//! form, which differ in their last arguments and in what they answer.
//!
//! ```text
//! [BLOCKING NON_BLOCKING PERSISTENT] function [moves bytes] (arguments) |call, function| body
//! ```
//!
//! The table names the arguments up to the communicator. The body, an expression, answers the request of the
//! form that `call` says. MMDS counts the bytes, except of a persistent form, which only prepares a call.
//! Several calls may have one body, in which the function of `bcs-mpi` that they call differs.

use crate::edge::{Number, is_large};
use bcs_mpi::collective::places::Numbers;
use bcs_mpi::constants::*;
use bcs_mpi::object::datatype::buffer::Elements;
use std::ffi::c_int;

macro_rules! collectives {
    ($(
        $([$($name:ident)*] $form:ident [moves $bytes:expr])+
        ($($argument:ident),*) |$call:ident, $function:ident| $body:expr;
    )*) => {
        $(same_forms! { [$([$($name)*] $form [$bytes])+] ($($argument),*) |$call, $function| $body })*
    };
}

macro_rules! same_forms {
    (
        [$([$($name:ident)*] $form:ident [$bytes:expr])+]
        $arguments:tt |$call:ident, $function:ident| $body:expr
    ) => {
        $(three_forms! { $($name)* $form $arguments [$bytes] |$call, $function| $body })+
    };
}

macro_rules! three_forms {
    (
        $blocking:ident $immediate:ident $persistent:ident $form:ident ($($argument:ident),*) [$bytes:expr]
        |$call:ident, $function:ident| $body:expr
    ) => {
        calls! {
            $blocking($($argument,)* comm) [timed($bytes) on comm] {
                let ($call, $function) = (Call::blocking(primitive!($blocking), comm), forms::$form);
                $body?
            }
            $immediate($($argument,)* comm, request: OUT) [timed($bytes) on comm] {
                let primitive = primitive!($immediate);
                let ($call, $function) = (Call { primitive, form: Form::NonBlocking, comm }, forms::$form);
                request.set($body?)
            }
            $persistent($($argument,)* comm, info, request: OUT) [timed(0) on comm] {
                info::check(info)?;
                let primitive = primitive!($persistent);
                let ($call, $function) = (Call { primitive, form: Form::Persistent, comm }, forms::$form);
                request.set($body?)
            }
        }
    };
}

/// An array of counts or displacements of either width.
pub fn array<T: Number>(at: *const T) -> Numbers {
    const { assert!(size_of::<T>() == size_of::<c_int>() || size_of::<T>() == size_of::<i64>()) };
    if is_large::<T>() { Numbers::Large(at.cast()) } else { Numbers::Small(at.cast()) }
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

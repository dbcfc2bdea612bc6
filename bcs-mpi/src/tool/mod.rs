//! The tool interface (MPI-5.0, §15.3): control variables, performance variables, events, and categories of
//! them.
//!
//! A variable is a line of a table ([`control`], [`performance`]), and so is a kind of event ([`event`]): its
//! name, its category, what it means, and how it is read or written. Indices are places in these tables, so
//! they never change. The calls work on the tables alone.
//!
//! | file | holds |
//! |---|---|
//! | [`life`] | the start and the end of the interface, and the handles that tools have |
//! | [`value`], [`enumeration`], [`category`], `reading` | what tables are made of |
//! | [`control`], [`control_handle`] | the table of control variables; handles for them |
//! | [`performance`], `measure`, `handle`, [`session`] | the table of performance variables; what a handle has measured; handles, and sessions of them |
//! | [`event`], [`registration`] | the table of events and their source; registrations for them |
//! | [`catalogue`] | what is in each category |
//! | [`list`] | all tables as a document |
//!
//! It is usable before MPI_Init and after MPI_Finalize, and initialised as often as it is finalised. Every
//! call has a lock of its own for what it changes. Below MPI_THREAD_MULTIPLE the process has no lock, so
//! threads other than the one that initialised MPI read NIC memory and what is recorded, and are refused the
//! rest. Errors are codes that the calls return; no error handler is asked (§15.3.10).

pub mod catalogue;
pub mod category;
pub mod control;
pub mod control_handle;
pub mod enumeration;
pub mod event;
mod handle;
pub mod life;
pub mod list;
mod measure;
pub mod performance;
mod reading;
pub mod registration;
pub mod session;
pub mod value;

use crate::constants::MPI_T_ERR_INVALID_INDEX;
use std::ffi::c_int;

/// What a call answers, or its error: a code of the standard.
pub type Told<T = ()> = Result<T, c_int>;

/// The place of an index in a table.
///
/// # Errors
/// There is no such index.
fn at<T>(table: &[T], index: c_int) -> Told<&T> {
    usize::try_from(index).ok().and_then(|index| table.get(index)).ok_or(MPI_T_ERR_INVALID_INDEX)
}

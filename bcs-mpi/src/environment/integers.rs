//! Handles as integers: what Fortran programs and `MPI_X_c2f` use (MPI-5.0, §20.3).
//!
//! Predefined handles are their own numbers; others are the index of their object above those.

use crate::collective::operation::OPERATIONS;
use crate::handle::{FIRST_INT, Numbered};
use crate::info::INFOS;
use crate::kind::Kind;
use crate::object::error_handler::ERROR_HANDLERS;
use crate::object::session::SESSIONS;
use crate::process;
use crate::request;
use std::ffi::c_int;

/// What `look` sees in the table of a kind of objects, other than requests.
fn table<R>(kind: Kind, look: impl FnOnce(&dyn Numbered) -> Option<R>) -> Option<R> {
    match kind {
        Kind::ErrorHandler => return look(&*ERROR_HANDLERS.lock()),
        Kind::Info => return look(&*INFOS.lock()),
        Kind::Operation => return look(&*OPERATIONS.lock()),
        Kind::Session => return look(&*SESSIONS.lock()),
        _ => {}
    }
    let process = process::enter().ok()?;
    match kind {
        Kind::Communicator => look(&process.communicators.table),
        Kind::Datatype => look(&process.datatypes.table),
        Kind::Group => look(&process.groups),
        Kind::Message => look(&process.requests.messages),
        Kind::Window => look(&process.windows.table),
        Kind::File => look(&process.files.table),
        _ => None,
    }
}

/// The integer of a handle; -1 when it names no object.
pub fn of_handle(kind: Kind, handle: usize) -> c_int {
    if handle < FIRST_INT as usize {
        return handle as c_int;
    }
    let found = match kind {
        Kind::Request => process::enter().ok().and_then(|mut process| request::to_int(&mut process, handle)),
        kind => table(kind, |table| table.to_int(handle)),
    };
    found.unwrap_or(-1)
}

/// The handle of an integer; the null handle when it is none's.
pub fn to_handle(kind: Kind, int: c_int, null: usize) -> usize {
    if (0..FIRST_INT).contains(&int) {
        return int as usize;
    }
    let found = match kind {
        Kind::Request => process::enter().ok().and_then(|process| request::from_int(&process, int)),
        kind => table(kind, |table| table.handle_of(int)),
    };
    found.unwrap_or(null)
}

//! Handles as integers: what Fortran programs and `MPI_X_c2f` use (MPI-5.0, §20.3).
//!
//! Predefined handles are their own numbers; others are the index of their object above those.

use crate::collective::operation::OPERATIONS;
use crate::handle::FIRST_INT;
use crate::info::INFOS;
use crate::object::error_handler::ERROR_HANDLERS;
use crate::object::session::SESSIONS;
use crate::process;
use crate::request;
use std::ffi::c_int;

/// What kind of object a handle is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Communicators.
    Communicator,
    /// Datatypes.
    Datatype,
    /// Groups.
    Group,
    /// Requests.
    Request,
    /// Matched messages.
    Message,
    /// Sessions.
    Session,
    /// Error handlers.
    ErrorHandler,
    /// Info objects.
    Info,
    /// Reduction operations.
    Operation,
    /// A kind of which this library has predefined objects only.
    Predefined,
}

/// The integer of a handle; -1 when it names no object.
pub fn of_handle(of: Of, handle: usize) -> c_int {
    if handle < FIRST_INT as usize {
        return handle as c_int;
    }
    let found = match of {
        Of::ErrorHandler => ERROR_HANDLERS.lock().to_int(handle),
        Of::Info => INFOS.lock().to_int(handle),
        Of::Operation => OPERATIONS.lock().to_int(handle),
        Of::Session => SESSIONS.lock().to_int(handle),
        Of::Predefined => return -1,
        Of::Communicator | Of::Datatype | Of::Group | Of::Message | Of::Request => {
            let Ok(mut process) = process::enter() else { return -1 };
            match of {
                Of::Communicator => process.communicators.table.to_int(handle),
                Of::Datatype => process.datatypes.to_int(handle),
                Of::Group => process.groups.to_int(handle),
                Of::Message => process.requests.messages.to_int(handle),
                _ => request::to_int(&mut process, handle),
            }
        }
    };
    found.unwrap_or(-1)
}

/// The handle of an integer; the null handle when it is none's.
pub fn to_handle(of: Of, int: c_int, null: usize) -> usize {
    if (0..FIRST_INT).contains(&int) {
        return int as usize;
    }
    let found = match of {
        Of::ErrorHandler => ERROR_HANDLERS.lock().from_int(int),
        Of::Info => INFOS.lock().from_int(int),
        Of::Operation => OPERATIONS.lock().from_int(int),
        Of::Session => SESSIONS.lock().from_int(int),
        Of::Predefined => None,
        Of::Communicator | Of::Datatype | Of::Group | Of::Message | Of::Request => {
            let Ok(process) = process::enter() else { return null };
            match of {
                Of::Communicator => process.communicators.table.from_int(int),
                Of::Datatype => process.datatypes.from_int(int),
                Of::Group => process.groups.from_int(int),
                Of::Message => process.requests.messages.from_int(int),
                _ => request::from_int(&process, int),
            }
        }
    };
    found.unwrap_or(null)
}

//! The error handlers of communicators, sessions, windows and files: set, asked for, called; and the handler
//! that is told of an error (MPI-5.0, §9.3).
//!
//! Errors of calls without an object go to the handler of MPI_COMM_SELF, as the standard says since 4.0;
//! while the program has not set that one, to MPI_COMM_WORLD's, as older programs expect.
//! MPI_FILE_NULL has a handler, too, which hears of files that are not open.

use crate::constants::*;
use crate::error::codes::codes;
use crate::error::{MpiError, MpiResult, Owner, Problem};
use crate::object::error_handler::{function_of, release, retain, retain_for};
use crate::object::file::OF_FILES;
use crate::object::session::SESSIONS;
use crate::process::{self, exit};
use std::ffi::c_int;

/// What `look` sees, or changes, where an object has its handler.
fn at<R>(owner: Owner, look: impl FnOnce(&mut MPI_Errhandler) -> R) -> MpiResult<R> {
    match owner {
        Owner::Communicator(comm) => Ok(look(&mut process::enter()?.communicator_mut(comm)?.error_handler)),
        Owner::Session(of) => Ok(look(&mut SESSIONS.lock().named_mut("session", of.0)?.error_handler)),
        Owner::Window(of) => Ok(look(&mut process::enter()?.windows.named_mut(of)?.error_handler)),
        Owner::File(MPI_FILE_NULL) => Ok(look(&mut OF_FILES.lock())),
        Owner::File(of) => Ok(look(&mut process::enter()?.files.named_mut(of)?.error_handler)),
    }
}

/// MPI_Comm_set_errhandler and its kin.
///
/// # Errors
/// No such object or error handler.
pub fn set(owner: Owner, handler: MPI_Errhandler) -> MpiResult {
    of(owner)?;
    retain_for(owner, handler)?;
    if let Owner::Communicator(comm) = owner {
        process::enter()?.communicator_mut(comm)?.error_handler_was_set = true;
    }
    release(at(owner, |current| std::mem::replace(current, handler))?)
}

/// The handler of an object, as it is.
fn of(owner: Owner) -> MpiResult<MPI_Errhandler> {
    at(owner, |current| *current)
}

/// MPI_Comm_get_errhandler and its kin: a handle to be freed.
///
/// # Errors
/// No such object.
pub fn get(owner: Owner) -> MpiResult<MPI_Errhandler> {
    let handler = of(owner)?;
    retain(handler)?;
    Ok(handler)
}

/// MPI_Comm_call_errhandler and its kin: hands the error to the object's handler, which may not come back.
///
/// # Errors
/// No such object, or no such code.
pub fn call(name: &'static str, owner: Owner, code: c_int) -> MpiResult {
    of(owner)?;
    let error = {
        let codes = codes();
        let (class, text) = (codes.class(code)?, codes.text(code)?);
        MpiError::new(Problem::Raised { code, class, text })
    };
    raise(name, &[], error, Some(owner));
    Ok(())
}

/// Hands an error of `call`, which has these parameters, to its error handler; answers the code that the call
/// returns. Does not come back when the handler ends the job.
#[cold]
pub fn raise(
    call: &'static str,
    parameters: &[&'static str],
    mut error: MpiError,
    owner: Option<Owner>,
) -> c_int {
    error.name_as_in(parameters);
    let message = format!("{call}: {error}");
    match error.problem() {
        Problem::JobEnds => exit::leave(),
        // A process that cannot begin a session may go on without.
        Problem::Launch(_) if error.handler().is_some() => {}
        problem if problem.ends_job() => exit::abort_job(problem.class(), &message),
        _ => {}
    }
    let (owner, handler) = match (error.owner().or(owner), error.handler()) {
        // Of an object that was to be made.
        (Some(owner), Some(handler)) => (owner, handler),
        (owner, _) => handler_of(owner),
    };
    let code = codes().code(error.problem(), &message);
    if handler == MPI_ERRORS_RETURN {
        return code;
    }
    // A predefined one has none: it ends the job.
    match (function_of(handler), error.problem().report()) {
        // SAFETY: the program gave this function as an error handler; no lock is held, as it may call MPI.
        (Some(function), _) => unsafe { function.call(owner, code) },
        (None, Some(report)) => exit::end_told(report),
        (None, None) => exit::abort_job(error.class(), &message),
    }
    code
}

/// The object whose handler is asked, and the handler.
fn handler_of(owner: Option<Owner>) -> (Owner, MPI_Errhandler) {
    if let Some(owner @ (Owner::Session(_) | Owner::Window(_) | Owner::File(_))) = owner {
        if let Ok(handler) = of(owner) {
            return (owner, handler);
        }
        // What concerns no open file is MPI_FILE_NULL's (§14.7).
        if let Owner::File(_) = owner {
            return (Owner::File(MPI_FILE_NULL), *OF_FILES.lock());
        }
    }
    // Where there is no object, or none that exists.
    let none = Owner::Communicator(MPI_COMM_SELF);
    let Ok(process) = process::enter() else { return (none, MPI_ERRORS_ARE_FATAL) };
    if let Some(Owner::Communicator(comm)) = owner
        && let Some(handler) = process.communicators.error_handler(comm)
    {
        return (Owner::Communicator(comm), handler);
    }
    let chosen = process.communicators.get(MPI_COMM_SELF).is_ok_and(|own| own.error_handler_was_set);
    let comm = if chosen { MPI_COMM_SELF } else { MPI_COMM_WORLD };
    let handler = process.communicators.get(comm).map_or(MPI_ERRORS_ARE_FATAL, |c| c.error_handler);
    (Owner::Communicator(comm), handler)
}

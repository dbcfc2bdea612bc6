//! Error handlers of communicators, sessions, windows and files: made, set, asked for, called, freed (MPI-5.0, §9.3).
//!
//! A handler lives as long as a handle of it or an object that uses it. Of files there is MPI_FILE_NULL, whose handler hears of files that are not
//! open; a window has none before there are windows.

use super::lasting::{Lasting, lasting};
use super::session;
use crate::constants::*;
use crate::error::{ErrorHandlerEntry, HandlerFunction, MpiError, MpiResult, Owner, Problem};
use crate::process;
use std::ffi::c_int;

fn is_predefined(handler: MPI_Errhandler) -> bool {
    matches!(handler, MPI_ERRORS_ARE_FATAL | MPI_ERRORS_RETURN | MPI_ERRORS_ABORT)
}

fn entry(lasting: &mut Lasting, handler: MPI_Errhandler) -> MpiResult<&mut ErrorHandlerEntry> {
    lasting.error_handlers.named_mut("errhandler", handler.0)
}

/// One handle or object more uses this handler.
///
/// # Errors
/// No such error handler.
pub(crate) fn retain(handler: MPI_Errhandler) -> MpiResult {
    if !is_predefined(handler) {
        entry(&mut lasting(), handler)?.references += 1;
    }
    Ok(())
}

/// One object more, of this kind, uses this handler.
///
/// # Errors
/// No such error handler, or one for objects of another kind.
pub(crate) fn retain_for(owner: Owner, handler: MPI_Errhandler) -> MpiResult {
    if is_predefined(handler) {
        return Ok(());
    }
    let mut lasting = lasting();
    let entry = entry(&mut lasting, handler)?;
    if !entry.function.suits(owner) {
        let value = format!("{:#x}, which was made for objects of another kind", handler.0);
        let allowed = "it has to come from the call for this kind";
        return Err(MpiError::argument(MPI_ERR_ERRHANDLER, "errhandler", value, allowed));
    }
    entry.references += 1;
    Ok(())
}

/// What a call does that makes an object with this error handler: errors of it are the handler's already (§7.4.2, §11.3.1), if it is one for
/// objects of the kind of which `null` is the null handle.
///
/// # Errors
/// Those of `make`.
pub fn heard_by<T>(
    handler: MPI_Errhandler,
    null: impl Into<Owner>,
    make: impl FnOnce() -> MpiResult<T>,
) -> MpiResult<T> {
    let null = null.into();
    make().map_err(|error| {
        let suits = |entry: &ErrorHandlerEntry| entry.function.suits(null);
        match is_predefined(handler) || lasting().error_handlers.get(handler.0).is_ok_and(suits) {
            true => error.told_to(handler, null),
            false => error,
        }
    })
}

/// One handle or object fewer uses this handler.
///
/// # Errors
/// No such error handler.
pub(crate) fn release(handler: MPI_Errhandler) -> MpiResult {
    if is_predefined(handler) {
        return Ok(());
    }
    let mut lasting = lasting();
    let entry = entry(&mut lasting, handler)?;
    entry.references -= 1;
    if entry.references == 0 {
        // It was found above.
        let _ = lasting.error_handlers.remove(handler.0);
    }
    Ok(())
}

/// MPI_Comm_create_errhandler and its kin.
pub fn create(function: HandlerFunction) -> MPI_Errhandler {
    MPI_Errhandler(lasting().error_handlers.insert(ErrorHandlerEntry { function, references: 1 }))
}

/// No such window, or file: none is ever open.
fn no_object(owner: Owner) -> MpiError {
    match owner {
        Owner::Window(window) => {
            let value =
                if window == MPI_WIN_NULL { "MPI_WIN_NULL".into() } else { format!("{:#x}", window.0) };
            MpiError::argument(MPI_ERR_WIN, "win", value, "it has to be a window")
        }
        Owner::File(file) => MpiError::argument(
            MPI_ERR_FILE,
            "file",
            format!("{:#x}", file.0),
            "it has to be a file or MPI_FILE_NULL",
        ),
        Owner::Communicator(_) | Owner::Session(_) => MpiError::new(Problem::Unsupported),
    }
}

/// MPI_Comm_set_errhandler and its kin.
///
/// # Errors
/// No such object or error handler.
pub fn set(owner: Owner, handler: MPI_Errhandler) -> MpiResult {
    let old = match owner {
        Owner::Communicator(comm) => {
            let mut process = process::enter()?;
            let communicator = process.communicator_mut(comm)?;
            retain_for(owner, handler)?;
            communicator.error_handler_was_set = true;
            std::mem::replace(&mut communicator.error_handler, handler)
        }
        Owner::Session(session) => {
            let old = session::handler(session)?;
            retain_for(owner, handler)?;
            session::set_handler(session, handler);
            old
        }
        Owner::File(MPI_FILE_NULL) => {
            retain_for(owner, handler)?;
            std::mem::replace(&mut lasting().files_error_handler, handler)
        }
        owner => return Err(no_object(owner)),
    };
    release(old)
}

/// The handler of an object, as it is.
fn of(owner: Owner) -> MpiResult<MPI_Errhandler> {
    match owner {
        Owner::Communicator(comm) => Ok(process::enter()?.communicator(comm)?.error_handler),
        Owner::Session(session) => session::handler(session),
        Owner::File(MPI_FILE_NULL) => Ok(lasting().files_error_handler),
        owner => Err(no_object(owner)),
    }
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

/// MPI_Errhandler_free. Of a predefined one (which MPI_Comm_get_errhandler may have given) the handle alone is cleared.
///
/// # Errors
/// No such error handler.
pub fn free(handler: &mut MPI_Errhandler) -> MpiResult {
    release(*handler)?;
    *handler = MPI_ERRHANDLER_NULL;
    Ok(())
}

/// MPI_Comm_call_errhandler and its kin: hands the error to the object's handler, which may not come back.
///
/// # Errors
/// No such object, or no such code.
pub fn call(name: &'static str, owner: Owner, code: c_int) -> MpiResult {
    of(owner)?;
    let error = {
        let codes = &lasting().codes;
        let (class, text) = (codes.class(code)?, codes.text(code)?);
        MpiError::new(Problem::Raised { code, class, text })
    };
    crate::error::raise(name, &[], error, Some(owner));
    Ok(())
}

//! Error handlers of communicators: made, set, asked for, called, freed (MPI-5.0, §9.3).
//!
//! A handler lives as long as a handle of it or a communicator that uses it.

use super::lasting::lasting;
use crate::constants::*;
use crate::error::{ErrorHandlerEntry, MpiError, MpiResult, Problem};
use crate::handle::{Kind, Stale};
use crate::process;
use std::ffi::c_int;

fn is_predefined(handler: MPI_Errhandler) -> bool {
    matches!(handler, MPI_ERRORS_ARE_FATAL | MPI_ERRORS_RETURN | MPI_ERRORS_ABORT)
}

/// One handle or object more uses this handler.
///
/// # Errors
/// No such error handler.
pub(crate) fn retain(handler: MPI_Errhandler) -> MpiResult {
    if is_predefined(handler) {
        return Ok(());
    }
    let why = match lasting().error_handlers.get_mut(handler.0) {
        Ok(entry) => {
            entry.references += 1;
            return Ok(());
        }
        Err(_) if handler == MPI_ERRHANDLER_NULL => Stale::Null,
        Err(why) => why,
    };
    Err(MpiError::handle("errhandler", handler.0, Kind::ErrorHandler, why))
}

/// One handle or object fewer uses this handler.
///
/// # Errors
/// No such error handler.
pub(crate) fn release(handler: MPI_Errhandler) -> MpiResult {
    if is_predefined(handler) {
        return Ok(());
    }
    let handlers = &mut lasting().error_handlers;
    let why = match handlers.get_mut(handler.0) {
        Ok(entry) => {
            entry.references -= 1;
            if entry.references == 0 {
                // It was found above.
                let _ = handlers.remove(handler.0);
            }
            return Ok(());
        }
        Err(_) if handler == MPI_ERRHANDLER_NULL => Stale::Null,
        Err(why) => why,
    };
    Err(MpiError::handle("errhandler", handler.0, Kind::ErrorHandler, why))
}

/// MPI_Comm_create_errhandler.
///
/// # Errors
/// No function.
pub fn create(function: Option<MPI_Comm_errhandler_function>) -> MpiResult<MPI_Errhandler> {
    let Some(function) = function else {
        let allowed = "it has to be a function";
        return Err(MpiError::argument(MPI_ERR_ARG, "comm_errhandler_fn", "NULL", allowed));
    };
    let entry = ErrorHandlerEntry { function, references: 1 };
    Ok(MPI_Errhandler(lasting().error_handlers.insert(entry)))
}

/// MPI_Comm_set_errhandler.
///
/// # Errors
/// No such communicator or error handler.
pub fn set(comm: MPI_Comm, handler: MPI_Errhandler) -> MpiResult {
    let mut process = process::enter()?;
    let communicator = process.communicator_mut(comm)?;
    retain(handler)?;
    let old = std::mem::replace(&mut communicator.error_handler, handler);
    communicator.error_handler_was_set = true;
    release(old)
}

/// MPI_Comm_get_errhandler: a handle to be freed.
///
/// # Errors
/// No such communicator.
pub fn get(comm: MPI_Comm) -> MpiResult<MPI_Errhandler> {
    let handler = process::enter()?.communicator(comm)?.error_handler;
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

/// MPI_Comm_call_errhandler: answers the error that the communicator's handler is to be told of.
///
/// # Errors
/// No such communicator, or no such code.
pub fn call(comm: MPI_Comm, code: c_int) -> MpiResult<MpiError> {
    process::enter()?.communicator(comm)?;
    let codes = &lasting().codes;
    let (class, text) = (codes.class(code)?, codes.text(code)?);
    Ok(MpiError::new(Problem::Raised { code, class, text }).of(comm))
}

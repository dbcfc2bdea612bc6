//! Error handlers of communicators: made, set, asked for, called, freed (MPI-5.0, §9.3).
//!
//! A handler lives as long as a handle of it or a communicator that uses it.

use crate::constants::*;
use crate::error::{ErrorHandlerEntry, MpiError, MpiResult, Problem};
use crate::handle::{Kind, Stale};
use crate::process::{self, Process};
use std::ffi::c_int;

fn is_predefined(handler: MPI_Errhandler) -> bool {
    matches!(handler, MPI_ERRORS_ARE_FATAL | MPI_ERRORS_RETURN | MPI_ERRORS_ABORT)
}

fn check(process: &Process, handler: MPI_Errhandler) -> MpiResult {
    if is_predefined(handler) {
        return Ok(());
    }
    let why = match process.error_handlers.get(handler.0) {
        Ok(_) => return Ok(()),
        Err(_) if handler == MPI_ERRHANDLER_NULL => Stale::Null,
        Err(why) => why,
    };
    Err(MpiError::handle("errhandler", handler.0, Kind::ErrorHandler, why))
}

fn retain(process: &mut Process, handler: MPI_Errhandler) {
    if let Ok(entry) = process.error_handlers.get_mut(handler.0) {
        entry.references += 1;
    }
}

/// One handle or object fewer uses this handler.
pub(crate) fn release(process: &mut Process, handler: MPI_Errhandler) {
    let Ok(entry) = process.error_handlers.get_mut(handler.0) else { return };
    entry.references -= 1;
    if entry.references == 0 {
        // It was found above.
        let _ = process.error_handlers.remove(handler.0);
    }
}

/// MPI_Comm_create_errhandler.
///
/// # Errors
/// No function.
pub fn create(function: Option<MPI_Comm_errhandler_function>) -> MpiResult<MPI_Errhandler> {
    let mut process = process::enter()?;
    let Some(function) = function else {
        let allowed = "it has to be a function";
        return Err(MpiError::argument(MPI_ERR_ARG, "comm_errhandler_fn", "NULL", allowed));
    };
    let entry = ErrorHandlerEntry { function, references: 1 };
    Ok(MPI_Errhandler(process.error_handlers.insert(entry)))
}

/// MPI_Comm_set_errhandler.
///
/// # Errors
/// No such communicator or error handler.
pub fn set(comm: MPI_Comm, handler: MPI_Errhandler) -> MpiResult {
    let mut process = process::enter()?;
    process.communicator(comm)?;
    check(&process, handler)?;
    retain(&mut process, handler);
    let communicator = process.communicator_mut(comm)?;
    let old = std::mem::replace(&mut communicator.error_handler, handler);
    communicator.error_handler_was_set = true;
    release(&mut process, old);
    Ok(())
}

/// MPI_Comm_get_errhandler: a handle to be freed.
///
/// # Errors
/// No such communicator.
pub fn get(comm: MPI_Comm) -> MpiResult<MPI_Errhandler> {
    let mut process = process::enter()?;
    let handler = process.communicator(comm)?.error_handler;
    retain(&mut process, handler);
    Ok(handler)
}

/// MPI_Errhandler_free. Of a predefined one (which MPI_Comm_get_errhandler may have given) the handle alone is cleared.
///
/// # Errors
/// No such error handler.
pub fn free(handler: &mut MPI_Errhandler) -> MpiResult {
    let mut process = process::enter()?;
    check(&process, *handler)?;
    release(&mut process, *handler);
    *handler = MPI_ERRHANDLER_NULL;
    Ok(())
}

/// MPI_Comm_call_errhandler: answers the error that the communicator's handler is to be told of.
///
/// # Errors
/// No such communicator, or no such code.
pub fn call(comm: MPI_Comm, code: c_int) -> MpiResult<MpiError> {
    let process = process::enter()?;
    process.communicator(comm)?;
    let class = process.codes.class(code)?;
    let text = process.codes.text(code)?;
    Ok(MpiError::new(Problem::Raised { code, class, text }).of(comm))
}

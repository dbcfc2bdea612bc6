//! Error handlers: who is told of an error (MPI-5.0, §9.3).
//!
//! Errors of calls without an object go to the handler of MPI_COMM_SELF, as the standard says since 4.0; while the program has
//! not set that one, to MPI_COMM_WORLD's, as older programs expect.

use super::{MpiError, Owner, Problem};
use crate::constants::*;
use crate::environment::lasting::lasting;
use crate::environment::session;
use crate::process::{self, end};
use std::ffi::c_int;

/// The function of an error handler, by the kind of object that it is for.
#[derive(Clone, Copy, Debug)]
pub enum HandlerFunction {
    /// Of MPI_Comm_create_errhandler.
    Communicator(MPI_Comm_errhandler_function),
    /// Of MPI_Session_create_errhandler.
    Session(MPI_Session_errhandler_function),
    /// Of MPI_Win_create_errhandler.
    Window(MPI_Win_errhandler_function),
    /// Of MPI_File_create_errhandler.
    File(MPI_File_errhandler_function),
}

impl HandlerFunction {
    /// Whether it is for objects of this kind.
    pub fn suits(&self, owner: Owner) -> bool {
        matches!(
            (self, owner),
            (HandlerFunction::Communicator(_), Owner::Communicator(_))
                | (HandlerFunction::Session(_), Owner::Session(_))
                | (HandlerFunction::Window(_), Owner::Window(_))
                | (HandlerFunction::File(_), Owner::File(_))
        )
    }

    /// Calls it.
    ///
    /// # Safety
    /// It is what the program gave as an error handler, and this thread holds no lock of the library: it may call MPI.
    unsafe fn call(self, owner: Owner, mut code: c_int) {
        let code = &raw mut code;
        // SAFETY: the caller's promise. Further arguments of the variadic functions are the implementation's to define: there are none.
        unsafe {
            match (self, owner) {
                (HandlerFunction::Communicator(function), Owner::Communicator(mut comm)) => {
                    function(&mut comm, code)
                }
                (HandlerFunction::Session(function), Owner::Session(mut session)) => {
                    function(&mut session, code)
                }
                (HandlerFunction::Window(function), Owner::Window(mut window)) => function(&mut window, code),
                (HandlerFunction::File(function), Owner::File(mut file)) => function(&mut file, code),
                _ => {}
            }
        }
    }
}

/// An error handler of a program. Handles of it, and objects that use it, are counted together.
#[derive(Debug)]
pub struct ErrorHandlerEntry {
    /// The function.
    pub function: HandlerFunction,
    /// Handles and objects.
    pub references: u32,
}

/// What is to be done with an error, decided under the lock and done without it: a handler may call MPI.
enum Action {
    Return(c_int),
    Call(HandlerFunction, Owner, c_int),
    EndJob(c_int),
}

/// Hands an error of `call`, which has these parameters, to its error handler; answers the code that the call returns. Does not come back when the handler
/// ends the job.
#[cold]
pub fn raise(
    call: &'static str,
    parameters: &[&'static str],
    mut error: MpiError,
    owner: Option<Owner>,
) -> c_int {
    error.0.problem.name_as_in(parameters);
    let message = format!("{call}: {error}");
    match error.problem() {
        Problem::JobEnds => end::leave(),
        // A process that cannot begin a session may go on without.
        Problem::Launch(_) if error.handler().is_some() => {}
        problem if problem.ends_job() => end::abort_job(problem.class(), &message),
        _ => {}
    }
    match decide(&error, &message, error.owner().or(owner)) {
        Action::Return(code) => code,
        Action::EndJob(code) => match error.problem().report() {
            Some(report) => end::end_told(report),
            None => end::abort_job(code, &message),
        },
        Action::Call(function, owner, code) => {
            // SAFETY: the program gave this function as an error handler; no lock is held.
            unsafe { function.call(owner, code) };
            code
        }
    }
}

fn decide(error: &MpiError, message: &str, owner: Option<Owner>) -> Action {
    let (owner, handler) = match (owner, error.handler()) {
        // Of an object that was to be made.
        (Some(owner), Some(handler)) => (owner, handler),
        _ => handler_of(owner),
    };
    let mut lasting = lasting();
    let code = lasting.codes.code(error.problem(), message);
    match handler {
        MPI_ERRORS_RETURN => Action::Return(code),
        MPI_ERRORS_ARE_FATAL | MPI_ERRORS_ABORT => Action::EndJob(error.class()),
        user => match lasting.error_handlers.get(user.0) {
            Ok(entry) => Action::Call(entry.function, owner, code),
            Err(_) => Action::EndJob(error.class()),
        },
    }
}

/// The object whose handler is asked, and the handler.
fn handler_of(owner: Option<Owner>) -> (Owner, MPI_Errhandler) {
    match owner {
        // No file is ever open: all errors of files are MPI_FILE_NULL's (§14.7).
        Some(Owner::File(_)) => return (Owner::File(MPI_FILE_NULL), lasting().files_error_handler),
        Some(Owner::Session(session)) => {
            if let Ok(handler) = session::handler(session) {
                return (Owner::Session(session), handler);
            }
        }
        _ => {}
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

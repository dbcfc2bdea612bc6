//! Error handlers: who is told of an error (MPI-5.0, §9.3).
//!
//! Errors of calls without an object go to the handler of MPI_COMM_SELF, as the standard says since 4.0; while the program has
//! not set that one, to MPI_COMM_WORLD's, as older programs expect.

use super::{MpiError, Problem};
use crate::constants::*;
use crate::environment::lasting::lasting;
use crate::process::{self, end};
use std::ffi::c_int;

/// An error handler of a program. Handles of it, and objects that use it, are counted together.
#[derive(Debug)]
pub struct ErrorHandlerEntry {
    /// The function.
    pub function: MPI_Comm_errhandler_function,
    /// Handles and objects.
    pub references: u32,
}

/// What is to be done with an error, decided under the lock and done without it: a handler may call MPI.
enum Action {
    Return(c_int),
    Call(MPI_Comm_errhandler_function, MPI_Comm, c_int),
    EndJob(c_int),
}

/// Hands an error of `call` to its error handler; answers the code that the call returns. Does not come back when the handler
/// ends the job.
#[cold]
pub fn raise(call: &'static str, error: MpiError, comm: Option<MPI_Comm>) -> c_int {
    let message = format!("{call}: {error}");
    match error.problem() {
        Problem::JobEnds => end::leave(),
        problem if problem.ends_job() => end::abort_job(problem.class(), &message),
        _ => {}
    }
    match decide(&error, &message, error.comm().or(comm)) {
        Action::Return(code) => code,
        Action::EndJob(code) => end::abort_job(code, &message),
        Action::Call(function, mut comm, mut code) => {
            let returned = code;
            // SAFETY: the program gave this function as an error handler; the lock is not held, as it may call MPI. Further
            // arguments of the variadic function are the implementation's to define: there are none.
            unsafe { function(&mut comm, &mut code) };
            returned
        }
    }
}

fn decide(error: &MpiError, message: &str, comm: Option<MPI_Comm>) -> Action {
    let Ok(process) = process::enter() else { return Action::EndJob(error.class()) };
    let code = lasting().codes.code(error.problem(), message);
    let comm = comm.filter(|comm| process.communicators.get(*comm).is_ok()).unwrap_or_else(|| {
        let chosen = process.communicators.get(MPI_COMM_SELF).is_ok_and(|own| own.error_handler_was_set);
        if chosen { MPI_COMM_SELF } else { MPI_COMM_WORLD }
    });
    let handler = process.communicators.get(comm).map_or(MPI_ERRORS_ARE_FATAL, |c| c.error_handler);
    match handler {
        MPI_ERRORS_RETURN => Action::Return(code),
        MPI_ERRORS_ARE_FATAL | MPI_ERRORS_ABORT => Action::EndJob(error.class()),
        user => match lasting().error_handlers.get(user.0) {
            Ok(entry) => Action::Call(entry.function, comm, code),
            Err(_) => Action::EndJob(error.class()),
        },
    }
}

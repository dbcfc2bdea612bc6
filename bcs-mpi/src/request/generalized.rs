//! The calls about generalized requests (MPI-5.0, §13.2).

use super::plain;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::request::{BUFFERED, Generalized, State};
use crate::process::{self, Process};

pub use crate::object::request::Callbacks;

/// MPI_Grequest_start.
///
/// # Errors
/// Before MPI_Init and after MPI_Finalize.
pub fn start(callbacks: Callbacks) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let state = State::Generalized(Box::new(Generalized { callbacks, complete: false, freed: false }));
    Ok(process.requests.insert(state, MPI_COMM_SELF))
}

fn generalized(process: &mut Process, handle: MPI_Request) -> MpiResult<&mut Generalized> {
    let allowed = "it has to be a request of MPI_Grequest_start";
    let other = || MpiError::argument(MPI_ERR_REQUEST, "request", "one of another operation", allowed);
    if plain(&process.port, handle).is_some() || handle == BUFFERED {
        return Err(other());
    }
    match &mut process.request(handle)?.state {
        State::Generalized(generalized) => Ok(generalized),
        _ => Err(other()),
    }
}

/// MPI_Grequest_complete.
///
/// # Errors
/// No generalized request, or one that is complete; what the free function answers, where the request was
/// freed before.
pub fn complete(handle: MPI_Request) -> MpiResult {
    let mut process = process::enter()?;
    let generalized = generalized(&mut process, handle)?;
    if generalized.complete {
        let allowed = "MPI_Grequest_complete is called once for a request";
        return Err(MpiError::argument(MPI_ERR_REQUEST, "request", "complete already", allowed));
    }
    generalized.complete = true;
    if !generalized.freed {
        return Ok(());
    }
    let callbacks = generalized.callbacks;
    process.requests.remove(handle);
    drop(process);
    callbacks.free()
}

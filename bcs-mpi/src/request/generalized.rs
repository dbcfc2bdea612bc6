//! Generalized requests (MPI-5.0, §13.2): operations of the program, which says when they are complete.
//!
//! The program's functions are called without the lock. The query function fills the status whenever a call reports the request complete; the free
//! function is called once, when the request is gone and its operation complete.

use super::{State, Status};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, answered};
use crate::process::{self, Process};
use std::ffi::c_void;

/// What the program gives with a generalized request.
#[derive(Clone, Copy, Debug)]
pub struct Callbacks {
    /// Fills the status.
    pub query: MPI_Grequest_query_function,
    /// Frees what the operation holds.
    pub free: MPI_Grequest_free_function,
    /// Is told of MPI_Cancel, and whether the operation is complete already.
    pub cancel: MPI_Grequest_cancel_function,
    /// The first argument of all three.
    pub extra_state: *mut c_void,
}

/// A generalized request.
#[derive(Debug)]
pub struct Generalized {
    pub(super) callbacks: Callbacks,
    pub(super) complete: bool,
    /// MPI_Request_free was called before the operation was complete.
    pub(super) freed: bool,
}

impl Callbacks {
    /// Asks for the status. The caller holds no guard.
    pub(super) fn query(&self) -> (Status, MpiResult) {
        let mut status = MPI_Status::default();
        // SAFETY: the status is writable.
        unsafe { Status::EMPTY.store(&mut status) };
        // SAFETY: the program gave this function and its state for this; no lock is held.
        let result = answered(unsafe { (self.query)(self.extra_state, &mut status) });
        (Status::of(&status), result)
    }

    /// Says that the request is gone. The caller holds no guard.
    pub(super) fn free(&self) -> MpiResult {
        // SAFETY: as above.
        answered(unsafe { (self.free)(self.extra_state) })
    }

    /// Hands on MPI_Cancel. The caller holds no guard.
    pub(super) fn cancel(&self, complete: bool) -> MpiResult {
        // SAFETY: as above.
        answered(unsafe { (self.cancel)(self.extra_state, complete.into()) })
    }
}

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
    if process.plain(handle).is_some() || handle == super::BUFFERED {
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
/// No generalized request, or one that is complete; what the free function answers, where the request was freed before.
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

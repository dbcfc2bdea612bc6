//! Generalized requests (MPI-5.0, §13.2): operations of the program, which says when they are complete.
//!
//! The program's functions are called without the lock. The query function fills the status whenever a call
//! reports the request complete; the free function is called once, when the request is gone and its operation
//! complete.

use super::Status;
use crate::constants::*;
use crate::error::{MpiResult, answered};
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
    pub(crate) callbacks: Callbacks,
    pub(crate) complete: bool,
    /// MPI_Request_free was called before the operation was complete.
    pub(crate) freed: bool,
}

impl Callbacks {
    /// Asks for the status. The caller holds no guard.
    pub(crate) fn query(&self) -> (Status, MpiResult) {
        let mut status = MPI_Status::default();
        // SAFETY: the status is writable.
        unsafe { Status::EMPTY.store(&mut status) };
        // SAFETY: the program gave this function and its state for this; no lock is held.
        let result = answered(unsafe { (self.query)(self.extra_state, &mut status) });
        (Status::of(&status), result)
    }

    /// Says that the request is gone. The caller holds no guard.
    pub(crate) fn free(&self) -> MpiResult {
        // SAFETY: as above.
        answered(unsafe { (self.free)(self.extra_state) })
    }

    /// Hands on MPI_Cancel. The caller holds no guard.
    pub(crate) fn cancel(&self, complete: bool) -> MpiResult {
        // SAFETY: as above.
        answered(unsafe { (self.cancel)(self.extra_state, complete.into()) })
    }
}

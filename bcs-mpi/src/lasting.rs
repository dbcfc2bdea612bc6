//! What is there at any time, to all threads at once, before MPI_Init and after MPI_Finalize too: info
//! objects, error handlers, error codes, operations and sessions (MPI-5.0, §11.4.1).

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Something that needs no initialised MPI. It has a lock of its own. Unless it says otherwise, it is locked
/// after the process where both are; no two of these are held at once, and none while a function of the
/// program runs.
pub struct Lasting<T>(Mutex<T>);

impl<T> Lasting<T> {
    /// What is there at first.
    pub const fn new(first: T) -> Self {
        Self(Mutex::new(first))
    }

    /// It, for the time of a call.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        // A panic in another thread ends the process (see the C edge): a poisoned lock protects nothing that
        // is used again.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! What is there at any time, to all threads at once, before MPI_Init and after MPI_Finalize too: info
//! objects, error handlers, error codes, operations and sessions (MPI-5.0, §11.4.1).

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Something that needs no initialised MPI. It has a lock of its own. Where the process's is held as well, it
/// was taken before this one; no two of these are held at once, and none while a function of the program
/// runs.
pub struct Lasting<T>(LazyLock<Mutex<T>>);

impl<T> Lasting<T> {
    /// What `first` makes when it is first needed.
    pub const fn new(first: fn() -> Mutex<T>) -> Self {
        Self(LazyLock::new(first))
    }

    /// It, for the time of a call.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        // A panic in another thread ends the process (see the C edge): a poisoned lock protects nothing that
        // is used again.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Tasks: futures that use the process.
//!
//! A future holds no guard, as it lives longer than a call. For the time of a poll the guard of whoever
//! polls is noted for the thread; [`with`] lends it to the future step by step, and [`unguarded`] calls a
//! function of the program with the library's lock let go. Wakers do nothing: whoever is in MPI polls.

use super::guard::Guard;
use crate::error::{MpiError, MpiResult, Problem};
use std::cell::Cell;
use std::pin::Pin;
use std::ptr::null_mut;
use std::task::{Context, Poll, Waker};

thread_local! {
    /// The guard of the poll that this thread is in; null outside of one, and while [`with`] has lent it.
    static CURRENT: Cell<*mut Guard> = const { Cell::new(null_mut()) };
}

/// Puts back what was noted before.
struct Restore(*mut Guard);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Polls a future that uses the process.
pub fn poll<T>(guard: &mut Guard, future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
    let _restore = Restore(CURRENT.replace(guard));
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The error of an operation that has begun: what the NIC has no room for ends the job.
#[cold]
pub(crate) fn cannot_go_on(error: MpiError) -> MpiError {
    match error.problem() {
        Problem::Exhausted(text) => MpiError::new(Problem::Nic(text.clone())),
        _ => error,
    }
}

/// Lends the process to a step of the future that is being polled.
///
/// What the NIC has no room for ends the job: the operation cannot go on, and others may still read and
/// write memory that it would give back if it were dropped.
///
/// # Errors
/// What the step fails with. Outside of a poll: a fault of the library.
pub fn with<R>(step: impl FnOnce(&mut Guard) -> MpiResult<R>) -> MpiResult<R> {
    let guard = CURRENT.replace(null_mut());
    let _restore = Restore(guard);
    // SAFETY: `poll` has noted the guard that it borrows for the time of the poll, and nobody else refers
    // to it: the note is null until the step is over.
    match unsafe { guard.as_mut() } {
        Some(guard) => step(guard).map_err(cannot_go_on),
        None => Err(MpiError::new(Problem::Nic("an operation was advanced outside of an MPI call".into()))),
    }
}

/// Calls a function of the program from a future: the library's lock is not held meanwhile, as the
/// function may call MPI, or want a lock that another thread has while it is in MPI.
///
/// # Errors
/// As [`with`].
pub fn unguarded<R>(function: impl FnOnce() -> R) -> MpiResult<R> {
    with(|guard| Ok(guard.without_lock(function)))
}

/// What a step has come to, as futures answer it.
pub(crate) fn ready<T>(step: MpiResult<Option<T>>) -> Poll<MpiResult<T>> {
    step.transpose().map_or(Poll::Pending, Poll::Ready)
}

//! How operations of several steps start: those that a call leaves under way, and those that a call waits
//! for, which it drives on its own stack.

use super::guard::Guard;
use super::task::poll;
use crate::constants::{MPI_Comm, MPI_Request};
use crate::error::MpiResult;
use crate::object::request::{Finished, State, Status, Steps};
use nic_emu::status::WaitingFor;
use std::pin::{Pin, pin};
use std::task::Poll;

impl Guard {
    /// Starts an operation: it does at once what it can. `what` is what a hang report says of a rank that
    /// waits for it. Whatever comes of it, its request tells: who starts it is told the same however fast the
    /// others are.
    ///
    /// # Errors
    /// What ends the job.
    pub fn start(
        &mut self,
        what: WaitingFor,
        future: impl Future<Output = MpiResult> + 'static,
    ) -> MpiResult<State> {
        let mut future: Pin<Box<dyn Future<Output = MpiResult>>> = Box::pin(future);
        let (state, is_under_way) = match poll(self, future.as_mut()) {
            Poll::Ready(Ok(())) => (State::Complete(Finished::well(Status::EMPTY)), false),
            Poll::Ready(Err(error)) if error.problem().ends_job() => return Err(error),
            Poll::Ready(Err(error)) => (State::Complete(Finished::failed(error)), false),
            Poll::Pending => (self.progress.add(Steps { what, future }), true),
        };
        if std::mem::take(&mut self.progress.has_posted) {
            self.port.nudge(is_under_way)?;
        }
        Ok(state)
    }

    /// Starts an operation of a communicator; answers its request.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_request(
        &mut self,
        comm: MPI_Comm,
        what: WaitingFor,
        future: impl Future<Output = MpiResult> + 'static,
    ) -> MpiResult<MPI_Request> {
        let state = self.start(what, future)?;
        Ok(self.requests.insert(state, comm))
    }
}

/// Drives a future to its end within a call, on the call's stack.
///
/// # Errors
/// What it fails with, and what the NIC does.
pub fn drive<T>(
    guard: &mut Guard,
    what: &WaitingFor,
    future: impl Future<Output = MpiResult<T>>,
) -> MpiResult<T> {
    let mut future = pin!(future);
    guard.wait_for_some(what, |guard| match poll(guard, future.as_mut()) {
        Poll::Ready(result) => result.map(Some),
        Poll::Pending => Ok(None),
    })
}

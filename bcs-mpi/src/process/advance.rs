//! How operations of several steps start, those that a call leaves under way and those that it drives on its
//! own stack, and their advance while the rank is in any MPI call (MPI-5.0, §3.7.4, §6.12; design §4).
//!
//! An operation is a future. It is polled by whoever is in MPI: every wait and every test advances all that
//! are under way, so they complete in any order, whatever the program waits for. What the NIC does of an
//! operation it does without the rank.

use super::guard::Guard;
use super::task::poll;
use crate::constants::{MPI_Comm, MPI_Request};
use crate::error::MpiResult;
use crate::object::event::{self, EventKind, Happening};
use crate::object::request::{Finished, State, Status, Steps};
use mds::Primitive;
use nic_emu::status::WaitingFor;
use std::pin::pin;
use std::sync::PoisonError;
use std::task::Poll;

/// Waits for room that lie in each other at most and advance operations: so deep the stack may get.
const MAKERS_OF_ROOM: u32 = 8;

/// Looks in a row that find nothing before a rank gives its core away (`tests/programs/mpi/test_loops.c`).
const VAIN_LOOKS: u32 = 16;

impl Guard {
    /// Advances every operation that is under way, as far as it goes now.
    ///
    /// # Errors
    /// What ends the job; other errors are for those who complete the operation.
    #[inline]
    pub fn advance(&mut self) -> MpiResult {
        let rests = self.progress.tasks.is_empty() || self.progress.makers_of_room > MAKERS_OF_ROOM;
        if rests { Ok(()) } else { self.advance_all() }
    }

    #[inline(never)]
    fn advance_all(&mut self) -> MpiResult {
        // Other threads may take, add and put back tasks meanwhile: turns are counted, and each takes the
        // first.
        for _ in 0..self.progress.tasks.len() {
            let Some(mut task) = self.progress.tasks.pop_front() else { break };
            match poll(self, task.future.as_mut()) {
                Poll::Pending => self.progress.tasks.push_back(task),
                Poll::Ready(Err(error)) if error.problem().ends_job() => return Err(error),
                Poll::Ready(result) => {
                    if result.is_ok() {
                        tell_end(task.collective);
                    }
                    // What the operation kept goes before its end is seen.
                    drop(task.future);
                    *task.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            }
        }
        Ok(())
    }

    /// Has the NIC and the operations of several steps go on.
    pub(crate) fn make_progress(&mut self) -> MpiResult {
        self.port.progress()?;
        self.advance()
    }

    /// Looks, and, where nothing is found, again after some progress: what a call does that does not wait.
    #[inline]
    pub(crate) fn look_twice<T>(
        &mut self,
        mut look: impl FnMut(&mut Guard) -> MpiResult<Option<T>>,
    ) -> MpiResult<Option<T>> {
        if let Some(found) = look(self)? {
            self.progress.vain_looks = 0;
            return Ok(Some(found));
        }
        self.make_progress()?;
        let found = look(self)?;
        self.note_look(found.is_some());
        Ok(found)
    }

    /// After some looks in a row that have found nothing a rank that shares its core gives it away: what the
    /// rank looks for may need the core.
    pub(crate) fn note_look(&mut self, has_found: bool) {
        let looks = if has_found { 0 } else { self.progress.vain_looks.saturating_add(1) };
        self.progress.vain_looks = looks;
        if looks > VAIN_LOOKS && self.port.is_crowded() {
            self.without_lock(std::thread::yield_now);
        }
    }

    /// Starts an operation: it does at once what it can. `what` is what a hang report says of a rank that
    /// waits for it. Whatever comes of it, its request tells: who starts it is told the same however fast the
    /// others are.
    ///
    /// # Errors
    /// What ends the job.
    pub fn start<E: Into<Status>>(
        &mut self,
        what: WaitingFor,
        future: impl Future<Output = MpiResult<E>> + 'static,
    ) -> MpiResult<State> {
        self.start_steps(Steps::new(what, future))
    }

    /// The same of an operation that is there already.
    ///
    /// # Errors
    /// As there.
    pub fn start_steps(&mut self, steps: Steps) -> MpiResult<State> {
        let state = self.begin(steps)?;
        if std::mem::take(&mut self.progress.has_posted) {
            self.port.nudge(matches!(state, State::Steps(_)))?;
        }
        Ok(state)
    }

    /// The same, but nobody is told yet of what it posts.
    ///
    /// # Errors
    /// As there.
    pub fn begin(&mut self, mut steps: Steps) -> MpiResult<State> {
        match poll(self, steps.future.as_mut()) {
            Poll::Ready(Ok(status)) => {
                tell_end(steps.collective);
                Ok(State::Complete(Finished::well(status)))
            }
            Poll::Ready(Err(error)) if error.problem().ends_job() => Err(error),
            Poll::Ready(Err(error)) => Ok(State::Complete(Finished::failed(error))),
            Poll::Pending => Ok(self.progress.add(steps)),
        }
    }

    /// Starts an operation of a communicator; answers its request.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_request<E: Into<Status>>(
        &mut self,
        comm: MPI_Comm,
        what: WaitingFor,
        future: impl Future<Output = MpiResult<E>> + 'static,
    ) -> MpiResult<MPI_Request> {
        let state = self.start(what, future)?;
        Ok(self.requests.insert(state, comm))
    }
}

/// Tells tools of the end of an operation, if it is a collective one of the program.
#[inline]
fn tell_end(collective: Option<(Primitive, MPI_Comm)>) {
    if let Some((call, comm)) = collective
        && event::is_listened(EventKind::CollectiveComplete)
    {
        event::note(Happening::CollectiveComplete { call, comm });
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
    guard.staying(|guard| {
        guard.wait_for_some(what, |guard| match poll(guard, future.as_mut()) {
            Poll::Ready(result) => result.map(Some),
            Poll::Pending => Ok(None),
        })
    })
}

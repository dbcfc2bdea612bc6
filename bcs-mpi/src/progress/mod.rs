//! Progress: operations of several steps that go on while the rank is in any MPI call (MPI-5.0, §3.7.4,
//! §6.12; design §4).
//!
//! An operation is a future. It is polled by whoever is in MPI: every wait and every test advances all that
//! are under way, so they complete in any order, whatever the program waits for. What the NIC does of an
//! operation it does without the rank.
//!
//! - [`task`]: how a future gets at the process while it is polled, and how a call drives one on its own
//!   stack;
//! - [`members`]: what algorithms by messages see of a communicator;
//! - [`subgroup`]: some of the members;
//! - [`party`]: the members of a communicator in one collective operation;
//! - `contexts`: whether that communicator is broken;
//! - [`pending`]: messages that are under way;
//! - [`released`]: what the NIC has for a member that it lets go;
//! - [`exchange`]: what members of one node give each other through their lanes;
//! - [`nodes`]: which members share a node.
//!
//! Invariant: a future that is being polled is in no list, so no other thread polls it, even while it runs a
//! function of the program and the library's lock is free.

pub(crate) mod contexts;
pub mod exchange;
pub mod members;
pub mod nodes;
pub mod party;
pub mod pending;
pub mod released;
pub mod subgroup;
pub mod task;

use crate::communicator::meeting::Waiter;
use crate::constants::{MPI_Comm, MPI_Request};
use crate::error::MpiResult;
use crate::process::{Guard, Process};
use crate::request::{Finished, Operation, State, Status};
use nic_emu::status::WaitingFor;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

/// Waits for room that lie in each other at most and advance operations: so deep the stack may get.
const MAKERS_OF_ROOM: u32 = 8;

/// How an operation ended, once it has: shared between the operation and its request.
type End = Arc<Mutex<Option<MpiResult>>>;

/// An operation that is under way.
struct Task {
    future: Pin<Box<dyn Future<Output = MpiResult>>>,
    end: End,
}

/// The operations of this process that are under way.
#[derive(Default)]
pub struct Progress {
    tasks: VecDeque<Task>,
    /// Messages were posted that somebody should move while the program computes.
    pub(crate) has_posted: bool,
    /// Waits for room that lie in each other: an operation that is advanced by one may have to post, too.
    pub(crate) makers_of_room: u32,
    /// What the operation that was polled last waits for, if that is the NIC.
    pub(crate) awaited: Option<Waiter>,
    /// Exchanges that wait: nobody wakes a rank for what comes in them.
    pub(crate) exchanges: u32,
    /// Something has come in one since the last look.
    pub(crate) has_flowed: bool,
    /// Each exchange under way, and each that members are about to agree on, has one.
    pub(crate) lane_slots: Arc<()>,
}

/// The request of an operation that is under way.
struct Started {
    end: End,
    what: WaitingFor,
}

impl Progress {
    /// Adds an operation that does its first step when the process is next advanced; answers what its request
    /// waits for.
    pub fn add(&mut self, what: WaitingFor, future: impl Future<Output = MpiResult> + 'static) -> State {
        self.push(what, Box::pin(future))
    }

    fn push(&mut self, what: WaitingFor, future: Pin<Box<dyn Future<Output = MpiResult>>>) -> State {
        let end = End::default();
        self.tasks.push_back(Task { future, end: end.clone() });
        State::Operation(Box::new(Started { end, what }))
    }

    /// The collective that whoever waits now waits for, if there is no other operation under way.
    #[inline]
    pub(crate) fn take_awaited(&mut self) -> Option<Waiter> {
        self.awaited.take().filter(|_| self.tasks.len() <= 1)
    }
}

impl Operation for Started {
    fn advance(&mut self, _: &mut Process) -> MpiResult<Option<Status>> {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).take();
        end.map(|result| result.map(|()| Status::EMPTY)).transpose()
    }

    fn waits_for(&self) -> Option<WaitingFor> {
        Some(self.what)
    }

    fn is_collective(&self) -> bool {
        true
    }
}

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
            match task::poll(self, task.future.as_mut()) {
                Poll::Pending => self.progress.tasks.push_back(task),
                Poll::Ready(Err(error)) if error.problem().ends_job() => return Err(error),
                Poll::Ready(result) => {
                    // What the operation kept goes before its end is seen.
                    drop(task.future);
                    *task.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            }
        }
        Ok(())
    }

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
        let (state, is_under_way) = match task::poll(self, future.as_mut()) {
            Poll::Ready(Ok(())) => (State::Complete(Finished::well(Status::EMPTY)), false),
            Poll::Ready(Err(error)) if error.problem().ends_job() => return Err(error),
            Poll::Ready(Err(error)) => (State::Complete(Finished::failed(error)), false),
            Poll::Pending => (self.progress.push(what, future), true),
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

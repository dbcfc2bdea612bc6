//! Operations of several steps: futures, which the process advances, and their requests.

use super::status::Status;
use crate::constants::MPI_Comm;
use crate::error::MpiResult;
use mds::Primitive;
use nic_emu::status::WaitingFor;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

/// An operation of several steps.
pub struct Steps {
    /// What a hang report says of a rank that waits for it.
    pub what: WaitingFor,
    /// What its request tells.
    pub about: About,
    /// The steps.
    pub future: Pin<Box<dyn Future<Output = MpiResult>>>,
    /// The call of the program that has started it, and its communicator, where tools are told of its end.
    pub collective: Option<(Primitive, MPI_Comm)>,
}

/// What the request of an operation of several steps tells of the operation.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// What it is, in an error that says that it can be neither freed nor cancelled.
    pub noun: &'static str,
    /// Its status when it has ended well.
    pub status: Status,
}

impl About {
    /// A collective operation.
    pub const COLLECTIVE: Self = Self { noun: "a collective operation", status: Status::EMPTY };

    /// A partitioned one, a send.
    pub const PARTITIONED: Self = Self { noun: "a partitioned operation", status: Status::EMPTY };
}

impl Steps {
    /// A collective operation that this future carries out.
    pub fn new(what: WaitingFor, future: impl Future<Output = MpiResult> + 'static) -> Self {
        Self::of(what, About::COLLECTIVE, future)
    }

    /// An operation of any kind that this future carries out.
    pub fn of(what: WaitingFor, about: About, future: impl Future<Output = MpiResult> + 'static) -> Self {
        Self { what, about, future: Box::pin(future), collective: None }
    }

    /// The same of a collective operation of the program.
    pub fn of_collective(self, call: Primitive, comm: MPI_Comm) -> Self {
        Self { collective: Some((call, comm)), ..self }
    }
}

/// How an operation ended, once it has: shared between the operation and its request.
pub type End = Arc<Mutex<Option<MpiResult>>>;

/// The request of an operation of several steps that is under way.
pub struct UnderWay {
    /// Its end.
    pub(crate) end: End,
    /// What a hang report says of a rank that waits for it.
    pub(crate) what: WaitingFor,
    /// What else there is to tell of it.
    pub(crate) about: About,
}

impl UnderWay {
    /// Takes its end, if it has ended.
    pub(crate) fn take_end(&mut self) -> MpiResult<Option<Status>> {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).take();
        end.map(|result| result.map(|()| self.about.status)).transpose()
    }
}

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
    /// What it is, if others take part in it, so that it can be neither freed nor cancelled.
    pub lasting: Option<&'static str>,
    /// The steps.
    pub future: Pin<Box<dyn Future<Output = MpiResult<Status>>>>,
    /// The call of the program that has started it, and its communicator, where tools are told of its end.
    pub collective: Option<(Primitive, MPI_Comm)>,
}

/// A collective operation, in an error that says that it can be neither freed nor cancelled.
const COLLECTIVE: &str = "a collective operation";

/// A partitioned one.
pub(super) const PARTITIONED: &str = "a partitioned operation";

impl Steps {
    /// A collective operation that this future carries out; its status is what the future answers, the empty
    /// one for nothing.
    pub fn new<E: Into<Status>>(
        what: WaitingFor,
        future: impl Future<Output = MpiResult<E>> + 'static,
    ) -> Self {
        let future = Box::pin(async { future.await.map(Into::into) });
        Self { what, lasting: Some(COLLECTIVE), future, collective: None }
    }

    /// A partitioned operation.
    pub fn of_parts<E: Into<Status>>(
        what: WaitingFor,
        future: impl Future<Output = MpiResult<E>> + 'static,
    ) -> Self {
        Self { lasting: Some(PARTITIONED), ..Self::new(what, future) }
    }

    /// The same of a collective operation of the program.
    pub fn of_collective(self, call: Primitive, comm: MPI_Comm) -> Self {
        Self { collective: Some((call, comm)), ..self }
    }
}

/// How an operation ended, once it has: shared between the operation and its request.
pub type End = Arc<Mutex<Option<MpiResult<Status>>>>;

/// The request of an operation of several steps that is under way.
pub struct UnderWay {
    /// Its end.
    pub(crate) end: End,
    /// What a hang report says of a rank that waits for it.
    pub(crate) what: WaitingFor,
    /// As [`Steps::lasting`].
    pub(crate) lasting: Option<&'static str>,
}

impl UnderWay {
    /// Takes its end, if it has ended.
    pub(crate) fn take_end(&mut self) -> MpiResult<Option<Status>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).take().transpose()
    }
}

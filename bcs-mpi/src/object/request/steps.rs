//! Operations of several steps: futures, which the process advances, and their requests.

use super::status::Status;
use crate::error::MpiResult;
use nic_emu::status::WaitingFor;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

/// An operation of several steps.
pub struct Steps {
    /// What a hang report says of a rank that waits for it.
    pub what: WaitingFor,
    /// The steps.
    pub future: Pin<Box<dyn Future<Output = MpiResult>>>,
}

impl Steps {
    /// One that this future carries out.
    pub fn new(what: WaitingFor, future: impl Future<Output = MpiResult> + 'static) -> Self {
        Self { what, future: Box::pin(future) }
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
}

impl UnderWay {
    /// Takes its end, if it has ended.
    pub(crate) fn take_end(&mut self) -> MpiResult<Option<Status>> {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).take();
        end.map(|result| result.map(|()| Status::EMPTY)).transpose()
    }
}

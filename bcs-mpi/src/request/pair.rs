//! A send and a receive under one request (MPI-5.0, §3.10): it is complete when both are, and its status is the receive's.

use super::{Operation, State, Status, look};
use crate::error::{MpiError, MpiResult};
use crate::process::Process;

/// A send and a receive that are under way.
pub struct Pair {
    send: Option<State>,
    receive: Option<State>,
    status: Status,
    error: Option<MpiError>,
}

impl Pair {
    /// Both, just started.
    pub fn new(send: State, receive: State) -> Self {
        Self { send: Some(send), receive: Some(receive), status: Status::EMPTY, error: None }
    }
}

impl Operation for Pair {
    fn advance(&mut self, process: &mut Process) -> MpiResult<Option<Status>> {
        if let Some(send) = &mut self.send
            && look(process, send)?.is_some()
        {
            self.send = None;
        }
        if let Some(receive) = &mut self.receive
            && let Some(finished) = look(process, receive)?
        {
            (self.status, self.error) = (finished.status, finished.error);
            self.receive = None;
        }
        if self.send.is_some() || self.receive.is_some() {
            return Ok(None);
        }
        self.error.take().map_or(Ok(Some(self.status)), Err)
    }
}

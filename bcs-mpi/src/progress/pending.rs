//! Messages of a collective operation that are under way: futures that are ready when the NIC has moved
//! the bytes.

use super::members::Message;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::contexts::Contexts;
use crate::process::{Process, ready, with};
use nic_emu::memory::numbers::{CommRank, RequestId};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A message that is under way. Where members turn out to have called what does not fit, it is taken
/// back: the other one may never come.
#[must_use = "its memory is in use until it is ready"]
#[derive(Debug)]
pub struct Pending {
    /// The NIC's request; none once it is complete.
    nic: Option<RequestId>,
    /// Room for it, if it is received.
    room: Option<u64>,
    /// Those of its party.
    contexts: Contexts,
    is_taken_back: bool,
    /// It has to be as long as there is room.
    is_exact: bool,
    /// Whose bytes these are, if somebody else hands them on.
    giver: Option<CommRank>,
}

impl Pending {
    /// The message of a request of the NIC, if that is not complete; received messages have so much room.
    pub(super) fn new(nic: Option<RequestId>, room: Option<u64>, contexts: Contexts) -> Self {
        Self { nic, room, contexts, is_taken_back: false, is_exact: false, giver: None }
    }

    /// Looks at the NIC's request, which is complete before the message's memory is let go of, whatever
    /// has happened.
    fn look(&mut self, process: &mut Process, request: RequestId) -> MpiResult<Option<()>> {
        let Some(outcome) = process.port.test(request)? else {
            if !self.is_taken_back && self.contexts.check_whole(&mut process.port).is_err() {
                self.is_taken_back = true;
                process.port.cancel(request)?;
            }
            return Ok(None);
        };
        self.nic = None;
        self.contexts.check_whole(&mut process.port)?;
        let sent = outcome.length.bytes();
        match self.room {
            Some(room) if sent > room || self.is_exact && sent < room => {
                let from = self.giver.unwrap_or(outcome.source);
                Err(misfit(sent as usize, room as usize, from))
            }
            _ => Ok(Some(())),
        }
    }
}

impl Message for Pending {
    fn exactly(self) -> Self {
        Self { is_exact: true, ..self }
    }

    fn given_by(self, member: CommRank) -> Self {
        Self { giver: Some(member), ..self }
    }

    fn is_over(&self) -> bool {
        self.nic.is_none()
    }
}

impl Future for Pending {
    type Output = MpiResult;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<MpiResult> {
        match self.nic {
            Some(request) => ready(with(|process| self.look(process, request))),
            None => Poll::Ready(Ok(())),
        }
    }
}

/// A block that is not as long as its place.
#[cold]
pub fn misfit(sent: usize, room: usize, from: CommRank) -> MpiError {
    MpiError::new(Problem::BlockMisfit { sent: sent as u64, room: room as u64, from })
}

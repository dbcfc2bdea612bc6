//! Messages of a collective operation that are under way: futures that are ready when the NIC has moved
//! the bytes.

use super::contexts::Contexts;
use super::members::Message;
use super::task::{ready, with};
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::Process;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A message that is under way. Where members turn out to have called what does not fit, it is taken
/// back: the other one may never come.
#[must_use = "its memory is in use until it is ready"]
#[derive(Debug)]
pub struct Pending {
    /// The NIC's request; none once it is complete.
    nic: Option<u32>,
    /// Room for it, if it is received.
    room: Option<u64>,
    /// Those of its party.
    contexts: Contexts,
    is_taken_back: bool,
    /// It has to be as long as there is room.
    is_exact: bool,
    /// Whose bytes these are, if somebody else hands them on.
    giver: Option<u32>,
}

impl Pending {
    /// The message of a request of the NIC, if that is not complete; received messages have so much room.
    pub(super) fn new(nic: Option<u32>, room: Option<u64>, contexts: Contexts) -> Self {
        Self { nic, room, contexts, is_taken_back: false, is_exact: false, giver: None }
    }

    /// Looks at the NIC's request, which is complete before the message's memory is let go of, whatever
    /// has happened.
    fn look(&mut self, process: &mut Process, request: u32) -> MpiResult<Option<()>> {
        let Some(outcome) = process.port.test(request)? else {
            if !self.is_taken_back && self.contexts.check_whole(process).is_err() {
                self.is_taken_back = true;
                process.port.cancel(request)?;
            }
            return Ok(None);
        };
        self.nic = None;
        self.contexts.check_whole(process)?;
        let sent = outcome.length.bytes();
        match self.room {
            Some(room) if sent > room || self.is_exact && sent < room => {
                let from = self.giver.unwrap_or(outcome.source);
                Err(MpiError::new(Problem::BlockMisfit { sent, room, from }))
            }
            _ => Ok(Some(())),
        }
    }
}

impl Message for Pending {
    fn exactly(self) -> Self {
        Self { is_exact: true, ..self }
    }

    fn given_by(self, member: u32) -> Self {
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

/// Messages that are under way together.
#[derive(Debug)]
pub struct Join<M = Pending> {
    under_way: Vec<M>,
}

impl<M: Message> Join<M> {
    /// None yet.
    pub fn new() -> Self {
        Self { under_way: Vec::new() }
    }

    /// One more.
    pub fn add(&mut self, message: M) {
        if !message.is_over() {
            self.under_way.push(message);
        }
    }

    /// Waits for all; answers the first error once none is under way any more.
    ///
    /// # Errors
    /// Any of theirs.
    pub async fn all(mut self) -> MpiResult {
        let mut result = Ok(());
        std::future::poll_fn(|context| {
            self.under_way.retain_mut(|message| match Pin::new(message).poll(context) {
                Poll::Pending => true,
                Poll::Ready(Ok(())) => false,
                Poll::Ready(Err(error)) => {
                    if result.is_ok() {
                        result = Err(error);
                    }
                    false
                }
            });
            if self.under_way.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        result
    }
}

impl<M: Message> Default for Join<M> {
    fn default() -> Self {
        Self::new()
    }
}

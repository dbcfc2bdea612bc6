//! Messages that are under way: one, and several together.

use crate::error::MpiResult;
use std::pin::Pin;
use std::task::Poll;

/// A message that is under way: ready when its bytes have been moved.
pub trait Message: Future<Output = MpiResult> + Unpin {
    /// The same message, which has to be as long as there is room.
    fn exactly(self) -> Self;

    /// The same message, which hands on what this member has given.
    fn given_by(self, member: u32) -> Self;

    /// Whether there is nothing to wait for any more.
    fn is_over(&self) -> bool;
}

/// Messages that are under way together.
#[derive(Debug)]
pub struct Join<M> {
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

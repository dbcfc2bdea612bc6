//! The receiving half of a link: how far records have come, and when the other end is told that they were
//! taken.
//!
//! An engine without I/O, as [`super::sender`]. Invariants: what is published was signalled; credit is given
//! for what is not needed any more, and at most one credit is under way.

use std::num::NonZeroU64;

#[derive(Debug)]
pub(crate) struct Receiver {
    /// The bytes of the registered memory into which the other end writes.
    window: u64,
    /// The last position that was signalled.
    signalled: u64,
    /// The position of the last credit, and whether it is under way.
    credited: u64,
    is_crediting: bool,
}

/// A signal that the other end cannot give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has signalled {signal} bytes after {before}, with room for {window} beyond {credited}")]
pub(crate) struct SignalError {
    pub signal: u64,
    pub before: u64,
    pub window: u64,
    pub credited: u64,
}

/// Credit is given when that part of the window was taken since the last one: often enough that a sender
/// never waits for it, seldom enough that it costs nothing.
const CREDIT_SHARE: u64 = 4;

impl Receiver {
    /// The half of a link whose window has so many bytes.
    pub fn new(window: u64) -> Self {
        Self { window, signalled: 0, credited: 0, is_crediting: false }
    }

    /// A signal stands there. How many bytes are new; none when it is the one from before.
    ///
    /// # Errors
    /// It cannot be one.
    pub fn handle_signal(&mut self, signal: u64) -> Result<Option<NonZeroU64>, SignalError> {
        let (before, window, credited) = (self.signalled, self.window, self.credited);
        if signal < before || signal > credited.saturating_add(window) || !signal.is_multiple_of(8) {
            return Err(SignalError { signal, before, window, credited });
        }
        self.signalled = signal;
        Ok(NonZeroU64::new(signal - before))
    }

    /// Up to where the other end has signalled.
    pub fn signalled(&self) -> u64 {
        self.signalled
    }

    /// The position of the last credit.
    #[cfg(test)]
    pub fn credited(&self) -> u64 {
        self.credited
    }

    /// The credit to give, when the window is not needed any more up to this position; none while it is not
    /// worth it, or one is under way.
    pub fn poll_credit(&self, free: u64) -> Option<u64> {
        let is_due = free.saturating_sub(self.credited) >= self.window / CREDIT_SHARE;
        (is_due && !self.is_crediting).then_some(free)
    }

    /// The network has taken the credit.
    pub fn handle_posted(&mut self, credit: u64) {
        self.credited = credit;
        self.is_crediting = true;
    }

    /// The credit is complete.
    pub fn handle_complete(&mut self) {
        self.is_crediting = false;
    }

    /// Whether a credit is under way.
    pub fn is_under_way(&self) -> bool {
        self.is_crediting
    }
}

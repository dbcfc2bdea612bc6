//! Backoff: how long a NIC thread waits for whoever has the run token.
//!
//! A NIC thread of a high priority that looks again and again keeps the processor from the rank that has the token. So each wait is twice as long as the
//! one before.

use std::time::Duration;

/// The longest wait.
const LONGEST: Duration = Duration::from_millis(1);

/// The waits for one holder of the token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff(Duration);

impl Backoff {
    /// The first wait is so long; each is nothing if the first is.
    pub(super) fn new(first: Duration) -> Self {
        Self(first)
    }

    /// How long to wait this time.
    pub(super) fn next(&mut self) -> Duration {
        let now = self.0;
        self.0 = (now * 2).min(LONGEST);
        now
    }
}

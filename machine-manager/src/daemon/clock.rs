//! The clock of the manager. Nothing else in the daemon reads one.

use std::time::{Duration, Instant};

/// Time since the manager began, the same for all its threads.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Begins.
    #[allow(clippy::disallowed_methods, reason = "this is the driver")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Since then.
    #[allow(clippy::disallowed_methods, reason = "this is the driver")]
    pub fn now(&self) -> Duration {
        Instant::now().duration_since(self.0)
    }
}

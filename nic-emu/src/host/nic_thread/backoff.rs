//! Backoff: how long a NIC thread waits for whoever has the run token.
//!
//! A NIC thread of a high priority that looks again and again keeps the processor from the rank that has the
//! token. So each wait is twice as long as the one before.

use std::time::Duration;

/// The longest wait.
const LONGEST: Duration = Duration::from_millis(1);

/// How long to wait this time, which is how long it was to be; nothing for ever if that is nothing.
pub(super) fn next(wait: &mut Duration) -> Duration {
    let longer = (*wait * 2).min(LONGEST);
    std::mem::replace(wait, longer)
}

//! Waits for what must come to be, and not for ever.

use std::thread;
use std::time::{Duration, Instant};

/// What no run and no wait of a test may exceed: a hang fails the test instead of holding it.
pub const BOUND: Duration = Duration::from_secs(120);

/// Waits until there is something.
#[track_caller]
pub fn await_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < BOUND, "waited in vain for {what}");
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Waits until something holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    await_some(what, || holds().then_some(()));
}

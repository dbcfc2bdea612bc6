//! What a test says that cannot run here: without root, without a peer's library, without a right that the
//! system gives elsewhere.
//!
//! The harness of Rust's tests knows no third answer besides passed and failed, and shows nothing of a test
//! that passes. So a line goes past it, and `scripts/test` counts such lines.

use std::fmt::Display;

/// How such a line begins; the test's name follows.
pub const MARK: &str = "SKIPPED";

/// Says that the test of this thread, or what is left of it, cannot run here, and why. The test returns then.
pub fn skip(reason: impl Display) {
    let thread = std::thread::current();
    // With one thread the harness has begun a line.
    let line = format!("\n{MARK} {}: {reason}\n", thread.name().unwrap_or("a test"));
    // Not by `eprintln`, which the harness keeps to itself. Where nobody listens nobody counts.
    let _ = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
}

//! What a user may ask of the machine manager: bounds in time, bytes and number, for whatever is sent over its doors, whoever wrote the program
//! that sends it.

use std::time::Duration;

/// The longest time limit of a job: ten years.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(10 * 365 * 86_400);

//! What the suites of tests share. Nothing here links the crates under test, so every crate may use it in its
//! tests.
#![allow(clippy::disallowed_methods, reason = "tests of real processes bound real time")]

use std::path::Path;

pub mod built;
pub mod c_programs;
pub mod installation;
pub mod mpich;
pub mod processes;
mod refuse_attach;
pub mod runs;
mod skip;
pub mod waiting;

pub use refuse_attach::refuse_attach;
pub use skip::{MARK, skip};

/// How often a loop goes round, or how many random programs run: so often, or `BCS_TIMES` times that
/// (`scripts/test long`).
pub fn times(usually: u64) -> u64 {
    let factor = std::env::var("BCS_TIMES").map(|text| text.parse().expect("BCS_TIMES is a number"));
    usually * factor.unwrap_or(1)
}

/// The repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("tests/harness lies in the repository")
}

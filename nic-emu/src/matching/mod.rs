//! Matching: which message meets which receive, and what is told where calls do not fit or wait for ever
//! (paper, §4.3; design, §4 "Point to point" and "Hang reports").
//!
//! | file | holds |
//! |---|---|
//! | `envelope` | the predicate: which receive takes which message |
//! | `mismatch`, `both_ways` | collective calls that do not fit each other, and their reports |
//! | `breach` | how a communicator is broken by a mismatch |
//! | `hang` | when all ranks wait for ever, and the report of who waits for what |

pub mod both_ways;
pub mod breach;
mod envelope;
pub mod hang;
pub mod mismatch;

pub use envelope::Envelope;

//! Matching: which message meets which receive, and what is told where calls do not fit or wait for ever
//! (paper, §4.3; design, §4 "Point to point" and "Hang reports").
//!
//! | file | holds |
//! |---|---|
//! | `envelope` | a message, as it is matched, and the predicate: which receive takes it |
//! | `called`, `both_ways` | what members of a communicator have to say alike |
//! | `mismatch` | the reports of collective calls that do not fit each other |
//! | `breach` | how a communicator is broken by a mismatch |
//! | `naming` | how reports name communicators and ranks |
//! | `hang` | when all ranks wait for ever, and the report of who waits for what |

pub mod both_ways;
pub mod breach;
pub(crate) mod called;
mod envelope;
pub mod hang;
pub mod mismatch;
mod naming;

pub(crate) use envelope::message_of_words;
pub use envelope::{Envelope, Message};

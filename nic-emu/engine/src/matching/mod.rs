//! Matching: which message meets which receive, and what is told where calls do not fit (paper, §4.3; design,
//! §4 "Point to point").
//!
//! | file | holds |
//! |---|---|
//! | `envelope` | a message, as it is matched, and the predicate: which receive takes it |
//! | `called`, `both_ways` | what members of a communicator have to say alike |
//! | `mismatch` | the reports of collective calls that do not fit each other |
//! | `naming` | how reports name communicators and ranks |

pub mod both_ways;
pub(crate) mod called;
mod envelope;
pub mod mismatch;
pub(crate) mod naming;

pub(crate) use envelope::queued_message;
pub use envelope::{Envelope, Message};

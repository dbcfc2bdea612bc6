//! Requests: operations that may be under way (MPI-5.0, §3.7).
//!
//! A plain request, of a send from where its bytes are or a receive to where they go, is the NIC's request
//! and nothing more: its handle names the NIC's slot. What takes more (a message that is packed or unpacked,
//! an operation of several steps) is a [`Request`] in a table, whose numbers begin after those of the slots.

mod finished;
mod generalized;
mod requests;
mod state;
pub mod status;
mod steps;

pub use finished::Finished;
pub use generalized::{Callbacks, Generalized};
pub use requests::{BUFFERED, Matched, Request, Requests};
pub use state::{Begun, Flush, Pair, Parts, Persistent, Several, Starter, State};
pub use status::{Status, Statuses};
pub use steps::{End, Steps, UnderWay};

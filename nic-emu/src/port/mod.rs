//! A rank's port to its NIC: post descriptors, look at requests, lend the core while waiting.
//!
//! A port belongs to one process, and its methods to one thread at a time (the MPI library holds its lock
//! around them). Call `post_*`, then `test` the request until it is complete, with [`Port::progress`] or
//! [`Port::wait`] in between; every request that was posted must be taken by `test` once.
//!
//! | file | holds |
//! |---|---|
//! | `rank_port`, `error` | the port and what it is made of, and why it cannot go on |
//! | `posting`, `filling`, `room` | descriptors in rings; messages of several pieces; what a poster waits for |
//! | `buffering` | messages in slabs of their sender |
//! | `claiming`, `holding` | messages that a rank takes out of rings of others itself; receives that it holds for that |
//! | `reading` | messages that it reads in their senders' memory for that |
//! | `keeping`, `keeper` | messages without a receive |
//! | `completing`, `outstanding` | what became of requests; what is known of those that are outstanding |
//! | `waits`, `lending`, `ahead`, `meeting` | how a rank waits, and lends its core; how it waits for a collective |
//! | `stream` | what a rank leaves to its receivers after many sends |
//! | `driving`, `link_driver` | how a rank that waits drives the links to other nodes |
//! | `moving` | transfers that this rank is an end of |
//! | `one_sided` | memory and doors of other ranks |
//! | `laning`, `board`, `wiring` | collectives through lanes and boards, neighbours along edges |
//! | `breaking` | broken communicators, as a rank sees them |

mod ahead;
pub mod board;
mod breaking;
mod buffering;
mod claiming;
mod completing;
mod driving;
mod error;
mod filling;
mod holding;
mod keeper;
mod keeping;
mod laning;
mod lending;
mod link_driver;
mod meeting;
mod moving;
mod one_sided;
pub mod outstanding;
mod posting;
mod rank_port;
mod reading;
mod room;
mod stream;
mod waits;
mod wiring;

pub use crate::host::clock::now_ns;
pub use completing::{Outcome, Received, Release};
pub use error::PortError;
pub use laning::Giving;
pub use lending::{SOME_REQUESTS, Waiting};
pub use meeting::Awaits;
pub use one_sided::Reached;
pub use posting::{Collective, Posted, Send, SendWait};
pub use rank_port::Port;
pub use waits::Waits;
pub use wiring::{Put, Take};

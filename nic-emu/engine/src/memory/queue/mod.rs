//! The two matching queues of a rank: posted receives, and unexpected messages (paper, §4.3). Processor only.
//!
//! Doubly linked lists of entries (descriptors as they stood in the ring, 64 bytes) in the node's entry pool.
//! Order is order of arrival, which is what MPI's matching rules are about.

mod list;
mod match_queues;
mod posted;

pub(crate) use list::{LINKS, give_back};
pub use match_queues::{MatchQueues, Queue};

//! The two matching queues of a rank: posted receives, and unexpected messages (paper, §4.3). Processor only.
//!
//! Doubly linked lists of entries (descriptors as they stood in the ring, 64 bytes) in the node's entry pool.
//! Order is order of arrival, which is what MPI's matching rules are about. Long ones are searched by chains.

mod chains;
mod list;
mod match_queues;
mod posted;
mod searched;
#[cfg(test)]
mod tests;

pub(crate) use list::{LINKS, give_back};
pub use match_queues::{ChainLinks, MatchChains, MatchQueues, Queue};
pub use posted::{PostedAt, PostedReceives};
pub use searched::UnexpectedMessages;

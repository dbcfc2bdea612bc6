//! The NIC thread: the program launcher's share in running the NIC (design §4, "Who is the processor").
//!
//! Ranks that wait run the NIC themselves. The NIC thread is for when they do not: it ticks while the job has
//! work that nobody runs, so that ranks that compute get their overlap; moves bytes whose both ends compute;
//! looks for deadlocks; and sleeps when there is nothing to do. Of a job on several nodes it also drives this
//! node's part in the global slices, and the network. Over TCP ranks that wait drive the links, too.
//!
//! | file | holds |
//! |---|---|
//! | `thread`, `shared` | the thread, and what whoever has started it shares with it |
//! | `finding` | what it finds that ends the job |
//! | `one_node` | the thread of a job on one node |
//! | `several_nodes` | the thread of a job on several nodes |
//! | `mover` | bytes whose both ends compute |
//! | `backoff` | how long a NIC thread waits for whoever has the run token |

mod backoff;
mod finding;
mod mover;
mod one_node;
mod several_nodes;
mod shared;
mod thread;

pub use finding::{FINDING_STATUS, Finding};
pub use thread::{Network, NicThread};

//! The emulated NIC of one job on one node (paper, §3 and §4; design §4): the engine (`nic-engine`) and its
//! two hosts.
//!
//! Ranks post descriptors in rings in NIC memory, whoever holds the run token is the NIC processor and runs
//! slices, completions come back in request slots. The engine runs the slices; what waits, wakes, maps memory
//! and asks the system is here.
//!
//! | folder | holds |
//! |---|---|
//! | [`port`] | the side of a rank: it posts, polls, waits and lends its core |
//! | [`host`] | the side of the program launcher: it makes the memory, runs the NIC thread, reads reports; and what the system does for both |
//!
//! Files import each other in one direction.

pub mod host;
pub mod port;

// Who has the NIC has its engine.
pub use nic_engine::{arithmetic, channel, global, hang, matching, memory, one_sided, policy, threads};

// The paths by which other packages name these modules.
pub use host::{abort, nic_thread, priority, waiting};
pub use nic_engine::arithmetic as arith;
pub use nic_engine::matching::{both_ways, mismatch};
pub use nic_engine::memory::{
    breaches, contexts, descriptor, door, doorbell, edge, lane, root, slab, status, unexpected,
};
pub use port::{board, outstanding};

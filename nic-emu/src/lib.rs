//! The emulated NIC of one job on one node (paper, §3 and §4; design §4).
//!
//! Ranks post descriptors in rings in NIC memory, whoever holds the run token is the NIC processor and runs
//! slices, completions come back in request slots. The engine opens no socket and reads no clock: what waits,
//! wakes and asks the system is in [`host`], and in the [`port`] where a rank has to.
//!
//! | folder | holds |
//! |---|---|
//! | [`threads`] | SS, SR, BS, BR, DH, CH, RH: the NIC threads, and the NIC processor that runs them |
//! | [`memory`] | NIC memory: its layout and its mapping, and what lies in it |
//! | [`matching`] | which receive takes which message; reports of calls that do not fit, and of hangs |
//! | [`channel`] | how the bytes of a message move |
//! | [`arithmetic`] | how operands are combined, and in which order |
//! | [`policy`] | all thresholds and polling priorities |
//! | [`port`] | the side of a rank: it posts, polls, waits and lends its core |
//! | [`host`] | the side of the program launcher: it makes the memory, runs the NIC thread, reads reports |
//! | [`global`] | what several nodes add: global slices |
//!
//! Files import each other in one direction. Of what lies in NIC memory the records stand below
//! `memory::layout`, and what works on them above `memory::nic_memory`.

pub mod arithmetic;
pub mod memory;

// Loom sees rings, doorbells, the run token, wait words and the abort record: what is shared without the
// token.
#[cfg(not(loom))]
pub use with_token::*;

#[cfg(not(loom))]
#[path = "."]
mod with_token {
    pub mod channel;
    pub mod global;
    pub mod host;
    pub mod matching;
    pub mod policy;
    pub mod port;
    pub mod threads;

    // The paths by which other packages name these modules.
    pub use crate::arithmetic as arith;
    pub use crate::memory::{
        breaches, contexts, descriptor, doorbell, edge, lane, root, slab, status, unexpected,
    };
    pub use host::{abort, nic_thread, priority, waiting};
    pub use matching::{both_ways, hang, mismatch};
    pub use port::{board, outstanding};
}

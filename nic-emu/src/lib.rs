//! The emulated NIC of one job on one node (paper, §3 and §4; design §4).
//!
//! An engine without I/O over NIC memory: ranks post descriptors in rings, whoever holds the run token is the
//! NIC processor and runs slices, completions come back in request slots. It opens no socket and reads no
//! clock.
//!
//! - A rank uses a [`port`]: it posts, polls, waits and lends its core.
//! - The program launcher uses a [`host`]: it makes the memory, runs the NIC thread, reads reports.
//! - The paper's NIC threads are the modules of their names, run by the [`processor`] in the order of the
//!   [`microphase`]s.

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
        abort, breaches, contexts, descriptor, doorbell, edge, lane, root, slab, status, unexpected,
    };
    pub use host::{nic_thread, priority, waiting};
    pub use matching::{both_ways, hang, mismatch};
    pub use port::{board, outstanding};
}

//! The emulated NIC of one job on one node (paper, §3 and §4; design §4).
//!
//! An engine without I/O over NIC memory: ranks post descriptors in rings, whoever holds the run token is the
//! NIC processor and runs slices, completions come back in request slots. It opens no socket and reads no clock.
//!
//! - A rank uses a [`port`]: it posts, polls, waits and lends its core.
//! - The program launcher uses a [`host`]: it makes the memory, runs the NIC thread, reads reports.
//! - The paper's NIC threads are the modules of their names, run by the [`processor`] in the order of the
//!   [`microphase`]s.

pub mod abort_record;
pub mod arith;
pub mod doorbell;
pub mod priority;
pub mod ring;
pub mod sync;
mod text;
pub mod token;
pub mod wait_word;

// Loom sees what is shared without the token: the modules above.
#[cfg(not(loom))]
pub use with_token::*;

#[cfg(not(loom))]
#[path = "."]
mod with_token {
    pub mod abort;
    pub mod board;
    pub mod both_ways;
    pub mod breach;
    pub mod breaches;
    pub mod buffer_receiver;
    pub mod buffer_sender;
    pub mod channel;
    pub mod collective;
    pub(crate) mod collective_at_once;
    pub mod collective_helper;
    pub mod collective_list;
    pub mod completer;
    pub mod contexts;
    pub mod crowd;
    pub mod departure;
    pub mod descriptor;
    pub mod dma_helper;
    pub mod edge;
    pub mod global;
    pub mod hang;
    pub mod host;
    pub mod lane;
    pub mod matching;
    pub mod memory;
    pub mod microphase;
    pub mod mismatch;
    pub mod nic_thread;
    pub mod outstanding;
    pub mod policy;
    pub mod pool;
    pub mod port;
    pub(crate) mod prefetch;
    pub mod processor;
    pub mod queue;
    pub mod reduce_helper;
    pub mod request;
    pub mod root;
    pub mod slab;
    pub mod status;
    pub mod strobe_receiver;
    pub mod strobe_sender;
    pub mod transfer;
    pub mod unexpected;
    pub mod waiting;
    pub mod wake_pipe;
}

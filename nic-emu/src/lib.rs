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
pub mod ring;
pub mod sync;
mod text;
pub mod token;
pub mod wait_word;

// Loom sees what is shared without the token: the modules above.
#[cfg(not(loom))]
pub mod abort;
#[cfg(not(loom))]
pub mod board;
#[cfg(not(loom))]
pub mod both_ways;
#[cfg(not(loom))]
pub mod breach;
#[cfg(not(loom))]
pub mod breaches;
#[cfg(not(loom))]
pub mod buffer_receiver;
#[cfg(not(loom))]
pub mod buffer_sender;
#[cfg(not(loom))]
pub mod channel;
#[cfg(not(loom))]
pub mod collective;
#[cfg(not(loom))]
mod collective_at_once;
#[cfg(not(loom))]
pub mod collective_helper;
#[cfg(not(loom))]
pub mod collective_list;
#[cfg(not(loom))]
pub mod completer;
#[cfg(not(loom))]
pub mod contexts;
#[cfg(not(loom))]
pub mod crowd;
#[cfg(not(loom))]
pub mod departure;
#[cfg(not(loom))]
pub mod descriptor;
#[cfg(not(loom))]
pub mod dma_helper;
#[cfg(not(loom))]
pub mod edge;
#[cfg(not(loom))]
pub mod global;
#[cfg(not(loom))]
pub mod hang;
#[cfg(not(loom))]
pub mod host;
#[cfg(not(loom))]
pub mod lane;
#[cfg(not(loom))]
pub mod matching;
#[cfg(not(loom))]
pub mod memory;
#[cfg(not(loom))]
pub mod microphase;
#[cfg(not(loom))]
pub mod mismatch;
#[cfg(not(loom))]
pub mod nic_thread;
#[cfg(not(loom))]
pub mod outstanding;
#[cfg(not(loom))]
pub mod policy;
#[cfg(not(loom))]
pub mod pool;
#[cfg(not(loom))]
pub mod port;
#[cfg(not(loom))]
mod prefetch;
pub mod priority;
#[cfg(not(loom))]
pub mod processor;
#[cfg(not(loom))]
pub mod queue;
#[cfg(not(loom))]
pub mod reduce_helper;
#[cfg(not(loom))]
pub mod request;
#[cfg(not(loom))]
pub mod root;
#[cfg(not(loom))]
pub mod slab;
#[cfg(not(loom))]
pub mod status;
#[cfg(not(loom))]
pub mod strobe_receiver;
#[cfg(not(loom))]
pub mod strobe_sender;
#[cfg(not(loom))]
pub mod transfer;
#[cfg(not(loom))]
pub mod unexpected;
#[cfg(not(loom))]
pub mod waiting;
#[cfg(not(loom))]
pub mod wake_pipe;

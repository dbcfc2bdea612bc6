//! The emulated NIC of one job on one node (paper, §3 and §4; design §4).
//!
//! An engine without I/O over NIC memory: ranks post descriptors in rings, whoever holds the run token is the
//! NIC processor and runs slices, completions come back in request slots. It opens no socket and reads no clock.

pub mod arith;
#[cfg(not(loom))]
pub mod collective;
#[cfg(not(loom))]
pub mod descriptor;
pub mod doorbell;
#[cfg(not(loom))]
pub mod memory;
#[cfg(not(loom))]
pub mod pool;
#[cfg(not(loom))]
pub mod queue;
#[cfg(not(loom))]
pub mod request;
pub mod ring;
#[cfg(not(loom))]
pub mod slab;
#[cfg(not(loom))]
pub mod status;
pub mod sync;
pub mod token;
#[cfg(not(loom))]
pub mod transfer;

/// Words of an EMDS ring for this many slices.
#[cfg(not(loom))]
pub(crate) fn emds_words(slices: u64) -> usize {
    slices as usize * 32
}

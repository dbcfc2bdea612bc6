//! The engine of the emulated NIC (paper, §3 and §4; design §4): what a slice does.
//!
//! Ranks post descriptors in rings in NIC memory, whoever holds the run token is the NIC processor and runs
//! slices, completions come back in request slots. The engine has no clock, no thread, no file, no futex and
//! no socket: the time and the processor's counter are arguments, as are the memory of ranks' processes
//! ([`channel::ProcessMemory`]), the mapping of NIC memory ([`memory::Mapping`]) and the network
//! (`bcs_fabric::Fabric`). It answers whom to wake. `nic-emu` has the system's side of all that. The list of
//! this package for clippy, and the packages that it may be built from (`scripts/test lints`), see to it.
//!
//! | folder | holds |
//! |---|---|
//! | [`threads`] | SS, SR, BS, BR, DH, CH, RH: the NIC threads, and the NIC processor that runs them |
//! | [`memory`] | NIC memory: its layout, and what lies in it |
//! | [`matching`] | which receive takes which message; reports of calls that do not fit |
//! | [`channel`] | how the bytes of a message move |
//! | [`arithmetic`] | how operands are combined, and in which order |
//! | [`one_sided`] | what ranks ask of each other's memory |
//! | [`policy`] | all thresholds and polling priorities |
//! | [`global`] | what several nodes add: global slices |
//! | [`hang`] | when all ranks wait for ever, and the report of who waits for what |
//!
//! Files import each other in one direction, and so do `memory`, `matching`, `threads`, and above these
//! `global` and `hang`. Of what lies in NIC memory the records stand below `memory::layout`, and what works
//! on them above `memory::nic_memory`.

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
    pub mod hang;
    pub mod matching;
    pub mod one_sided;
    pub mod policy;
    pub mod threads;
}

//! The control network's global memory: the beat, and the commit of launches.
//!
//! A launch is committed by one Compare-And-Write of the machine manager on the nodes of the job: *if the job
//! stands in `prepared` on all of them, write it into `go` on all of them*. So its ranks start on all nodes
//! or on none (paper, §4.1; design §6). Jobs that are being launched at the same time have different slots; a
//! slot is used again when its launch has been committed or given up.
//!
//! A node may leave a view before it has seen a commit there. So the machine manager commits again, in the
//! next view, what some node has not yet said to have started; a node manager shows its jobs in every view,
//! and says *go* to a launcher once.

use bcs_core::{GlobalAddress, GlobalVariable};

/// How many launches can be under way at once.
pub const SLOTS: u32 = 256;
/// Events of the control network.
pub const EVENTS: u32 = 16;

/// The number of the last beat: the global strobe.
pub const BEAT: GlobalVariable = variable(0);

/// In which node managers say which job of a slot is prepared there.
pub const fn prepared(slot: u32) -> GlobalVariable {
    variable(64 + 16 * slot as u64)
}

/// In which the machine manager says which job of a slot starts.
pub const fn go(slot: u32) -> GlobalVariable {
    variable(64 + 16 * slot as u64 + 8)
}

const fn variable(address: u64) -> GlobalVariable {
    match GlobalVariable::at(GlobalAddress(address)) {
        Ok(variable) => variable,
        Err(_) => panic!("the variables of the control network are aligned"),
    }
}

/// Bytes of the control network's global memory.
pub const MEMORY_BYTES: u64 = 64 + 16 * SLOTS as u64;

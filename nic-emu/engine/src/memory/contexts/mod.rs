//! Contexts: the numbers by which the NIC tells communicators apart. An even one is for messages, the next
//! odd one for collectives.
//!
//! Who makes a communicator takes its context from its own node's share of the job's numbers, so that nobody
//! has to be asked:
//!
//! ```text
//!  job on one node     16 ..                     all of them, in turn
//!  job on several      generation:14 slot:16 0   whose collectives span nodes: a slot, and how often that was used before
//!                      0x8000_0000 ..            for members on one node: every node has them all
//! ```
//!
//! A slot is a row of the table of groups. Slots belong to nodes in turn, and come back: the last collective
//! of a communicator is its leave (`MPI_Comm_free`, `is_leave`), which the NIC completes when all members are
//! there, and which its lead then tells the slot's node.
//!
//! Invariants: two communicators that live at the same time have different slots; two in a job never have the
//! same number. So what is late of one is never taken for another's. A slot whose generations are used up is
//! not given again.

mod number;
mod share;

pub use number::{
    Context, ContextCounters, ERRORS_ARE_FATAL, FIRST_MATCHED_CONTEXT, SLOTS, WORLD_CONTEXT, self_context,
};
pub(crate) use number::{SELF_CONTEXTS, is_leave};
pub use share::{Reach, comes_back, give_back, has_slot, take};

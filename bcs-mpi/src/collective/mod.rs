//! Collective communication (MPI-5.0, chapter 6; paper, §4.4).
//!
//! A call's arguments are checked and resolved ([`forms`]), into blocks ([`block`], [`side`]) or operands
//! ([`reduction`]); what comes of it is a future, which goes by the algorithm ([`algorithm`]) that [`policy`]
//! says, whatever the form of the call. Blocking calls for what the NIC does at once, as barriers and
//! reductions of up to a slab, need no future.

pub mod algorithm;
pub mod block;
pub mod buffers;
mod coherence;
pub mod combination;
pub mod disconnect;
pub mod extended;
pub mod forms;
mod futures;
mod gathering;
pub mod inter;
pub mod movement;
pub mod neighbourhood;
pub mod operand;
pub mod operation;
pub mod places;
pub mod policy;
pub mod reduce_scatter;
pub mod reduction;
pub mod side;
pub mod vector;

pub use block::{Agreed, Block};
pub use buffers::{Buffer, Everyone, Vectors};
pub use combination::{Combination, Results, ScanKind};
pub use gathering::gather_small;
pub use movement::{Broadcast, Movement, Pattern};
pub use reduction::Reduction;
pub use side::{Side, Wires};
pub use vector::Vector;

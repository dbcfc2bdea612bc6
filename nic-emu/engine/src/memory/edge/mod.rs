//! Edges: what a process gives a neighbour in a topology goes straight to it, through a few cells in NIC
//! memory that are theirs alone (design §4, "Channels"; MPI-5.0, §8.6).
//!
//! An edge belongs to the rank that receives along it, which opens it and tells the sender its number, once
//! for a communicator. After that a message costs the line that it lies in: no descriptor, no slice, no
//! request. A cell says what comes: the call, the size and the signature, which the receiver compares with
//! its own, and the bytes: up to 48 lie in the cell, more in slabs of the sender. What finds no slabs comes
//! as a message.
//!
//! Invariant: a cell's label is published after all that it says, and the cell is written again only when the
//! receiver has said that it was taken. Labels count messages, so what a cell held before is never taken for
//! new.
//!
//! ```text
//!  line 0     messages taken                                           the receiver writes it
//!  line 1-8   label:32 call:8 place:8 signature:16 | bytes | payload (48 bytes), or the first slab
//! ```

mod cells;
mod ends;

pub use cells::{EDGE_INLINE_BYTES, EDGES, Edge};
pub use ends::{Arrived, EdgeAllocator, EdgeReader, EdgeWriter, Place};

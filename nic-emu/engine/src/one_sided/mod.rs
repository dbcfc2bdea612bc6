//! One-sided communication (MPI-5.0, chapter 12): what ranks ask of each other's memory.
//!
//! A rank reads and writes the memory of ranks of its node itself, and enters their doors itself
//! ([`crate::memory::door`]). What it asks of a rank of another node travels as a message of the kind
//! [`Operate`](crate::memory::descriptor::PointToPoint::Operate): in the order of the rank's messages, in its
//! descriptor or in slabs, many operations in one. For such a message no receive is posted. Whoever holds the
//! run token of the target's node when the message comes carries it out: the NIC thread, or a rank that
//! waits. So the target need not call MPI. What is read there goes back as an ordinary message, for which the
//! origin has posted a receive. Long blocks do not travel with their operations, but from memory to memory,
//! as long messages do.
//!
//! Everything that combines values with memory of a window that spans nodes is done by the holder of the run
//! token: so elements are atomic to each other, whoever asks, and those of one origin are combined in the
//! order in which it has asked.
//!
//! | file | holds |
//! |---|---|
//! | `operation` | what is asked, and how it stands in a message |
//! | `memory_of` | the memory of a rank of the node, as who carries operations out reads and writes it |
//! | `target` | operations are carried out |
//! | `locks` | who waits at doors, and is let in |

mod locks;
mod memory_of;
mod operation;
mod target;

pub(crate) use locks::serve_lock;
pub use memory_of::MemoryOf;
pub(crate) use operation::Served;
pub use operation::{Act, LONG_BYTES, Message, Operation, Piece, REPLIES_FROM, Request};
pub(crate) use target::Target;
pub use target::{arithmetic_of, combine, parts_of};

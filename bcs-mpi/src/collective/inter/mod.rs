//! Collectives on intercommunicators (MPI-5.0, §6.2.2, §6.2.3): one group gives, the other one takes, or
//! each gives to the other.
//!
//! What goes across does so by messages between members of the two groups; what a group does by itself
//! goes through its hidden intracommunicator. Each algorithm is a future, as those of intracommunicators
//! are, and serves the blocking, the non-blocking and the persistent form. Rooted operations go from one
//! group to the other one's root, or back: members of the root's group that are not the root say
//! MPI_PROC_NULL, and have nothing to do.

mod broadcast;
mod combine;
mod exchange;
mod movement;
mod reduction;
mod sides;

pub use movement::{allgather, alltoall, bcast, rooted};
pub use reduction::{allreduce, reduce, reduce_scatter};
pub use sides::{Role, Sides};

//! The forms of a collective call (MPI-5.0, §6.12, §6.13): blocking, non-blocking, persistent.
//!
//! A call's arguments are checked and resolved once; what comes of it makes a future each time that the
//! operation starts. The blocking form drives it on its own stack, the non-blocking one has a request for
//! it, the persistent one keeps what makes it. What the NIC does at once in a blocking call needs no future.

mod at_once;
mod call;
mod launch;
mod movement;
mod neighbourhood;
mod persistent;
mod reduction;

pub use call::{Call, Form};
pub use movement::{allgather, alltoall, barrier, bcast, meet, rooted};
pub use neighbourhood::{neighbour_allgather, neighbour_alltoall};
pub use reduction::{allreduce, reduce, reduce_local, reduce_scatter, scan};

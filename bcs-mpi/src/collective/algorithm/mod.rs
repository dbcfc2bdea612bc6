//! Collective algorithms as futures (MPI-5.0, chapter 6): one a file, each written once for the non-blocking, the persistent, and, where no
//! faster way is there, the blocking form.
//!
//! What rides in a descriptor is done by the NIC, without the rank. Everything else goes by messages between members
//! ([`crate::progress::party`]). Reductions combine in the order of the reduction tree, so their bits are those of the blocking
//! forms.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod broadcast;
mod gather;
mod neighbourhood;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;
pub mod shares;

pub use allgather::allgather;
pub use allreduce::allreduce;
pub(super) use allreduce::from_last;
pub use alltoall::alltoall;
pub use barrier::barrier;
pub use broadcast::broadcast;
pub use gather::gather;
pub use neighbourhood::{Exchange, neighbour_exchange};
pub(super) use reduce::to_last;
pub use reduce::{Operands, reduce};
pub use reduce_scatter::reduce_scatter;
pub use scan::scan;
pub use scatter::scatter;

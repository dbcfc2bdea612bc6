//! Collective algorithms as futures (MPI-5.0, chapter 6): one a file, each written once for the blocking, the
//! non-blocking and the persistent form.
//!
//! What rides in a descriptor is done by the NIC, without the rank. Everything else goes by messages between
//! members ([`crate::progress::party`]), or, in calls that block, from a board or in an exchange
//! ([`crate::progress::exchange`]). Reductions combine in the order of the reduction tree, so their bits are
//! the same in all forms.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod broadcast;
mod combining;
mod gather;
mod gather_shares;
mod neighbourhood;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;
pub mod shares;
mod to_all;

pub use allgather::allgather;
pub use allreduce::allreduce;
pub(super) use allreduce::from_last;
pub use alltoall::alltoall;
pub use barrier::barrier;
pub use broadcast::broadcast;
pub use gather::gather;
pub use neighbourhood::{AlongEdges, neighbour_exchange};
pub(super) use reduce::to_last;
pub use reduce::{Operands, reduce};
pub use reduce_scatter::reduce_scatter;
pub use scan::scan;
pub use scatter::scatter;

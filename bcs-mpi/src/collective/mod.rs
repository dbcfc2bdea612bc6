//! Collective communication (MPI-5.0, chapter 6; paper, §4.4): one algorithm a file.
//!
//! Every collective of a communicator has a number that all members count alike ([`crate::communicator::Communicator`]);
//! [`crate::communicator::arrive`] posts a member's arrival with it, and [`crate::communicator::released`] waits for its release. Barrier,
//! broadcast, reduce and allreduce of up to a slab are done by the NIC's Collective and Reduce Helpers; everything else goes by
//! [`exchange`]s, in which members put up contributions on the NIC's board and take what they need of others', or, between nodes,
//! as messages ([`policy`], [`forms`]).

pub mod algorithm;
pub mod allgather;
pub mod alltoall;
pub mod barrier;
pub mod block;
pub mod broadcast;
pub mod buffers;
mod coherence;
pub mod exchange;
pub mod extended;
pub mod forms;
pub mod gather;
pub mod inter;
pub mod neighbourhood;
pub mod operand;
pub mod operation;
pub mod policy;
pub mod reduce;
pub mod reduce_scatter;
pub mod reduction;
pub mod scan;
pub mod scatter;
pub mod side;
mod stream;
mod tree;

pub use allgather::allgather;
pub use alltoall::alltoall;
pub use barrier::barrier;
pub use broadcast::bcast;
pub use gather::gather;
pub use reduce::{allreduce, reduce};
pub use reduce_scatter::reduce_scatter;
pub use scan::scan;
pub use scatter::scatter;

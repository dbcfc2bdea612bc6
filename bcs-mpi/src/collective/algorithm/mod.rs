//! Collective algorithms as futures: one a file, or those that differ in what goes the same way; each is
//! written once for the blocking, the non-blocking and the persistent form. [`policy`](super::policy) is
//! their table.
//!
//! Those by messages know of a communicator what [`Members`](crate::progress::Members) says; the
//! others have the NIC do it, or use what members of one node share, in calls that block. Reductions
//! combine in the order of the reduction tree, so their bits are the same in all of them.

mod allgather_by_nodes;
mod alltoall_by_nodes;
mod barrier;
mod binomial_broadcast;
mod binomial_gather;
mod binomial_scatter;
mod broadcast_in_exchange;
mod bruck_allgather;
mod bruck_alltoall;
mod combine;
mod doubling_scan;
mod move_directly;
mod move_in_exchange;
mod neighbourhood;
mod on_board;
mod on_nic;
mod packed_shares;
mod reduce_by_doubling;
mod reduce_by_halving;
mod reduce_by_nodes;
mod reduce_in_exchange;
mod reduce_in_lanes;
mod reduce_scatter_in_lanes;
mod scan_by_shares;
mod scan_directly;
mod shares;
mod slab_by_slab;
mod tree;

pub use allgather_by_nodes::allgather_by_nodes;
pub use alltoall_by_nodes::alltoall_by_nodes;
pub use barrier::{Synchronization, barrier, barrier_by_dissemination, barrier_by_nodes, barrier_on_nic};
pub use binomial_broadcast::binomial_broadcast;
pub use binomial_gather::binomial_gather;
pub use binomial_scatter::binomial_scatter;
pub use broadcast_in_exchange::broadcast_in_exchange;
pub use bruck_allgather::bruck_allgather;
pub use bruck_alltoall::bruck_alltoall;
pub use combine::combine_in_exchange;
pub use doubling_scan::doubling_scan;
pub use move_directly::move_directly;
pub use move_in_exchange::move_in_exchange;
pub use neighbourhood::{AlongEdges, misfit, neighbour_exchange};
pub use on_board::{combine_on_board, move_on_board};
pub use on_nic::{broadcast_on_nic, reduce_on_nic, scatter_on_nic};
pub use packed_shares::combine_packed_shares;
pub use reduce_by_doubling::reduce_by_doubling;
pub use reduce_by_halving::reduce_by_halving;
pub use reduce_by_nodes::reduce_by_nodes;
pub use reduce_in_exchange::reduce_in_exchange;
pub use reduce_in_lanes::reduce_in_lanes;
pub use reduce_scatter_in_lanes::reduce_scatter_in_lanes;
pub use scan_by_shares::{scan_by_shares, scan_in_exchange};
pub use scan_directly::scan_directly;
pub use shares::{combine_shares, reduce_by_shares};
pub use slab_by_slab::Cut;
pub use tree::{from_last, reduce_along_tree, to_last};

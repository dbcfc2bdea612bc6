//! The calls about process topologies: grids and graphs over the ranks of a communicator (MPI-5.0, chapter
//! 8).
//!
//! A topology is cached with its communicator and goes with it when that is duplicated. Ranks are not
//! reordered: processes of one node are equally near to each other.

mod arguments;
pub mod cartesian;
pub mod dims;
pub mod distributed;
pub mod graph;

use crate::constants::*;
use crate::error::MpiResult;
use crate::object::topology::Topology;
use crate::process;
use std::ffi::c_int;

pub use dims::dims_create;

/// MPI_Topo_test.
///
/// # Errors
/// No such communicator.
pub fn test(comm: MPI_Comm) -> MpiResult<c_int> {
    Ok(process::enter()?.communicator(comm)?.topology.as_ref().map_or(MPI_UNDEFINED, Topology::kind))
}

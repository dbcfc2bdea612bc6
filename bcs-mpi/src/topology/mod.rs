//! The calls about process topologies: grids and graphs over the ranks of a communicator (MPI-5.0, chapter
//! 8).
//!
//! A topology is cached with its communicator and goes with it when that is duplicated. Ranks are not
//! reordered: processes of one node are equally near to each other.

pub mod cartesian;
pub mod dims;
pub mod distributed;
pub mod graph;

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::process;
use std::ffi::c_int;

pub use dims::dims_create;

/// MPI_Topo_test.
///
/// # Errors
/// No such communicator.
pub fn test(comm: MPI_Comm) -> MpiResult<c_int> {
    let process = process::enter()?;
    Ok(process.communicator(comm)?.topology.as_ref().map_or(MPI_UNDEFINED, |of| of.about().0))
}

/// Numbers as calls answer them.
pub fn ints<Number: Copy + Into<u32>>(values: &[Number]) -> Vec<c_int> {
    values.iter().map(|&value| value.into() as c_int).collect()
}

/// An array of results that is too short.
#[cold]
fn too_short(class: c_int, argument: &'static str, value: c_int, wanted: usize) -> MpiError {
    MpiError::argument(
        class,
        argument,
        value,
        format!("the topology has {wanted}, which the array has to hold"),
    )
}

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
use crate::object::Communicator;
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
pub fn ints(values: &[u32]) -> Vec<c_int> {
    values.iter().map(|&value| value as c_int).collect()
}

/// The rank of an argument in a communicator.
fn member(communicator: &Communicator, argument: &'static str, value: c_int) -> MpiResult<u32> {
    communicator.peer(argument, value)?.map(u32::from).ok_or_else(|| {
        let allowed = format!("{} has ranks 0..{}", communicator.title(), communicator.size - 1);
        MpiError::argument(MPI_ERR_RANK, argument, "MPI_PROC_NULL", allowed)
    })
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

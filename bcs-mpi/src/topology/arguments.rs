//! What the calls about all topologies check and answer alike.

use crate::constants::{MPI_ERR_RANK, MPI_PROC_NULL};
use crate::error::{MpiError, MpiResult};
use crate::object::Communicator;
use std::ffi::c_int;

/// A rank as calls answer it; MPI_PROC_NULL for none.
pub(super) fn named(rank: Option<u32>) -> c_int {
    rank.map_or(MPI_PROC_NULL, |rank| rank as c_int)
}

/// The rank of an argument in a communicator.
pub(super) fn member(communicator: &Communicator, argument: &'static str, value: c_int) -> MpiResult<u32> {
    communicator.peer(argument, value)?.ok_or_else(|| {
        let allowed = format!("{} has ranks 0..{}", communicator.title(), communicator.size - 1);
        MpiError::argument(MPI_ERR_RANK, argument, "MPI_PROC_NULL", allowed)
    })
}

/// An array of results that is too short.
#[cold]
pub(super) fn too_short(class: c_int, argument: &'static str, value: c_int, wanted: usize) -> MpiError {
    MpiError::argument(
        class,
        argument,
        value,
        format!("the topology has {wanted}, which the array has to hold"),
    )
}

//! What the calls about files check alike.

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::file::File;

/// Files that are accessed in sequence have the shared pointer alone (§14.2.1).
///
/// # Errors
/// This is such a file, and the call is about something else.
pub(super) fn sequential_only(file: &File, is_shared: bool) -> MpiResult {
    if is_shared || !file.has(MPI_MODE_SEQUENTIAL) {
        return Ok(());
    }
    let allowed = "it was opened with MPI_MODE_SEQUENTIAL: only the calls with a shared pointer access it";
    Err(file.out_of_order(MPI_ERR_UNSUPPORTED_OPERATION, allowed))
}

/// That a file may be written.
///
/// # Errors
/// It was opened for reading only.
pub(super) fn check_written(file: &File) -> MpiResult {
    if !file.has(MPI_MODE_RDONLY) {
        return Ok(());
    }
    let allowed = "it was opened with MPI_MODE_RDONLY, and so is not written";
    Err(file.out_of_order(MPI_ERR_READ_ONLY, allowed))
}

/// That no split access is under way.
///
/// # Errors
/// One is.
pub(super) fn check_no_split(file: &File) -> MpiResult {
    match &file.split {
        None => Ok(()),
        Some(split) => {
            let allowed = format!("{} has to end what is under way first", split.end());
            Err(file.out_of_order(MPI_ERR_IO, allowed))
        }
    }
}

/// An offset that leads too far.
#[cold]
pub(super) fn too_far(offset: MPI_Offset) -> MpiError {
    let allowed = "what is accessed there has to lie in the view, and below 2^63 bytes";
    MpiError::argument(MPI_ERR_ARG, "offset", offset, allowed)
}

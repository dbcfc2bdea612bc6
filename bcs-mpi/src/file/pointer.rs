//! The pointers of single members (MPI-5.0, §14.4.3), and positions in a view.

use super::check::{sequential_only, too_far};
use super::size::bytes_of;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::file::File;
use crate::process;
use std::ffi::c_int;

/// The position, in etypes, that a seek leads to.
///
/// # Errors
/// It lies before the view, or is no number; there is no such way to seek.
pub(super) fn resolve(file: &File, current: i64, offset: MPI_Offset, whence: c_int) -> MpiResult<i64> {
    let from = match whence {
        MPI_SEEK_SET => 0,
        MPI_SEEK_CUR => current,
        MPI_SEEK_END => file.view.end_of(bytes_of(file)?),
        _ => {
            let allowed = "it must be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END";
            return Err(MpiError::argument(MPI_ERR_ARG, "whence", whence, allowed));
        }
    };
    from.checked_add(offset).filter(|position| *position >= 0).ok_or_else(|| {
        let allowed = format!("counted from {from} it must lead to 0 or more");
        MpiError::argument(MPI_ERR_ARG, "offset", offset, allowed)
    })
}

/// MPI_File_seek.
///
/// # Errors
/// No such file, or a place that cannot be.
pub fn seek(file: MPI_File, offset: MPI_Offset, whence: c_int) -> MpiResult {
    let mut process = process::enter()?;
    let open = process.files.named(file)?;
    sequential_only(open, false)?;
    let position = resolve(open, open.position, offset, whence)?;
    process.files.named_mut(file)?.position = position;
    Ok(())
}

/// MPI_File_get_position.
///
/// # Errors
/// No such file, or it has no such pointer.
pub fn get_position(file: MPI_File) -> MpiResult<MPI_Offset> {
    let process = process::enter()?;
    let open = process.files.named(file)?;
    sequential_only(open, false)?;
    Ok(open.position)
}

/// MPI_File_get_byte_offset: where in the file the etype with this number of the view begins. Of all calls
/// about positions this one is also for files that are accessed in sequence (§14.4.3).
///
/// # Errors
/// No such file, or a place that cannot be.
pub fn byte_offset(file: MPI_File, offset: MPI_Offset) -> MpiResult<MPI_Offset> {
    let process = process::enter()?;
    let open = process.files.named(file)?;
    if offset < 0 {
        return Err(MpiError::argument(MPI_ERR_ARG, "offset", offset, "it must be 0 or more"));
    }
    open.view.offset_of(offset).map_err(|_| too_far(offset))
}

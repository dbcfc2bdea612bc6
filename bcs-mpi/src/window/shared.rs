//! MPI_Win_shared_query (MPI-5.0, §12.2.3): where this process finds the memory of another member.

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::window::{Part, Place};
use crate::process;
use std::ffi::{c_int, c_void};

/// A member's memory: its size, its unit, and its address in this process; of MPI_PROC_NULL the first one
/// that is not empty. Since MPI-4.1 also of windows of MPI_Win_allocate and MPI_Win_create: nothing, where it
/// is not mapped.
///
/// # Errors
/// No such window or member, or a dynamic window.
pub fn query(win: MPI_Win, rank: c_int) -> MpiResult<(MPI_Aint, i64, *mut c_void)> {
    let process = process::enter()?;
    let window = process.windows.named(win)?;
    if window.is_dynamic() {
        let allowed = "a dynamic window has no memory of its own";
        return Err(MpiError::argument(MPI_ERR_RMA_FLAVOR, "win", window.title(), allowed));
    }
    let of = |part: &Part| match part.place {
        Place::Mapped(base) => (part.size as MPI_Aint, part.disp_unit, base as *mut c_void),
        _ => (0, part.disp_unit, std::ptr::null_mut()),
    };
    if rank != MPI_PROC_NULL {
        return Ok(of(&window.parts[window.member("rank", rank)?.index()]));
    }
    let first = window.parts.iter().find(|part| part.size > 0);
    Ok(first.map_or((0, 1, std::ptr::null_mut()), of))
}

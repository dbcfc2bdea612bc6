//! Memory of dynamic windows (MPI-5.0, §12.2.4): attached, and detached.
//!
//! Others may access whatever they know the address of, so that nothing has to be told to them; what is
//! attached is noted to find what does not fit.

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::process;
use std::ffi::c_void;

fn wrong_flavor(title: String) -> MpiError {
    MpiError::argument(MPI_ERR_RMA_FLAVOR, "win", title, "it has to come from MPI_Win_create_dynamic")
}

/// MPI_Win_attach.
///
/// # Errors
/// No such window, or not a dynamic one; memory that overlaps what is attached, or is none.
pub fn attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) -> MpiResult {
    let mut process = process::enter()?;
    let window = process.windows.named_mut(win)?;
    if !window.is_dynamic() {
        return Err(wrong_flavor(window.title()));
    }
    if size < 0 {
        return Err(MpiError::argument(MPI_ERR_SIZE, "size", size, "it must be 0 or more"));
    }
    // Nothing is there, but MPI_Win_detach may name it.
    if size == 0 {
        window.attached.entry(base as usize).or_insert(0);
        return Ok(());
    }
    let (start, bytes) = (base as usize, size as usize);
    let Some(end) = start.checked_add(bytes).filter(|_| start != 0) else {
        let allowed = format!("it has to be the address of {size} bytes");
        let value = if base.is_null() { "NULL".to_owned() } else { format!("{base:p}") };
        return Err(MpiError::argument(MPI_ERR_BASE, "base", value, allowed));
    };
    let before = window.attached.range(..end).rfind(|(_, length)| **length != 0);
    if before.is_some_and(|(other, length)| other + length > start) {
        let allowed = "it must not overlap memory that is attached";
        return Err(MpiError::argument(MPI_ERR_RMA_ATTACH, "base", format!("{base:p}"), allowed));
    }
    window.attached.insert(start, bytes);
    Ok(())
}

/// MPI_Win_detach.
///
/// # Errors
/// No such window, or not a dynamic one; or memory that is not attached there.
pub fn detach(win: MPI_Win, base: *const c_void) -> MpiResult {
    let mut process = process::enter()?;
    let window = process.windows.named_mut(win)?;
    if !window.is_dynamic() {
        return Err(wrong_flavor(window.title()));
    }
    if window.attached.remove(&(base as usize)).is_none() {
        let allowed = "it has to be an address that MPI_Win_attach was given";
        return Err(MpiError::argument(MPI_ERR_BASE, "base", format!("{base:p}"), allowed));
    }
    Ok(())
}

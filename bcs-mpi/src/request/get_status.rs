//! Looking at requests that stay as they are (MPI-5.0, §3.7.6): MPI_Request_get_status and its forms for any, all and some of several.

use super::complete::Statuses;
use super::{Status, is_idle, keep, look_at};
use crate::constants::*;
use crate::error::MpiResult;
use crate::process::{self, Guard};
use std::ffi::c_int;

/// The status of a request that is complete, which stays as it is. The guard is let go while a generalized request's query function runs.
fn status_of(process: Guard, handle: MPI_Request) -> MpiResult<(Guard, Option<Status>)> {
    let mut process = process;
    let Some(finished) = look_at(&mut process, handle)? else { return Ok((process, None)) };
    if let Some(callbacks) = finished.generalized {
        drop(process);
        let (status, result) = callbacks.query();
        result?;
        return Ok((process::enter()?, Some(status)));
    }
    let status = finished.status;
    keep(&mut process, handle, finished);
    Ok((process, Some(status)))
}

/// MPI_Request_get_status: whether the request is complete; then its status is stored. A null request, and an inactive one, has the empty status.
///
/// # Safety
/// `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// No such request.
pub unsafe fn get_status(handle: MPI_Request, status: *mut MPI_Status) -> MpiResult<bool> {
    let mut process = process::enter()?;
    if is_idle(&mut process, handle) {
        // SAFETY: the caller's promise.
        unsafe { Status::store_empty(status) };
        return Ok(true);
    }
    let (mut process, mut found) = status_of(process, handle)?;
    if found.is_none() {
        process.port.progress()?;
        process.advance()?;
        found = status_of(process, handle)?.1;
    }
    let Some(found) = found else { return Ok(false) };
    // SAFETY: the caller's promise.
    unsafe { found.store(status) };
    Ok(true)
}

/// MPI_Request_get_status_any: whether one is complete, its index, and its status stored. With none that has anything under way there is the
/// empty status, but no index.
///
/// # Safety
/// `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// No such requests.
pub unsafe fn get_status_any(
    requests: &[MPI_Request],
    status: *mut MPI_Status,
) -> MpiResult<Option<Option<usize>>> {
    let mut process = process::enter()?;
    if requests.iter().all(|request| is_idle(&mut process, *request)) {
        // SAFETY: the caller's promise.
        unsafe { Status::store_empty(status) };
        return Ok(Some(None));
    }
    process.port.progress()?;
    process.advance()?;
    for (i, &request) in requests.iter().enumerate() {
        if is_idle(&mut process, request) {
            continue;
        }
        let (after, found) = status_of(process, request)?;
        process = after;
        if let Some(found) = found {
            // SAFETY: the caller's promise.
            unsafe { found.store(status) };
            return Ok(Some(Some(i)));
        }
    }
    Ok(None)
}

/// MPI_Request_get_status_all: whether all are complete; then their statuses are stored.
///
/// # Errors
/// No such requests.
pub fn get_status_all(requests: &[MPI_Request], statuses: Statuses) -> MpiResult<bool> {
    let mut process = process::enter()?;
    process.port.progress()?;
    process.advance()?;
    for &request in requests {
        if request != MPI_REQUEST_NULL && !super::is_complete(&mut process, request)? {
            return Ok(false);
        }
    }
    for (i, &request) in requests.iter().enumerate() {
        if is_idle(&mut process, request) {
            statuses.set_empty(i);
            continue;
        }
        let (after, found) = status_of(process, request)?;
        process = after;
        statuses.set(i, &found.unwrap_or(Status::EMPTY));
    }
    Ok(true)
}

/// MPI_Request_get_status_some: how many are complete, perhaps 0, their indices and statuses stored; none when nothing is under way.
///
/// # Errors
/// No such requests.
pub fn get_status_some(
    requests: &[MPI_Request],
    indices: &mut [c_int],
    statuses: Statuses,
) -> MpiResult<Option<usize>> {
    let mut process = process::enter()?;
    if requests.iter().all(|request| is_idle(&mut process, *request)) {
        return Ok(None);
    }
    process.port.progress()?;
    process.advance()?;
    let mut found = 0;
    for (i, &request) in requests.iter().enumerate() {
        if is_idle(&mut process, request) {
            continue;
        }
        let (after, status) = status_of(process, request)?;
        process = after;
        if let Some(status) = status {
            indices[found] = i as c_int;
            statuses.set(found, &status);
            found += 1;
        }
    }
    Ok(Some(found))
}

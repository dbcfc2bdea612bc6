//! Looking at requests that stay as they are (MPI-5.0, §3.7.6): MPI_Request_get_status and its forms for any,
//! all and some of several.

use super::complete::are_complete;
use super::{is_idle, keep, look_at};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::request::{Status, Statuses};
use crate::process::{self, Guard};
use std::ffi::c_int;

/// The status of a request that is complete, which stays as it is. The lock is let go while a generalized
/// request's query function runs.
fn status_of(process: &mut Guard, handle: MPI_Request) -> MpiResult<Option<Status>> {
    let Some(finished) = look_at(process, handle)? else { return Ok(None) };
    if let Some(callbacks) = finished.generalized {
        let (status, result) = process.without_lock(|| callbacks.query());
        return result.map(|()| Some(status));
    }
    let status = finished.status;
    keep(process, handle, finished);
    Ok(Some(status))
}

/// MPI_Request_get_status: whether the request is complete; then its status is stored. A null request, and an
/// inactive one, has the empty status.
///
/// # Errors
/// No such request.
pub fn get_status(handle: MPI_Request, status: Statuses) -> MpiResult<bool> {
    let mut process = process::enter()?;
    if is_idle(&mut process, handle) {
        status.set_empty(0);
        return Ok(true);
    }
    let found = process.look_twice(|process| status_of(process, handle))?;
    if let Some(found) = &found {
        status.set(0, found);
    }
    Ok(found.is_some())
}

/// MPI_Request_get_status_any: whether one is complete, its index, and its status stored. With none that has
/// anything under way there is the empty status, but no index.
///
/// # Errors
/// No such requests.
pub fn get_status_any(requests: &[MPI_Request], status: Statuses) -> MpiResult<Option<Option<usize>>> {
    let mut index = 0;
    match get_status_some(requests, std::slice::from_mut(&mut index), status)? {
        None => {
            status.set_empty(0);
            Ok(Some(None))
        }
        Some(0) => Ok(None),
        Some(_) => Ok(Some(Some(index as usize))),
    }
}

/// MPI_Request_get_status_all: whether all are complete; then their statuses are stored.
///
/// # Errors
/// No such requests.
pub fn get_status_all(requests: &[MPI_Request], statuses: Statuses) -> MpiResult<bool> {
    let mut process = process::enter()?;
    process.make_progress()?;
    if !are_complete(&mut process, requests)? {
        return Ok(false);
    }
    for (i, &request) in requests.iter().enumerate() {
        if is_idle(&mut process, request) {
            statuses.set_empty(i);
        } else {
            statuses.set(i, &status_of(&mut process, request)?.unwrap_or(Status::EMPTY));
        }
    }
    Ok(true)
}

/// MPI_Request_get_status_some: how many are complete, perhaps 0, their indices and statuses stored; none
/// when nothing is under way. It looks for as many as there is room for indices.
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
    process.make_progress()?;
    let mut found = 0;
    for (i, &request) in requests.iter().enumerate() {
        if !is_idle(&mut process, request)
            && let Some(status) = status_of(&mut process, request)?
        {
            indices[found] = i as c_int;
            statuses.set(found, &status);
            found += 1;
            if found == indices.len() {
                break;
            }
        }
    }
    Ok(Some(found))
}

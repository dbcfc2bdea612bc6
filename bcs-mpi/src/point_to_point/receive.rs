//! Receives, blocking and not (MPI-5.0, §3.2.4, §3.7.2).

use super::envelope;
use super::send::complete;
use crate::api::{Mode, Received, bcs_recv};
use crate::constants::*;
use crate::datatype::Incoming;
use crate::datatype::buffer::{NAMES, Names};
use crate::error::MpiResult;
use crate::process;
use crate::request::{Finished, State, Status};
use mds::Primitive;
use std::ffi::{c_int, c_void};

/// MPI_Recv.
///
/// # Safety
/// `buf` must be writable for `count` elements, unless it is null; `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// Wrong arguments, or a message that was longer than the buffer.
#[inline(always)]
pub unsafe fn recv(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> MpiResult {
    let mut process = process::enter()?;
    // SAFETY: the caller's promise.
    let buffer =
        unsafe { Incoming::new(&process.datatypes, const { &NAMES as &Names }, buf, count, datatype)? };
    let Some((envelope, peer)) = envelope(process.communicator(comm)?, source, "tag", tag)? else {
        // SAFETY: the caller's promise.
        unsafe { Status::PROC_NULL.store(status) };
        return Ok(());
    };
    // SAFETY: the buffer is writable until the receive is complete, which it is when the call returns.
    let received = unsafe {
        bcs_recv(
            &mut process,
            Primitive::Recv,
            &envelope,
            (peer, comm),
            buffer.data,
            buffer.bytes,
            Mode::Blocking,
        )?
    };
    let Received::Complete(outcome) = received else { return Ok(()) };
    let finished = Finished::received(&outcome, buffer.bytes as u64);
    if let Some(staged) = &buffer.staged {
        // SAFETY: the program's buffer is writable until the call returns.
        unsafe { staged.unpack(finished.status.bytes as usize) };
    }
    // SAFETY: the caller's promise.
    unsafe { finished.status.store(status) };
    finished.error.map_or(Ok(()), Err)
}

/// MPI_Irecv.
///
/// # Safety
/// `buf` must be writable for `count` elements, unless it is null, and used by nobody else, until the request is complete.
///
/// # Errors
/// Wrong arguments.
#[inline(always)]
pub unsafe fn irecv(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    // SAFETY: the caller's promise.
    let buffer =
        unsafe { Incoming::new(&process.datatypes, const { &NAMES as &Names }, buf, count, datatype)? };
    let Some((envelope, peer_in_job)) = envelope(process.communicator(comm)?, source, "tag", tag)? else {
        return Ok(complete(&mut process, comm, Status::PROC_NULL));
    };
    // SAFETY: the program leaves its buffer alone until the request is complete, and the request keeps a staged one.
    let received = unsafe {
        bcs_recv(
            &mut process,
            Primitive::Irecv,
            &envelope,
            (peer_in_job, comm),
            buffer.data,
            buffer.bytes,
            Mode::NonBlocking,
        )?
    };
    let Received::Request(request) = received else { return Ok(MPI_REQUEST_NULL) };
    Ok(match buffer.staged {
        None => process.plain_request(request.0),
        Some(staged) => process.requests.insert(State::Receive(request.0, Some(staged)), comm),
    })
}

//! Receives, blocking and not (MPI-5.0, §3.2.4, §3.7.2).

use super::envelope;
use super::send::complete;
use crate::api::{Mode, Received, bcs_recv};
use crate::constants::*;
use crate::datatype::Incoming;
use crate::datatype::buffer::{NAMES, Names, Staged};
use crate::error::MpiResult;
use crate::process::{self, Guard, Process};
use crate::request::{Finished, State, Status};
use mds::Primitive;
use nic_emu::matching::Envelope;
use nic_emu::port::Outcome;
use std::ffi::{c_int, c_void};

/// A receive, its arguments checked: where its message goes; what it matches, and the source's rank in the job, or none for MPI_PROC_NULL.
///
/// # Safety
/// `buf` must be writable for `count` elements, unless it is null, and used by nobody else, until the receive is complete.
///
/// # Errors
/// Wrong arguments.
#[inline(always)]
pub(super) unsafe fn check(
    process: &Process,
    (buf, count, datatype): (*mut c_void, i64, MPI_Datatype),
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> MpiResult<(Incoming, Option<(Envelope, u32)>)> {
    // SAFETY: the caller's promise.
    let buffer =
        unsafe { Incoming::new(&process.datatypes, const { &NAMES as &Names }, buf, count, datatype)? };
    Ok((buffer, envelope(process.communicator(comm)?, source, "tag", tag)?))
}

/// The end of a blocking receive: the message where the program wants it, its status stored, and its error.
///
/// # Safety
/// The program's buffer must still be writable; `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// The message was longer than the buffer.
#[inline(always)]
pub(super) unsafe fn conclude(outcome: &Outcome, buffer: &Incoming, status: *mut MPI_Status) -> MpiResult {
    let finished = Finished::received(outcome, buffer.bytes as u64);
    if let Some(staged) = &buffer.staged {
        // SAFETY: the caller's promise.
        unsafe { staged.unpack(finished.status.bytes as usize) };
    }
    // SAFETY: the caller's promise.
    unsafe { finished.status.store(status) };
    finished.error.map_or(Ok(()), Err)
}

/// The handle of a non-blocking receive that was started; a staged message is kept with it.
#[inline(always)]
pub(super) fn request_of(
    process: &mut Guard,
    received: Received,
    staged: Option<Box<Staged>>,
    comm: MPI_Comm,
) -> MPI_Request {
    let Received::Request(request) = received else { return MPI_REQUEST_NULL };
    match staged {
        None => process.plain_request(request.0),
        Some(staged) => process.requests.insert(State::Receive(request.0, Some(staged)), comm),
    }
}

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
    let (buffer, from) = unsafe { check(&process, (buf, count, datatype), source, tag, comm)? };
    let Some((envelope, peer)) = from else {
        // SAFETY: the caller's promise.
        unsafe { Status::PROC_NULL.store(status) };
        return Ok(());
    };
    let (call, peer, mode) = (Primitive::Recv, (peer, comm), Mode::Blocking);
    // SAFETY: the buffer is writable until the receive is complete, which it is when the call returns.
    let received = unsafe { bcs_recv(&mut process, call, &envelope, peer, buffer.data, buffer.bytes, mode)? };
    let Received::Complete(outcome) = received else { return Ok(()) };
    // SAFETY: the caller's promise.
    unsafe { conclude(&outcome, &buffer, status) }
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
    let (buffer, from) = unsafe { check(&process, (buf, count, datatype), source, tag, comm)? };
    let Some((envelope, peer)) = from else {
        return Ok(complete(&mut process, comm, Status::PROC_NULL));
    };
    let (call, peer, mode) = (Primitive::Irecv, (peer, comm), Mode::NonBlocking);
    // SAFETY: the program leaves its buffer alone until the request is complete, and the request keeps a staged one.
    let received = unsafe { bcs_recv(&mut process, call, &envelope, peer, buffer.data, buffer.bytes, mode)? };
    Ok(request_of(&mut process, received, buffer.staged, comm))
}

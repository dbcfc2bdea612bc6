//! Receives, blocking and not (MPI-5.0, §3.2.4, §3.7.2).

use super::send::complete;
use super::{Peer, Room, Source, envelope, for_nobody};
use crate::api::{Mode, Received, bcs_recv};
use crate::constants::*;
use crate::datatype::Incoming;
use crate::datatype::buffer::{NAMES, Names, Staged};
use crate::error::MpiResult;
use crate::process::{self, Guard, Process};
use crate::request::{Finished, State, Status};
use mds::Primitive;
use nic_emu::port::Outcome;
use std::ffi::{c_int, c_void};

/// A receive, its arguments checked: where its message goes; what it tells of its type; what it matches, and the source's rank in the job, or none for MPI_PROC_NULL.
///
/// # Safety
/// `buf` must be writable for `count` elements, unless it is null, and used by nobody else, until the receive is complete.
///
/// # Errors
/// Wrong arguments.
#[inline(always)]
pub(super) unsafe fn check<const COMPARED: bool>(
    process: &Process,
    (buf, count, datatype): Room,
    (source, tag, comm): Peer,
) -> MpiResult<(Incoming, u16, Option<Source>)> {
    // SAFETY: the caller's promise.
    let buffer =
        unsafe { Incoming::new(&process.datatypes, const { &NAMES as &Names }, buf, count, datatype) }
            .or_else(|error| for_nobody(error, (count, datatype), source).map(|()| Incoming::NOTHING))?;
    let told = process.datatypes.told::<COMPARED>(count, datatype);
    Ok((buffer, told, envelope(process.communicator(comm)?, source, "tag", tag)?))
}

/// The end of a blocking receive: the message where the program wants it, its status stored, and its error.
///
/// # Safety
/// The program's buffer must still be writable; `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// The message was longer than the buffer, or of another type where that is compared.
#[inline(always)]
pub(super) unsafe fn conclude(
    process: &Process,
    comm: MPI_Comm,
    outcome: &Outcome,
    (buffer, told): (&Incoming, u16),
    status: *mut MPI_Status,
) -> MpiResult {
    let finished = Finished::received(&process.communicators, comm, outcome, (buffer.bytes as u64, told));
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
    unsafe {
        match process.datatypes.are_compared() {
            true => recv_compared(&mut process, (buf, count, datatype), (source, tag, comm), status),
            false => recv_in::<false>(&mut process, (buf, count, datatype), (source, tag, comm), status),
        }
    }
}

/// [`recv`] where types are compared.
#[cold]
#[inline(never)]
unsafe fn recv_compared(process: &mut Guard, buffer: Room, from: Peer, status: *mut MPI_Status) -> MpiResult {
    // SAFETY: the caller's promise.
    unsafe { recv_in::<true>(process, buffer, from, status) }
}

#[inline(always)]
unsafe fn recv_in<const COMPARED: bool>(
    process: &mut Guard,
    buffer: Room,
    (source, tag, comm): Peer,
    status: *mut MPI_Status,
) -> MpiResult {
    // SAFETY: the caller's promise.
    let (buffer, told, from) = unsafe { check::<COMPARED>(process, buffer, (source, tag, comm))? };
    let Some((envelope, peer)) = from else {
        // SAFETY: the caller's promise.
        unsafe { Status::PROC_NULL.store(status) };
        return Ok(());
    };
    let (call, peer, mode) = (Primitive::Recv, (peer, comm), Mode::Blocking);
    // SAFETY: the buffer is writable until the receive is complete, which it is when the call returns.
    let received = unsafe { bcs_recv(process, call, &envelope, peer, buffer.place(told), mode)? };
    let Received::Complete(outcome) = received else { return Ok(()) };
    // SAFETY: the caller's promise.
    unsafe { conclude(process, comm, &outcome, (&buffer, told), status) }
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
    unsafe {
        match process.datatypes.are_compared() {
            true => irecv_compared(&mut process, (buf, count, datatype), (source, tag, comm)),
            false => irecv_in::<false>(&mut process, (buf, count, datatype), (source, tag, comm)),
        }
    }
}

/// [`irecv`] where types are compared.
#[cold]
#[inline(never)]
unsafe fn irecv_compared(process: &mut Guard, buffer: Room, from: Peer) -> MpiResult<MPI_Request> {
    // SAFETY: the caller's promise.
    unsafe { irecv_in::<true>(process, buffer, from) }
}

#[inline(always)]
unsafe fn irecv_in<const COMPARED: bool>(
    process: &mut Guard,
    buffer: Room,
    (source, tag, comm): Peer,
) -> MpiResult<MPI_Request> {
    // SAFETY: the caller's promise.
    let (buffer, told, from) = unsafe { check::<COMPARED>(process, buffer, (source, tag, comm))? };
    let Some((envelope, peer)) = from else {
        return Ok(complete(process, comm, Status::PROC_NULL));
    };
    let (call, peer, mode) = (Primitive::Irecv, (peer, comm), Mode::NonBlocking);
    // SAFETY: the program leaves its buffer alone until the request is complete, and the request keeps a staged one.
    let received = unsafe { bcs_recv(process, call, &envelope, peer, buffer.place(told), mode)? };
    Ok(request_of(process, received, buffer.staged, comm))
}

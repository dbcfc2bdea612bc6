//! Receives, blocking and not (MPI-5.0, §3.2.4, §3.7.2).

use super::envelope::{Peer, Room, Source, envelope, for_nobody};
use crate::api::{Mode, Received, bcs_recv};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::Incoming;
use crate::object::datatype::buffer::{NAMES, Names};
use crate::object::request::{Finished, State, Status, Statuses};
use crate::process::{self, Guard, Process};
use mds::Primitive;
use nic_emu::port::Outcome;
use std::ffi::{c_int, c_void};

/// A receive, its arguments checked: where its message goes; what it tells of its type; what it matches, and
/// the source's rank in the job, or none for MPI_PROC_NULL.
///
/// # Safety
/// `buf` must be writable for `count` elements, unless it is null, and used by nobody else, until the receive
/// is complete.
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
/// The program's buffer must still be writable.
///
/// # Errors
/// The message was longer than the buffer, or of another type where that is compared.
#[inline(always)]
pub(super) unsafe fn conclude(
    process: &Process,
    comm: MPI_Comm,
    outcome: &Outcome,
    (buffer, told): (&Incoming, u16),
    status: Statuses,
) -> MpiResult {
    let finished = Finished::received(&process.communicators, comm, outcome, (buffer.bytes as u64, told));
    if let Some(staged) = &buffer.staged {
        // SAFETY: the caller's promise.
        unsafe { staged.unpack(finished.status.bytes as usize) };
    }
    status.set(0, &finished.status);
    finished.error.map_or(Ok(()), |error| Err(error.of(comm)))
}

/// Receives, or starts to: a blocking receive stores its status, and its request is null.
///
/// # Safety
/// The program's buffer must be writable, and used by nobody else, until the receive is complete.
///
/// # Errors
/// As [`conclude`], and what the NIC fails with.
#[inline(always)]
pub(super) unsafe fn receive(
    process: &mut Guard,
    (call, mode): (Primitive, Mode),
    from: Option<Source>,
    comm: MPI_Comm,
    (buffer, told): (Incoming, u16),
    status: Statuses,
) -> MpiResult<MPI_Request> {
    let Some((envelope, peer)) = from else {
        if mode == Mode::NonBlocking {
            let nobody = State::Complete(Finished::well(Status::PROC_NULL));
            return Ok(process.requests.insert(nobody, comm));
        }
        status.set(0, &Status::PROC_NULL);
        return Ok(MPI_REQUEST_NULL);
    };
    // SAFETY: the caller's promise, and the request keeps a staged buffer.
    match unsafe { bcs_recv(process, call, &envelope, (peer, comm), buffer.place(told), mode)? } {
        Received::Complete(outcome) => {
            // SAFETY: the caller's promise.
            unsafe { conclude(process, comm, &outcome, (&buffer, told), status)? };
            Ok(MPI_REQUEST_NULL)
        }
        Received::Request(nic) => Ok(match buffer.staged {
            None => process.plain_request(nic),
            staged => process.requests.insert(State::Receive(nic, staged), comm),
        }),
    }
}

/// MPI_Recv, whose request is null; MPI_Irecv, which stores no status.
///
/// # Safety
/// `buf` must be writable for `count` elements, unless it is null, and used by nobody else, until the request
/// is complete.
///
/// # Errors
/// Wrong arguments, or a message that was longer than the buffer.
#[inline(always)]
pub unsafe fn recv(
    mode: Mode,
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: Statuses,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let (buffer, from) = ((buf, count, datatype), (source, tag, comm));
    // SAFETY: the caller's promise.
    unsafe {
        match process.datatypes.are_compared() {
            true => recv_compared(&mut process, mode, buffer, from, status),
            false => recv_in::<false>(&mut process, mode, buffer, from, status),
        }
    }
}

/// [`recv`] where types are compared.
#[cold]
#[inline(never)]
unsafe fn recv_compared(
    process: &mut Guard,
    mode: Mode,
    buffer: Room,
    from: Peer,
    status: Statuses,
) -> MpiResult<MPI_Request> {
    // SAFETY: the caller's promise.
    unsafe { recv_in::<true>(process, mode, buffer, from, status) }
}

#[inline(always)]
unsafe fn recv_in<const COMPARED: bool>(
    process: &mut Guard,
    mode: Mode,
    buffer: Room,
    (source, tag, comm): Peer,
    status: Statuses,
) -> MpiResult<MPI_Request> {
    let call = if mode == Mode::Blocking { Primitive::Recv } else { Primitive::Irecv };
    // SAFETY: the caller's promise.
    unsafe {
        let (buffer, told, from) = check::<COMPARED>(process, buffer, (source, tag, comm))?;
        receive(process, (call, mode), from, comm, (buffer, told), status)
    }
}

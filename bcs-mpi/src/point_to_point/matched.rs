//! Matched probes and receives (MPI-5.0, §3.8.2, §3.8.3): a message is taken from all other receives when it is found.
//!
//! The NIC gives a found message a context of its own, so that its receive is an ordinary one in that context.

use super::envelope;
use super::receive::{conclude, request_of};
use super::send::complete;
use crate::api::{Mode, Received, bcs_recv, waiting_for_message};
use crate::constants::*;
use crate::datatype::Incoming;
use crate::datatype::buffer::NAMES;
use crate::error::{MpiError, MpiResult};
use crate::handle::{Kind, Stale};
use crate::process::{self, Guard, Process};
use crate::request::Status;
use mds::Primitive;
use nic_emu::matching::Envelope;
use std::ffi::{c_int, c_void};

/// A message that a probe has matched and no receive has taken.
#[derive(Clone, Copy, Debug)]
pub struct Matched {
    envelope: Envelope,
    /// The sender's rank in the job.
    peer_in_job: u32,
    comm: MPI_Comm,
}

/// MPI_Mprobe.
///
/// # Errors
/// Wrong arguments.
pub fn mprobe(source: c_int, tag: c_int, comm: MPI_Comm) -> MpiResult<(MPI_Message, Status)> {
    let mut process = process::enter()?;
    let Some((envelope, peer_in_job)) = envelope(process.communicator(comm)?, source, "tag", tag)? else {
        return Ok((MPI_MESSAGE_NO_PROC, Status::PROC_NULL));
    };
    let what = waiting_for_message(Primitive::Mprobe, &envelope, peer_in_job);
    process.wait(&what, |process| take(process, &envelope, comm))
}

/// MPI_Improbe.
///
/// # Errors
/// Wrong arguments.
pub fn improbe(source: c_int, tag: c_int, comm: MPI_Comm) -> MpiResult<Option<(MPI_Message, Status)>> {
    let mut process = process::enter()?;
    match envelope(process.communicator(comm)?, source, "tag", tag)? {
        None => Ok(Some((MPI_MESSAGE_NO_PROC, Status::PROC_NULL))),
        Some((envelope, _)) => take(&mut process, &envelope, comm),
    }
}

/// Takes the oldest message that the envelope takes, if there is one.
fn take(
    process: &mut Process,
    envelope: &Envelope,
    comm: MPI_Comm,
) -> MpiResult<Option<(MPI_Message, Status)>> {
    let Some((outcome, context)) = process.port.probe_matched(envelope)? else { return Ok(None) };
    let peer_in_job = process.communicator(comm)?.job_rank(outcome.source);
    let envelope = Envelope { context, source: outcome.source, tag: outcome.tag };
    let message = process.requests.messages.insert(Matched { envelope, peer_in_job, comm });
    Ok(Some((MPI_Message(message), Status::received(&outcome, u64::MAX))))
}

/// The message of a handle; none for MPI_MESSAGE_NO_PROC.
fn message(process: &Process, handle: MPI_Message) -> MpiResult<Option<Matched>> {
    if handle == MPI_MESSAGE_NO_PROC {
        return Ok(None);
    }
    let why = match process.requests.messages.get(handle.0) {
        Ok(message) => return Ok(Some(*message)),
        Err(_) if handle == MPI_MESSAGE_NULL => Stale::Null,
        Err(why) => why,
    };
    Err(MpiError::handle("message", handle.0, Kind::Message, why))
}

/// The receive of a matched message, its arguments checked: where it goes, what it tells of its type, and the message, or none of MPI_MESSAGE_NO_PROC. The handle is gone.
///
/// # Safety
/// `buf` must be writable for `count` elements, unless it is null, and used by nobody else, until the receive is complete.
unsafe fn check(
    process: &mut Guard,
    (buf, count, datatype): (*mut c_void, i64, MPI_Datatype),
    handle: &mut MPI_Message,
) -> MpiResult<(Incoming, u16, Option<Matched>)> {
    let matched = message(process, *handle)?;
    let of = |error: MpiError| match &matched {
        Some(matched) => error.of(matched.comm),
        None => error,
    };
    // SAFETY: the caller's promise.
    let buffer = unsafe { Incoming::new(&process.datatypes, &NAMES, buf, count, datatype) }.map_err(of)?;
    // It is there, or MPI_MESSAGE_NO_PROC, which names none.
    let _ = process.requests.messages.remove(handle.0);
    *handle = MPI_MESSAGE_NULL;
    Ok((buffer, process.datatypes.told::<true>(count, datatype), matched))
}

/// MPI_Mrecv.
///
/// # Safety
/// `buf` must be writable for `count` elements, unless it is null; `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// Wrong arguments, or a message that was longer than the buffer.
pub unsafe fn mrecv(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    handle: &mut MPI_Message,
    status: *mut MPI_Status,
) -> MpiResult {
    let mut process = process::enter()?;
    // SAFETY: the caller's promise.
    let (buffer, told, matched) = unsafe { check(&mut process, (buf, count, datatype), handle)? };
    let Some(Matched { envelope, peer_in_job, comm }) = matched else {
        // SAFETY: the caller's promise.
        unsafe { Status::PROC_NULL.store(status) };
        return Ok(());
    };
    let (call, peer, mode) = (Primitive::Mrecv, (peer_in_job, comm), Mode::Blocking);
    // SAFETY: the buffer is writable until the receive is complete, which it is when the call returns.
    let received = unsafe { bcs_recv(&mut process, call, &envelope, peer, buffer.place(told), mode)? };
    let Received::Complete(outcome) = received else { return Ok(()) };
    // SAFETY: the caller's promise.
    unsafe { conclude(&process, comm, &outcome, (&buffer, told), status) }.map_err(|error| error.of(comm))
}

/// MPI_Imrecv.
///
/// # Safety
/// `buf` must be writable for `count` elements, unless it is null, and used by nobody else, until the request is complete.
///
/// # Errors
/// Wrong arguments.
pub unsafe fn imrecv(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    handle: &mut MPI_Message,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    // SAFETY: the caller's promise.
    let (buffer, told, matched) = unsafe { check(&mut process, (buf, count, datatype), handle)? };
    let Some(Matched { envelope, peer_in_job, comm }) = matched else {
        return Ok(complete(&mut process, MPI_COMM_SELF, Status::PROC_NULL));
    };
    let (call, peer, mode) = (Primitive::Imrecv, (peer_in_job, comm), Mode::NonBlocking);
    // SAFETY: the program leaves its buffer alone until the request is complete, and the request keeps a staged one.
    let received = unsafe { bcs_recv(&mut process, call, &envelope, peer, buffer.place(told), mode)? };
    Ok(request_of(&mut process, received, buffer.staged, comm))
}

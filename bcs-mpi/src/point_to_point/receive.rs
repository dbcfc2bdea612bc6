//! Receives, blocking and not (MPI-5.0, §3.2.4, §3.7.2).

use super::envelope::{Peer, Source, envelope};
use super::seldom;
use crate::api::{Mode, Received, bcs_recv};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::Incoming;
use crate::object::datatype::buffer::{Elements, NAMES, Names};
use crate::object::request::{Finished, State, Status, Statuses};
use crate::process::{self, Guard, Process};
use mds::Primitive;
use nic_emu::port::Outcome;
use std::ffi::c_void;

/// A receive, its arguments checked: where its message goes; what it tells of its type; what it matches, and
/// the source's rank in the job, or none for MPI_PROC_NULL.
///
/// # Errors
/// Wrong arguments.
#[inline(always)]
pub(super) fn check<const COMPARED: bool>(
    process: &Process,
    buffer: Elements<*mut c_void>,
    (source, tag, comm): Peer,
    (names, tag_name): (&Names, &'static str),
) -> MpiResult<(Incoming, u16, Option<Source>)> {
    let room = buffer.incoming(&process.datatypes, names, source)?;
    let told = process.datatypes.told::<COMPARED>(buffer.count, buffer.datatype);
    Ok((room, told, envelope(process.communicator(comm)?, source, tag_name, tag)?))
}

/// The end of a blocking receive: the message where the program wants it, its status stored, and its error.
///
/// # Errors
/// The message was longer than the buffer, or of another type where that is compared.
#[inline(always)]
pub(super) fn conclude(
    process: &Process,
    comm: MPI_Comm,
    outcome: &Outcome,
    (buffer, told): (&Incoming, u16),
    status: Statuses,
) -> MpiResult {
    let finished = Finished::received(&process.communicators, comm, outcome, (buffer.bytes as u64, told));
    if let Some(staged) = &buffer.staged {
        // SAFETY: the promise of `Elements::new`.
        unsafe { staged.unpack(finished.status.bytes as usize) };
    }
    finished.status.note(comm);
    status.set(0, &finished.status);
    finished.error.map_or(Ok(()), |error| Err(error.of(comm)))
}

/// Receives, or starts to: a blocking receive stores its status, and its request is null.
///
/// # Errors
/// As [`conclude`], and what the NIC fails with.
#[inline(always)]
pub(super) fn receive(
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
    // SAFETY: the promise of `Elements::new`, and the request keeps a staged buffer.
    match unsafe { bcs_recv(process, call, &envelope, (peer, comm), buffer.place(told), mode)? } {
        Received::Complete(outcome) => {
            conclude(process, comm, &outcome, (&buffer, told), status)?;
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
/// # Errors
/// Wrong arguments, or a message that was longer than the buffer.
#[inline(always)]
pub fn recv(
    mode: Mode,
    buffer: Elements<*mut c_void>,
    from: Peer,
    status: Statuses,
) -> MpiResult<MPI_Request> {
    let process = &mut process::enter()?;
    match process.datatypes.are_compared() {
        true => seldom(move || recv_in::<true>(process, mode, buffer, from, status)),
        false => recv_in::<false>(process, mode, buffer, from, status),
    }
}

#[inline(always)]
fn recv_in<const COMPARED: bool>(
    process: &mut Guard,
    mode: Mode,
    buffer: Elements<*mut c_void>,
    from: Peer,
    status: Statuses,
) -> MpiResult<MPI_Request> {
    let call = if mode == Mode::Blocking { Primitive::Recv } else { Primitive::Irecv };
    let (_, _, comm) = from;
    let (buffer, told, from) = check::<COMPARED>(process, buffer, from, const { (&NAMES as &Names, "tag") })?;
    receive(process, (call, mode), from, comm, (buffer, told), status)
}

//! Matched probes and receives (MPI-5.0, §3.8.2, §3.8.3): a message is taken from all other receives when it
//! is found.
//!
//! The NIC gives a found message a context of its own, so that its receive is an ordinary one in that
//! context.

use super::envelope::envelope;
use super::receive::receive;
use crate::api::{Mode, waiting_for_message};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::buffer::{Elements, NAMES};
use crate::object::request::{Matched, Status, Statuses};
use crate::process::{self, Process};
use mds::Primitive;
use nic_emu::matching::Envelope;
use std::ffi::{c_int, c_void};

/// MPI_Mprobe, which waits for a message, and MPI_Improbe.
///
/// # Errors
/// Wrong arguments.
pub fn mprobe(
    mode: Mode,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> MpiResult<Option<(MPI_Message, Status)>> {
    let mut process = process::enter()?;
    let Some((envelope, peer_in_job)) = envelope(process.communicator(comm)?, source, "tag", tag)? else {
        return Ok(Some((MPI_MESSAGE_NO_PROC, Status::PROC_NULL)));
    };
    if mode == Mode::NonBlocking {
        let taken = take(&mut process, &envelope, comm)?;
        process.note_look(taken.is_some());
        return Ok(taken);
    }
    let what = waiting_for_message(Primitive::Mprobe, &envelope, peer_in_job);
    process.wait(&what, |process| take(process, &envelope, comm)).map(Some)
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
    process.requests.messages.named("message", handle.0).copied().map(Some)
}

/// MPI_Mrecv, whose request is null; MPI_Imrecv, which stores no status. Once the arguments are found right,
/// the handle is gone.
///
/// # Errors
/// Wrong arguments, or a message that was longer than the buffer.
pub fn mrecv(
    mode: Mode,
    buffer: Elements<*mut c_void>,
    handle: &mut MPI_Message,
    status: Statuses,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let matched = message(&process, *handle)?;
    let of = |error: MpiError| match &matched {
        Some(matched) => error.of(matched.comm),
        None => error,
    };
    let room = buffer.incoming(&process.datatypes, &NAMES, MPI_ANY_SOURCE).map_err(of)?;
    // It is there, or MPI_MESSAGE_NO_PROC, which names none.
    let _ = process.requests.messages.remove(handle.0);
    *handle = MPI_MESSAGE_NULL;
    let told = process.datatypes.told::<true>(buffer.count, buffer.datatype);
    let comm = matched.map_or(MPI_COMM_SELF, |matched| matched.comm);
    let from = matched.map(|matched| (matched.envelope, matched.peer_in_job));
    let call = if mode == Mode::Blocking { Primitive::Mrecv } else { Primitive::Imrecv };
    receive(&mut process, (call, mode), from, comm, (room, told), status)
}

//! Sends: standard, buffered, synchronous and ready, blocking and not (MPI-5.0, §3.4, §3.7.2).
//!
//! A ready send is a standard one. Small messages are buffered by the NIC, so they are complete when they are
//! posted.

use super::envelope::{Peer, send_tag};
use super::seldom;
use crate::api::{Mode, bcs_send, bcs_send_filled};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::Outgoing;
use crate::object::datatype::buffer::{Elements, NAMES, Names};
use crate::object::request::{BUFFERED, State};
use crate::process::{self, Guard, Process};
use mds::Primitive;
use nic_emu::descriptor::Check;
use nic_emu::memory::numbers::{CommRank, RequestId};
use nic_emu::port::Send;
use std::ffi::c_void;

/// When a send is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// When its buffer may be used again.
    Standard,
    /// At once: what does not fit in the NIC goes to the attached buffer.
    Buffered,
    /// When it has been matched.
    Synchronous,
    /// As a standard one; the program vouches that the receive is posted.
    Ready,
}

impl SendMode {
    /// The call of this mode.
    #[inline(always)]
    const fn call(self, mode: Mode) -> Primitive {
        match (self, mode) {
            (SendMode::Standard, Mode::Blocking) => Primitive::Send,
            (SendMode::Standard, Mode::NonBlocking) => Primitive::Isend,
            (SendMode::Buffered, Mode::Blocking) => Primitive::Bsend,
            (SendMode::Buffered, Mode::NonBlocking) => Primitive::Ibsend,
            (SendMode::Synchronous, Mode::Blocking) => Primitive::Ssend,
            (SendMode::Synchronous, Mode::NonBlocking) => Primitive::Issend,
            (SendMode::Ready, Mode::Blocking) => Primitive::Rsend,
            (SendMode::Ready, Mode::NonBlocking) => Primitive::Irsend,
        }
    }
}

/// The names of a send's arguments, beside those of its buffer.
pub(super) const PEER_NAMES: [&str; 2] = ["dest", "tag"];

/// A send, its arguments checked: the message as it lies, its descriptor, and the destination's rank; none of
/// these for MPI_PROC_NULL.
///
/// # Errors
/// Wrong arguments.
#[inline(always)]
pub(super) fn check<const COMPARED: bool>(
    process: &Process,
    buffer: Elements<*const c_void>,
    to: Peer,
    mode: SendMode,
    (names, peer_names): (&Names, &[&'static str; 2]),
) -> MpiResult<(Outgoing, Option<(Send, CommRank)>)> {
    let message = buffer.outgoing(&process.datatypes, names, to.0)?;
    Ok((message, destination::<COMPARED, _>(process, &buffer, to, mode, peer_names)?))
}

/// Where elements are to be sent, and the peer: none for MPI_PROC_NULL.
#[inline(always)]
fn destination<const COMPARED: bool, P>(
    process: &Process,
    elements: &Elements<P>,
    (dest, tag, comm): Peer,
    mode: SendMode,
    peer_names: &[&'static str; 2],
) -> MpiResult<Option<(Send, CommRank)>> {
    let signature = process.datatypes.told::<COMPARED>(elements.count, elements.datatype);
    let communicator = process.communicator(comm)?;
    let tag = send_tag(peer_names[1], tag)?;
    let Some(peer) = communicator.peer(peer_names[0], dest)? else { return Ok(None) };
    let send = Send {
        context: communicator.context,
        source: communicator.rank,
        tag,
        destination: communicator.job_rank(peer),
        synchronous: mode == SendMode::Synchronous,
        check: Check::NONE,
        signature,
    };
    Ok(Some((send, peer)))
}

/// Sends a message through an attached buffer.
#[inline(never)]
fn send_buffered(process: &mut Process, comm: MPI_Comm, send: &Send, message: &Outgoing) -> MpiResult {
    let session = process.communicators.session_of(comm);
    let message = (message.data, message.bytes);
    // SAFETY: the promise of `Elements::new`.
    unsafe { process.attached.send(&mut process.port, (comm, session), send, message) }
}

/// Sends a scattered message straight from where it lies, if it can be buffered; else packs it, and answers
/// false.
#[inline(never)]
fn send_scattered(
    process: &mut Guard,
    mode: SendMode,
    send: &Send,
    message: &mut Outgoing,
) -> MpiResult<bool> {
    if mode != SendMode::Buffered
        && let Some(scattered) = &message.scattered
    {
        let bytes = message.bytes;
        // SAFETY: the promise of `Elements::new`; the NIC gives places that are writable.
        if unsafe { scattered.fill(|fill| bcs_send_filled(process, send, bytes, fill))? } {
            return Ok(true);
        }
    }
    // SAFETY: as above.
    unsafe { message.put_together() };
    Ok(false)
}

/// MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend, whose request is [`BUFFERED`]; MPI_Isend, MPI_Ibsend,
/// MPI_Issend, MPI_Irsend.
///
/// # Errors
/// Wrong arguments; no room in the attached buffer.
#[inline(always)]
pub fn send(modes: (Mode, SendMode), buffer: Elements<*const c_void>, to: Peer) -> MpiResult<MPI_Request> {
    let process = &mut process::enter()?;
    match process.datatypes.are_compared() {
        true => seldom(move || send_in::<true>(process, modes, buffer, to)),
        false => send_in::<false>(process, modes, buffer, to),
    }
}

#[inline(always)]
fn send_in<const COMPARED: bool>(
    process: &mut Guard,
    modes: (Mode, SendMode),
    buffer: Elements<*const c_void>,
    to: Peer,
) -> MpiResult<MPI_Request> {
    match buffer.bytes_to_send(&NAMES) {
        Ok(Some(bytes)) if modes.1 != SendMode::Buffered => {
            let destination = destination::<COMPARED, _>(process, &buffer, to, modes.1, &PEER_NAMES)?;
            let Some((send, peer)) = destination else { return Ok(BUFFERED) };
            // SAFETY: the promise of `Elements::new`.
            let posted = unsafe { post(process, modes, &send, (peer, to.2), (buffer.buffer.cast(), bytes))? };
            Ok(posted.map_or(BUFFERED, |nic| process.plain_request(nic)))
        }
        _ => send_any::<COMPARED>(process, modes, buffer, to),
    }
}

/// Sends elements of any layout, in any mode.
#[inline(never)]
fn send_any<const COMPARED: bool>(
    process: &mut Guard,
    (mode, send_mode): (Mode, SendMode),
    buffer: Elements<*const c_void>,
    to: Peer,
) -> MpiResult<MPI_Request> {
    let (mut message, destination) =
        check::<COMPARED>(process, buffer, to, send_mode, (&NAMES, &PEER_NAMES))?;
    let Some((send, peer)) = destination else { return Ok(BUFFERED) };
    if message.scattered.is_some() && send_scattered(process, send_mode, &send, &mut message)? {
        return Ok(BUFFERED);
    }
    let comm = to.2;
    if send_mode == SendMode::Buffered {
        send_buffered(process, comm, &send, &message)?;
        return Ok(BUFFERED);
    }
    // SAFETY: the promise of `Elements::new`, and the request keeps a packed message.
    let posted =
        unsafe { post(process, (mode, send_mode), &send, (peer, comm), (message.data, message.bytes))? };
    Ok(match (posted, message.packed) {
        (None, _) => BUFFERED,
        (Some(nic), None) => process.plain_request(nic),
        (Some(nic), Some(packed)) => process.requests.insert(State::Send(nic, packed), comm),
    })
}

/// Posts a message; its request, unless it is complete.
///
/// # Safety
/// The message must be readable until the send is complete.
#[inline(always)]
unsafe fn post(
    process: &mut Guard,
    (mode, send_mode): (Mode, SendMode),
    send: &Send,
    peer: (CommRank, MPI_Comm),
    (data, bytes): (*const u8, usize),
) -> MpiResult<Option<RequestId>> {
    // SAFETY: the caller's promise.
    unsafe { bcs_send(process, send_mode.call(mode), send, peer, data, bytes, mode) }
}

//! Send and receive in one call (MPI-5.0, §3.10): the receive is posted first, so the two cannot wait for each other.

use super::envelope;
use super::receive::conclude;
use super::send::{SendMode, describe};
use crate::api::{BcsRequest, Mode, Received, bcs_recv, bcs_send, bcs_test};
use crate::constants::*;
use crate::datatype::buffer::{NAMES, RECEIVE_NAMES, SEND_NAMES};
use crate::datatype::{Incoming, Outgoing};
use crate::error::MpiResult;
use crate::process::{self, Guard};
use crate::request::pair::Pair;
use crate::request::{Finished, State, Status};
use mds::Primitive;
use nic_emu::matching::Envelope;
use nic_emu::port::Send;
use std::ffi::{c_int, c_void};

/// The peers of a call: destination and its tag, source and its tag.
#[derive(Clone, Copy, Debug)]
pub struct Peers {
    /// Destination.
    pub dest: c_int,
    /// Tag of what is sent.
    pub send_tag: c_int,
    /// Source.
    pub source: c_int,
    /// Tag of what is received.
    pub receive_tag: c_int,
}

/// Both halves, their arguments checked.
struct Halves {
    send: Option<(Send, u32)>,
    receive: Option<(Envelope, u32)>,
}

fn check(process: &Guard, peers: &Peers, comm: MPI_Comm) -> MpiResult<Halves> {
    let names = ["dest", "sendtag"];
    let send = describe(process, &names, peers.dest, peers.send_tag, comm, SendMode::Standard)?;
    let receive = envelope(process.communicator(comm)?, peers.source, "recvtag", peers.receive_tag)?;
    Ok(Halves { send, receive })
}

/// Runs both halves to their ends.
unsafe fn exchange(
    process: &mut Guard,
    (call, comm): (Primitive, MPI_Comm),
    halves: &Halves,
    outgoing: (*const u8, usize),
    incoming: &Incoming,
    status: *mut MPI_Status,
) -> MpiResult {
    let mut pending: Option<BcsRequest> = None;
    if let Some((envelope, peer)) = &halves.receive {
        // SAFETY: the caller's buffer, for as long as the call.
        let received = unsafe {
            let (data, bytes) = (incoming.data, incoming.bytes);
            bcs_recv(process, call, envelope, (*peer, comm), data, bytes, Mode::NonBlocking)?
        };
        if let Received::Request(request) = received {
            pending = Some(request);
        }
    }
    if let Some((send, peer)) = &halves.send {
        // SAFETY: as above. It blocks, and the receive makes progress meanwhile.
        unsafe { bcs_send(process, call, send, (*peer, comm), outgoing.0, outgoing.1, Mode::Blocking)? };
    }
    let Some(request) = pending else {
        // SAFETY: the caller's promise.
        unsafe { Status::PROC_NULL.store(status) };
        return Ok(());
    };
    let Some(outcome) = bcs_test(process, call, request, Mode::Blocking)? else { return Ok(()) };
    // SAFETY: the caller's buffer, for as long as the call.
    unsafe { conclude(&outcome, incoming, status) }
}

/// MPI_Sendrecv.
///
/// # Safety
/// Each buffer (address, count, datatype) must be readable or writable for its elements, unless its address is null; the two
/// must not overlap; `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// Wrong arguments, or a message that was longer than the buffer.
pub unsafe fn sendrecv(
    outgoing: (*const c_void, i64, MPI_Datatype),
    incoming: (*mut c_void, i64, MPI_Datatype),
    peers: &Peers,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> MpiResult {
    let mut process = process::enter()?;
    // SAFETY: the caller's promise.
    let message =
        unsafe { Outgoing::new(&process.datatypes, &SEND_NAMES, outgoing.0, outgoing.1, outgoing.2)? };
    // SAFETY: the caller's promise.
    let buffer =
        unsafe { Incoming::new(&process.datatypes, &RECEIVE_NAMES, incoming.0, incoming.1, incoming.2)? };
    let halves = check(&process, peers, comm)?;
    // SAFETY: the caller's promise.
    unsafe {
        exchange(
            &mut process,
            (Primitive::Sendrecv, comm),
            &halves,
            (message.data, message.bytes),
            &buffer,
            status,
        )
    }
}

/// MPI_Sendrecv_replace: what is sent is kept aside while the buffer is written.
///
/// # Safety
/// `buf` must be readable and writable for `count` elements, unless it is null; `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// As [`sendrecv`].
pub unsafe fn sendrecv_replace(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    peers: &Peers,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> MpiResult {
    let mut process = process::enter()?;
    // SAFETY: the caller's promise.
    let message = unsafe { Outgoing::new(&process.datatypes, &NAMES, buf, count, datatype)? };
    // SAFETY: the caller's promise.
    let buffer = unsafe { Incoming::new(&process.datatypes, &NAMES, buf, count, datatype)? };
    let halves = check(&process, peers, comm)?;
    let mut copy = Vec::new();
    // A packed message is a copy already.
    let data = if message.packed.is_none() && message.bytes > 0 && halves.send.is_some() {
        // SAFETY: the caller's promise.
        copy.extend_from_slice(unsafe { std::slice::from_raw_parts(message.data, message.bytes) });
        copy.as_ptr()
    } else {
        message.data
    };
    // SAFETY: the caller's promise; the copy lives as long as the call.
    unsafe {
        exchange(
            &mut process,
            (Primitive::SendrecvReplace, comm),
            &halves,
            (data, message.bytes),
            &buffer,
            status,
        )
    }
}

/// Starts both halves; answers the request that completes them.
///
/// # Safety
/// The bytes to send must be readable until the send is complete, which they are if `kept` has them; the buffer writable until the receive is.
unsafe fn start(
    process: &mut Guard,
    (call, comm): (Primitive, MPI_Comm),
    halves: &Halves,
    (data, bytes, kept): (*const u8, usize, Option<Box<[u8]>>),
    incoming: Incoming,
) -> MpiResult<MPI_Request> {
    let mut receive = State::Complete(Finished::well(Status::PROC_NULL));
    if let Some((envelope, peer)) = &halves.receive {
        let peer = (*peer, comm);
        // SAFETY: the caller's promise.
        let received = unsafe {
            bcs_recv(process, call, envelope, peer, incoming.data, incoming.bytes, Mode::NonBlocking)?
        };
        if let Received::Request(request) = received {
            receive = State::Receive(request.0, incoming.staged);
        }
    }
    let mut send = State::nothing();
    if let Some((described, peer)) = &halves.send {
        let peer = (*peer, comm);
        // SAFETY: the caller's promise.
        let posted = unsafe { bcs_send(process, call, described, peer, data, bytes, Mode::NonBlocking)? };
        if let Some(request) = posted {
            send = State::Send(request.0, kept.unwrap_or_default());
        }
    }
    Ok(process.requests.insert(State::Operation(Box::new(Pair::new(send, receive))), comm))
}

/// MPI_Isendrecv.
///
/// # Safety
/// As [`sendrecv`], until the request is complete.
///
/// # Errors
/// Wrong arguments.
pub unsafe fn isendrecv(
    outgoing: (*const c_void, i64, MPI_Datatype),
    incoming: (*mut c_void, i64, MPI_Datatype),
    peers: &Peers,
    comm: MPI_Comm,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    // SAFETY: the caller's promise.
    let message =
        unsafe { Outgoing::new(&process.datatypes, &SEND_NAMES, outgoing.0, outgoing.1, outgoing.2)? };
    // SAFETY: the caller's promise.
    let buffer =
        unsafe { Incoming::new(&process.datatypes, &RECEIVE_NAMES, incoming.0, incoming.1, incoming.2)? };
    let halves = check(&process, peers, comm)?;
    let message = (message.data, message.bytes, message.packed);
    // SAFETY: the caller's promise; a packed message is kept.
    unsafe { start(&mut process, (Primitive::Isendrecv, comm), &halves, message, buffer) }
}

/// MPI_Isendrecv_replace: what is sent is kept aside while the buffer is written.
///
/// # Safety
/// As [`sendrecv_replace`], until the request is complete.
///
/// # Errors
/// Wrong arguments.
pub unsafe fn isendrecv_replace(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    peers: &Peers,
    comm: MPI_Comm,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    // SAFETY: the caller's promise.
    let message = unsafe { Outgoing::new(&process.datatypes, &NAMES, buf, count, datatype)? };
    // SAFETY: the caller's promise.
    let buffer = unsafe { Incoming::new(&process.datatypes, &NAMES, buf, count, datatype)? };
    let halves = check(&process, peers, comm)?;
    let copy = match message.packed {
        Some(packed) => packed,
        None if message.bytes == 0 => Box::default(),
        // SAFETY: the caller's promise.
        None => unsafe { std::slice::from_raw_parts(message.data, message.bytes) }.into(),
    };
    let message = (copy.as_ptr(), message.bytes, Some(copy));
    // SAFETY: the caller's promise; the copy is kept.
    unsafe { start(&mut process, (Primitive::IsendrecvReplace, comm), &halves, message, buffer) }
}

//! Send and receive in one call (MPI-5.0, §3.10): the receive is posted first, so the two cannot wait for each other.

use super::receive::conclude;
use super::send::{SendMode, describe};
use super::{Room, Sent, envelope, for_nobody};
use crate::api::{BcsRequest, Mode, Received, bcs_recv, bcs_send, bcs_test};
use crate::constants::*;
use crate::datatype::buffer::{NAMES, Names, RECEIVE_NAMES, SEND_NAMES};
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

/// Both halves, their arguments checked: what is sent and to whom, and where what comes goes and from whom; no peer for MPI_PROC_NULL.
struct Halves {
    message: Outgoing,
    to: Option<(Send, u32)>,
    buffer: Incoming,
    /// What the receive tells of its type.
    told: u16,
    from: Option<(Envelope, u32)>,
}

/// The halves of a call, each of a buffer (address, count, datatype) with the names of its arguments.
///
/// # Safety
/// Each buffer must be readable or writable for its elements, unless its address is null, until the call's operation is complete.
unsafe fn check(
    process: &Guard,
    (send_names, (sent, sent_count, sent_type)): (&Names, Sent),
    (receive_names, (got, got_count, got_type)): (&Names, Room),
    peers: &Peers,
    comm: MPI_Comm,
) -> MpiResult<Halves> {
    // SAFETY: the caller's promise.
    let (message, buffer) = unsafe {
        (
            Outgoing::new(&process.datatypes, send_names, sent, sent_count, sent_type).or_else(|error| {
                for_nobody(error, (sent_count, sent_type), peers.dest).map(|()| Outgoing::NOTHING)
            })?,
            Incoming::new(&process.datatypes, receive_names, got, got_count, got_type).or_else(|error| {
                for_nobody(error, (got_count, got_type), peers.source).map(|()| Incoming::NOTHING)
            })?,
        )
    };
    let mode = (SendMode::Standard, process.datatypes.told::<true>(sent_count, sent_type));
    let to = describe(process, &["dest", "sendtag"], peers.dest, peers.send_tag, comm, mode)?;
    let from = envelope(process.communicator(comm)?, peers.source, "recvtag", peers.receive_tag)?;
    let told = process.datatypes.told::<true>(got_count, got_type);
    Ok(Halves { message, to, buffer, told, from })
}

impl Halves {
    /// Has the message kept apart from the buffer, which is to be written.
    ///
    /// # Safety
    /// The buffer must still be readable.
    unsafe fn set_aside(&mut self) {
        let Outgoing { data, bytes, packed, .. } = &mut self.message;
        // A packed message is a copy already, and what goes nowhere is not read.
        if packed.is_none() && *bytes > 0 && self.to.is_some() {
            // SAFETY: the caller's promise.
            let copy: Box<[u8]> = unsafe { std::slice::from_raw_parts(*data, *bytes) }.into();
            *data = copy.as_ptr();
            *packed = Some(copy);
        }
    }

    /// Posts the receive, if there is one; answers its request.
    ///
    /// # Safety
    /// The promise of [`check`].
    unsafe fn post_receive(
        &self,
        process: &mut Guard,
        (call, comm): (Primitive, MPI_Comm),
    ) -> MpiResult<Option<BcsRequest>> {
        let Some((envelope, peer)) = &self.from else { return Ok(None) };
        let (peer, place) = ((*peer, comm), self.buffer.place(self.told));
        // SAFETY: the caller's promise.
        let received = unsafe { bcs_recv(process, call, envelope, peer, place, Mode::NonBlocking)? };
        Ok(match received {
            Received::Request(request) => Some(request),
            Received::Complete(_) => None,
        })
    }

    /// Sends, if there is whom to send to; answers the request of a send that is not complete.
    ///
    /// # Safety
    /// The promise of [`check`].
    unsafe fn send(
        &self,
        process: &mut Guard,
        (call, comm): (Primitive, MPI_Comm),
        mode: Mode,
    ) -> MpiResult<Option<BcsRequest>> {
        let Some((send, peer)) = &self.to else { return Ok(None) };
        let (data, bytes) = (self.message.data, self.message.bytes);
        // SAFETY: the caller's promise.
        unsafe { bcs_send(process, call, send, (*peer, comm), data, bytes, mode) }
    }

    /// Runs both to their ends.
    ///
    /// # Safety
    /// The promise of [`check`]; `status` must be MPI_STATUS_IGNORE or writable.
    unsafe fn exchange(
        self,
        process: &mut Guard,
        (call, comm): (Primitive, MPI_Comm),
        status: *mut MPI_Status,
    ) -> MpiResult {
        // SAFETY: the caller's promises. The send blocks, and the receive makes progress meanwhile.
        unsafe {
            let pending = self.post_receive(process, (call, comm))?;
            self.send(process, (call, comm), Mode::Blocking)?;
            let Some(request) = pending else {
                Status::PROC_NULL.store(status);
                return Ok(());
            };
            let Some(outcome) = bcs_test(process, call, request, Mode::Blocking)? else { return Ok(()) };
            conclude(process, comm, &outcome, (&self.buffer, self.told), status)
        }
    }

    /// Starts both; answers the request that completes them.
    ///
    /// # Safety
    /// The promise of [`check`]; a message that was packed or set aside is kept.
    unsafe fn start(
        self,
        process: &mut Guard,
        (call, comm): (Primitive, MPI_Comm),
    ) -> MpiResult<MPI_Request> {
        // SAFETY: the caller's promise.
        let (receive, send) = unsafe {
            let receive = self.post_receive(process, (call, comm))?;
            (receive, self.send(process, (call, comm), Mode::NonBlocking)?)
        };
        let receive = match receive {
            Some(request) => State::Receive(request.0, self.buffer.staged),
            None => State::Complete(Finished::well(Status::PROC_NULL)),
        };
        let send = match send {
            Some(request) => State::Send(request.0, self.message.packed.unwrap_or_default()),
            None => State::nothing(),
        };
        Ok(process.requests.insert(State::Operation(Box::new(Pair::new(send, receive))), comm))
    }
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
    // SAFETY: the caller's promise, which holds as long as the call.
    unsafe {
        let halves = check(&process, (&SEND_NAMES, outgoing), (&RECEIVE_NAMES, incoming), peers, comm)?;
        halves.exchange(&mut process, (Primitive::Sendrecv, comm), status)
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
    let (sent, got) = ((buf.cast_const(), count, datatype), (buf, count, datatype));
    // SAFETY: the caller's promise, which holds as long as the call.
    unsafe {
        let mut halves = check(&process, (&NAMES, sent), (&NAMES, got), peers, comm)?;
        halves.set_aside();
        halves.exchange(&mut process, (Primitive::SendrecvReplace, comm), status)
    }
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
    unsafe {
        let halves = check(&process, (&SEND_NAMES, outgoing), (&RECEIVE_NAMES, incoming), peers, comm)?;
        halves.start(&mut process, (Primitive::Isendrecv, comm))
    }
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
    let (sent, got) = ((buf.cast_const(), count, datatype), (buf, count, datatype));
    // SAFETY: the caller's promise.
    unsafe {
        let mut halves = check(&process, (&NAMES, sent), (&NAMES, got), peers, comm)?;
        halves.set_aside();
        halves.start(&mut process, (Primitive::IsendrecvReplace, comm))
    }
}

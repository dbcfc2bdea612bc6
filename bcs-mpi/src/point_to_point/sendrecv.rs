//! Send and receive in one call (MPI-5.0, §3.10): the receive is posted first, so the two cannot wait for
//! each other.

use super::envelope::{Room, Sent, envelope, for_nobody};
use super::receive::conclude;
use super::send::{SendMode, describe};
use crate::api::{Mode, Received, bcs_recv, bcs_send, bcs_test};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::buffer::{NAMES, Names, RECEIVE_NAMES, SEND_NAMES};
use crate::object::datatype::{Incoming, Outgoing};
use crate::object::request::{Finished, Pair, State, Status, Statuses};
use crate::process::{self, Guard};
use mds::Primitive;
use nic_emu::doorbell::RingKind;
use nic_emu::matching::Envelope;
use nic_emu::port::Send;
use nic_emu::slab::BUFFERED_BYTES;
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

/// Both halves, their arguments checked: what is sent and to whom, and where what comes goes and from whom;
/// no peer for MPI_PROC_NULL.
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
/// Each buffer must be readable or writable for its elements, unless its address is null, until the call's
/// operation is complete.
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

    /// Starts both; then waits for them, or answers the request that completes them. A message that was
    /// packed or set aside is kept with that.
    ///
    /// # Safety
    /// The promise of [`check`].
    unsafe fn run(
        self,
        process: &mut Guard,
        (call, mode): (Primitive, Mode),
        comm: MPI_Comm,
        status: Statuses,
    ) -> MpiResult<MPI_Request> {
        // A message that is complete when it is posted needs no receive to go on.
        let sends_first = mode == Mode::Blocking
            && self.message.bytes <= BUFFERED_BYTES / 2
            && process.port.lacks_cell(RingKind::Send).is_none();
        let mut receive = None;
        let mut send = None;
        if sends_first && let (Some((to, peer)), Some((envelope, from))) = (&self.to, &self.from) {
            let (data, bytes) = (self.message.data, self.message.bytes);
            // SAFETY: the caller's promise.
            send = unsafe { bcs_send(process, call, to, (*peer, comm), data, bytes, Mode::NonBlocking)? };
            let (from, place) = ((*from, comm), self.buffer.place(self.told));
            // SAFETY: the caller's promise.
            let received = unsafe { bcs_recv(process, call, envelope, from, place, Mode::Blocking)? };
            if let Some(nic) = send {
                bcs_test(process, call, nic)?;
            }
            if let Received::Complete(outcome) = received {
                // SAFETY: the caller's promise.
                unsafe { conclude(process, comm, &outcome, (&self.buffer, self.told), status)? };
            }
            return Ok(MPI_REQUEST_NULL);
        }
        if let Some((envelope, peer)) = &self.from {
            let (peer, place) = ((*peer, comm), self.buffer.place(self.told));
            // SAFETY: the caller's promise.
            let posted = unsafe { bcs_recv(process, call, envelope, peer, place, Mode::NonBlocking)? };
            if let Received::Request(nic) = posted {
                receive = Some(nic);
            }
        }
        if let Some((to, peer)) = &self.to {
            let (data, bytes) = (self.message.data, self.message.bytes);
            // SAFETY: the caller's promise. Where it blocks, the receive makes progress meanwhile.
            send = unsafe { bcs_send(process, call, to, (*peer, comm), data, bytes, mode)? };
        }
        if mode == Mode::NonBlocking {
            let receive = match receive {
                Some(nic) => State::Receive(nic, self.buffer.staged),
                None => State::Complete(Finished::well(Status::PROC_NULL)),
            };
            let send = match send {
                Some(nic) => State::Send(nic, self.message.packed.unwrap_or_default()),
                None => State::nothing(),
            };
            return Ok(process.requests.insert(State::Pair(Box::new(Pair::new(send, receive))), comm));
        }
        match receive {
            None => status.set(0, &Status::PROC_NULL),
            Some(nic) => {
                let outcome = bcs_test(process, call, nic)?;
                // SAFETY: the caller's promise.
                unsafe { conclude(process, comm, &outcome, (&self.buffer, self.told), status)? };
            }
        }
        Ok(MPI_REQUEST_NULL)
    }
}

/// MPI_Sendrecv, whose request is null; MPI_Isendrecv, which stores no status.
///
/// # Safety
/// Each buffer (address, count, datatype) must be readable or writable for its elements, unless its address
/// is null, until the request is complete; the two must not overlap.
///
/// # Errors
/// Wrong arguments, or a message that was longer than the buffer.
pub unsafe fn sendrecv(
    mode: Mode,
    outgoing: (*const c_void, i64, MPI_Datatype),
    incoming: (*mut c_void, i64, MPI_Datatype),
    peers: &Peers,
    comm: MPI_Comm,
    status: Statuses,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let call = if mode == Mode::Blocking { Primitive::Sendrecv } else { Primitive::Isendrecv };
    // SAFETY: the caller's promise.
    unsafe {
        let halves = check(&process, (&SEND_NAMES, outgoing), (&RECEIVE_NAMES, incoming), peers, comm)?;
        halves.run(&mut process, (call, mode), comm, status)
    }
}

/// MPI_Sendrecv_replace and MPI_Isendrecv_replace: what is sent is kept aside while the buffer is written.
///
/// # Safety
/// `buf` must be readable and writable for `count` elements, unless it is null, until the request is
/// complete.
///
/// # Errors
/// As [`sendrecv`].
pub unsafe fn sendrecv_replace(
    mode: Mode,
    (buf, count, datatype): (*mut c_void, i64, MPI_Datatype),
    peers: &Peers,
    comm: MPI_Comm,
    status: Statuses,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let (sent, got) = ((buf.cast_const(), count, datatype), (buf, count, datatype));
    let call = if mode == Mode::Blocking { Primitive::SendrecvReplace } else { Primitive::IsendrecvReplace };
    // SAFETY: the caller's promise.
    unsafe {
        let mut halves = check(&process, (&NAMES, sent), (&NAMES, got), peers, comm)?;
        halves.set_aside();
        halves.run(&mut process, (call, mode), comm, status)
    }
}

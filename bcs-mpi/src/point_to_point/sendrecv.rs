//! Send and receive in one call (MPI-5.0, §3.10). A short message, which is mostly complete when it is
//! posted, goes first; otherwise the receive begins first. The two cannot wait for each other.

use super::envelope::Source;
use super::receive::{self, conclude};
use super::send::{self, SendMode};
use crate::api::{Mode, Received, bcs_begin_recv, bcs_recv, bcs_send, bcs_test};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::buffer::{Elements, NAMES, Names, RECEIVE_NAMES, SEND_NAMES};
use crate::object::datatype::{Incoming, Outgoing};
use crate::object::request::{Finished, Pair, State, Status, Statuses};
use crate::process::{self, Guard};
use mds::Primitive;
use nic_emu::doorbell::RingKind;
use nic_emu::memory::numbers::{CommRank, RequestId};
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
    to: Option<(Send, CommRank)>,
    buffer: Incoming,
    /// What the receive tells of its type.
    told: u16,
    from: Option<Source>,
}

/// The halves of a call, each of a buffer with the names of its arguments.
fn check(
    process: &Guard,
    (send_names, sent): (&Names, Elements<*const c_void>),
    (receive_names, got): (&Names, Elements<*mut c_void>),
    peers: &Peers,
    comm: MPI_Comm,
) -> MpiResult<Halves> {
    let (to, names) = ((peers.dest, peers.send_tag, comm), (send_names, &["dest", "sendtag"]));
    let (mut message, to) = send::check::<true>(process, sent, to, SendMode::Standard, names)?;
    // SAFETY: the promise of `Elements::new`.
    unsafe { message.put_together() };
    let (from, names) = ((peers.source, peers.receive_tag, comm), (receive_names, "recvtag"));
    let (buffer, told, from) = receive::check::<true>(process, got, from, names)?;
    Ok(Halves { message, to, buffer, told, from })
}

impl Halves {
    /// Has the message kept apart from the buffer, which is to be written.
    fn set_aside(&mut self) {
        let Outgoing { data, bytes, packed, .. } = &mut self.message;
        // A packed message is a copy already, and what goes nowhere is not read.
        if packed.is_none() && *bytes > 0 && self.to.is_some() {
            // SAFETY: the promise of `Elements::new`.
            let copy: Box<[u8]> = unsafe { std::slice::from_raw_parts(*data, *bytes) }.into();
            *data = copy.as_ptr();
            *packed = Some(copy);
        }
    }

    /// Sends the message, if it goes to somebody; answers the request of a send that is not complete yet.
    #[inline(always)]
    fn send(
        &self,
        process: &mut Guard,
        call: Primitive,
        comm: MPI_Comm,
        mode: Mode,
    ) -> MpiResult<Option<RequestId>> {
        let Some((to, peer)) = &self.to else { return Ok(None) };
        // SAFETY: the promise of `Elements::new`.
        unsafe { bcs_send(process, call, to, (*peer, comm), self.message.data, self.message.bytes, mode) }
    }

    /// Whether the message stays where it is until its receiver reads it.
    #[inline(always)]
    fn is_left_to_partner(&self, process: &Guard) -> bool {
        let to = self.to.as_ref();
        to.is_some_and(|(to, _)| process.port.leaves_to_partner(to.destination, self.message.bytes))
    }

    /// Starts both; then waits for them, or answers the request that completes them. A message that was
    /// packed or set aside is kept with that.
    fn run(
        self,
        process: &mut Guard,
        (call, mode): (Primitive, Mode),
        comm: MPI_Comm,
        status: Statuses,
    ) -> MpiResult<MPI_Request> {
        match mode {
            Mode::Blocking => process.staying(|process| self.run_both(process, (call, mode), comm, status)),
            Mode::NonBlocking => self.run_both(process, (call, mode), comm, status),
        }
    }

    fn run_both(
        self,
        process: &mut Guard,
        (call, mode): (Primitive, Mode),
        comm: MPI_Comm,
        status: Statuses,
    ) -> MpiResult<MPI_Request> {
        // A message that is complete when it is posted needs no receive to go on, and its receive may find
        // what the other rank has sent.
        let sends_first = mode == Mode::Blocking
            && self.message.bytes <= BUFFERED_BYTES / 2
            && !self.is_left_to_partner(process)
            && process.port.lacks_cell(RingKind::Send).is_none();
        let mut send = if sends_first { self.send(process, call, comm, Mode::NonBlocking)? } else { None };
        let mut receive = None;
        if let Some((envelope, peer)) = &self.from {
            let (peer, place) = ((*peer, comm), self.buffer.place(self.told));
            // SAFETY: the promise of `Elements::new`, and the request keeps a staged buffer.
            receive = Some(unsafe {
                match mode == Mode::Blocking && !sends_first {
                    true => Received::Request(bcs_begin_recv(process, call, envelope, peer, place)?),
                    false => bcs_recv(process, call, envelope, peer, place, mode)?,
                }
            });
        }
        if !sends_first {
            // Where it blocks, the receive makes progress meanwhile.
            send = self.send(process, call, comm, mode)?;
        }
        if mode == Mode::NonBlocking {
            let receive = match receive {
                Some(Received::Request(nic)) => State::Receive(nic, self.buffer.staged),
                Some(Received::Complete(_)) | None => State::Complete(Finished::well(Status::PROC_NULL)),
            };
            let send = match send {
                Some(nic) => State::Send(nic, self.message.packed.unwrap_or_default()),
                None => State::nothing(),
            };
            return Ok(process.requests.insert(State::Pair(Box::new(Pair { send, receive })), comm));
        }
        let outcome = match receive {
            None => None,
            Some(Received::Request(nic)) => Some(bcs_test(process, call, nic)?),
            Some(Received::Complete(outcome)) => Some(outcome),
        };
        if let Some(nic) = send {
            bcs_test(process, call, nic)?;
        }
        match outcome {
            None => status.set(0, &Status::PROC_NULL),
            Some(outcome) => conclude(process, comm, &outcome, (&self.buffer, self.told), status)?,
        }
        Ok(MPI_REQUEST_NULL)
    }
}

/// MPI_Sendrecv, whose request is null; MPI_Isendrecv, which stores no status.
///
/// # Errors
/// Wrong arguments, or a message that was longer than the buffer.
pub fn sendrecv(
    mode: Mode,
    sent: Elements<*const c_void>,
    got: Elements<*mut c_void>,
    peers: &Peers,
    comm: MPI_Comm,
    status: Statuses,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let call = if mode == Mode::Blocking { Primitive::Sendrecv } else { Primitive::Isendrecv };
    let halves = check(&process, (&SEND_NAMES, sent), (&RECEIVE_NAMES, got), peers, comm)?;
    halves.run(&mut process, (call, mode), comm, status)
}

/// MPI_Sendrecv_replace and MPI_Isendrecv_replace: what is sent is kept aside while the buffer is written.
///
/// # Errors
/// As [`sendrecv`].
pub fn sendrecv_replace(
    mode: Mode,
    buffer: Elements<*mut c_void>,
    peers: &Peers,
    comm: MPI_Comm,
    status: Statuses,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let call = if mode == Mode::Blocking { Primitive::SendrecvReplace } else { Primitive::IsendrecvReplace };
    let mut halves = check(&process, (&NAMES, buffer.as_const()), (&NAMES, buffer), peers, comm)?;
    halves.set_aside();
    halves.run(&mut process, (call, mode), comm, status)
}

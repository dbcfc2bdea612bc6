//! Persistent sends and receives (MPI-5.0, §3.9): their arguments are checked and bound here, once; what is
//! left of a start is one descriptor.
//!
//! The datatype's layout and the communicator's context are kept, so both may be freed while the request
//! lives.

use super::envelope::{Peer, Source};
use super::receive;
use super::send::{self, PEER_NAMES, SendMode};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::Outgoing;
use crate::object::datatype::buffer::{Elements, NAMES, Staged};
use crate::object::request::{Begun, Finished, Parts, Starter, State, Status};
use crate::process;
use crate::request::persistent;
use nic_emu::descriptor::Check;
use nic_emu::memory::numbers::CommRank;
use nic_emu::port::{Posted, Send};
use std::ffi::c_void;

/// A send, bound.
struct PersistentSend {
    mode: SendMode,
    message: Outgoing,
    /// The descriptor, and the destination's rank in the communicator; none for MPI_PROC_NULL.
    to: Option<(Send, CommRank)>,
    comm: MPI_Comm,
}

impl Starter for PersistentSend {
    fn start(&mut self, parts: &mut Parts<'_>) -> MpiResult<Begun> {
        let Some((send, peer)) = &self.to else { return Ok(Begun::Messages(State::nothing())) };
        // SAFETY: the program keeps its buffer as long as the request is active.
        let packed = unsafe { self.message.packed_copy() };
        let data = packed.as_ref().map_or(self.message.data, |packed| packed.as_ptr());
        if self.mode == SendMode::Buffered {
            let of = (self.comm, parts.communicators.session_of(self.comm));
            // SAFETY: the message is readable.
            unsafe { parts.attached.send(parts.port, of, send, (data, self.message.bytes))? };
            return Ok(Begun::Messages(State::nothing()));
        }
        // SAFETY: the message is readable until the request is complete: the program's buffer, or what the
        // request keeps.
        match unsafe { parts.port.post_send(send, data, self.message.bytes)? } {
            Posted::Complete => Ok(Begun::Messages(State::nothing())),
            Posted::Request(nic) => {
                parts.port.requests_mut().label(nic, (*peer, send.destination), self.comm.0 as u64);
                Ok(Begun::Messages(State::Send(nic, packed.unwrap_or_default())))
            }
        }
    }
}

/// MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init, MPI_Rsend_init.
///
/// # Errors
/// Wrong arguments.
pub fn send_init(mode: SendMode, buffer: Elements<*const c_void>, peer: Peer) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let (message, to) = send::check::<true>(&process, buffer, peer, mode, (&NAMES, &PEER_NAMES))?;
    let (_, _, comm) = peer;
    let starter = Box::new(PersistentSend { mode, message, to, comm });
    Ok(persistent::create(&mut process, starter, comm))
}

/// A receive, bound.
struct PersistentReceive {
    /// [`Incoming::place`](crate::object::datatype::Incoming::place) of the buffer.
    place: (*mut u8, usize, u16),
    /// Where it is unpacked from, if it must be: with the operation while that is under way.
    staged: Option<Box<Staged>>,
    /// What it matches, and the source's rank in the job; none for MPI_PROC_NULL.
    from: Option<Source>,
    comm: MPI_Comm,
}

impl Starter for PersistentReceive {
    fn start(&mut self, parts: &mut Parts<'_>) -> MpiResult<Begun> {
        let Some((envelope, peer_in_job)) = &self.from else {
            return Ok(Begun::Messages(State::Complete(Finished::well(Status::PROC_NULL))));
        };
        let (whose, (data, bytes, told)) = ((*peer_in_job, self.comm.0 as u64), self.place);
        // SAFETY: the program leaves its buffer alone while the request is active, and the request keeps a
        // staged one.
        let nic = unsafe { parts.port.begin_receive(envelope, Check::NONE, whose, told, (data, bytes))? };
        Ok(Begun::Messages(State::Receive(nic, self.staged.take())))
    }

    fn take_back(&mut self, state: State) {
        if let State::Receive(_, staged) = state {
            self.staged = staged;
        }
    }
}

/// MPI_Recv_init.
///
/// # Errors
/// Wrong arguments.
pub fn recv_init(buffer: Elements<*mut c_void>, peer: Peer) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let (buffer, told, from) = receive::check::<true>(&process, buffer, peer, (&NAMES, "tag"))?;
    let (_, _, comm) = peer;
    let starter = PersistentReceive { place: buffer.place(told), staged: buffer.staged, from, comm };
    Ok(persistent::create(&mut process, Box::new(starter), comm))
}

//! The calls about requests (MPI-5.0, §3.7), and how a call looks at one. The wait and test families are in
//! [`complete`].

pub mod complete;
pub mod generalized;
pub mod get_status;
pub mod persistent;
pub mod status;

pub use crate::object::request::Statuses;

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::handle::{FIRST_INT, Numbered, pack, unpack};
use crate::kind::{Kind, Stale};
use crate::object::event::{self, EventKind};
use crate::object::request::{BUFFERED, Finished, Request, State, Status};
use crate::process::{self, Guard, Process};
use mds::Primitive;
use nic_emu::memory::REQUESTS;
use nic_emu::memory::numbers::RequestId;
use nic_emu::outstanding::About;
use nic_emu::port::Port;
use nic_emu::status::WaitingFor;

impl Process {
    /// The handle of a plain request: of an operation that the NIC alone carries out.
    #[inline(always)]
    pub fn plain_request(&mut self, nic: RequestId) -> MPI_Request {
        MPI_Request(pack(Kind::Request, self.port.requests_mut().name(nic), nic.0))
    }

    /// The request of a handle that is not plain.
    #[inline]
    fn request(&mut self, handle: MPI_Request) -> MpiResult<&mut Request> {
        let Process { port, requests, .. } = self;
        requests.table.get_mut(handle.0).map_err(|why| no_request(port, handle, why))
    }

    /// The NIC's request that a handle's operation waits for; none where it waits for more.
    fn awaited(&mut self, handle: MPI_Request) -> MpiResult<Option<RequestId>> {
        match plain(&self.port, handle) {
            Some(nic) => Ok(Some(nic)),
            None => Ok(self.request(handle)?.state.nic()),
        }
    }

    /// Of a handle's operation of several messages, one that is under way ([`State::one_of_several`]).
    fn one_of_several(&mut self, handle: MPI_Request) -> MpiResult<Option<RequestId>> {
        Ok(self.request(handle)?.state.one_of_several())
    }

    /// Whether all operations of the NIC that are under way are those of these requests.
    fn has_no_others(&mut self, requests: &[MPI_Request]) -> MpiResult<bool> {
        let mut own = 0;
        for &request in requests.iter().filter(|request| !matches!(**request, MPI_REQUEST_NULL | BUFFERED)) {
            own += u32::from(self.awaited(request)?.is_some());
        }
        Ok(own == self.port.requests().len())
    }

    /// What a hang report says of a call that waits for this request and `count - 1` others.
    #[cold]
    fn waiting_for(&mut self, call: Primitive, handle: MPI_Request, count: usize) -> MpiResult<WaitingFor> {
        let (call, requests) = (call.index() as u32, count as u32);
        // An operation of several steps has no peer of its own.
        let nic = self.awaited(handle)?.unwrap_or(RequestId::NONE);
        if nic == RequestId::NONE
            && let Some(what) = self.request(handle)?.state.waits_for()
        {
            return Ok(WaitingFor { requests, ..what });
        }
        Ok(self.port.waiting_for(nic, call, requests))
    }
}

/// A request as an `int`, if it names one; that of a buffered send becomes one of its own, as an `int` names
/// one.
pub fn to_int(process: &mut Process, handle: usize) -> Option<i32> {
    if let Some(nic) = plain(&process.port, MPI_Request(handle)) {
        return Some(nic.0 as i32 + FIRST_INT);
    }
    if handle != BUFFERED.0 {
        return process.requests.table.to_int(handle);
    }
    let own = process.requests.insert(State::nothing(), MPI_COMM_WORLD);
    process.requests.table.to_int(own.0)
}

/// The handle of an `int` that [`to_int`] gave; none when no request has it now.
pub fn from_int(process: &Process, int: i32) -> Option<usize> {
    let index = u32::try_from(int.checked_sub(FIRST_INT)?).ok()?;
    if (index as usize) < REQUESTS {
        return process
            .port
            .requests()
            .name_of(RequestId(index))
            .map(|generation| pack(Kind::Request, generation, index));
    }
    process.requests.table.handle_of(int)
}

/// The NIC's request of a plain request's handle; none for every other handle.
#[inline(always)]
fn plain(port: &Port, handle: MPI_Request) -> Option<RequestId> {
    let (nic, generation) = unpack(Kind::Request, handle.0)?;
    let nic = RequestId(nic);
    port.requests().is_named(nic, generation).then_some(nic)
}

/// Why a handle that is not plain names no request.
#[cold]
fn no_request(port: &Port, handle: MPI_Request, why: Stale) -> MpiError {
    let was_plain = unpack(Kind::Request, handle.0)
        .is_some_and(|(nic, generation)| port.requests().was_named(RequestId(nic), generation));
    MpiError::handle("request", handle.0, Kind::Request, if was_plain { Stale::Freed } else { why })
}

/// Looks whether a request is complete; its handle stays, with nothing to tell any more if it is not plain.
fn look_at(process: &mut Process, handle: MPI_Request) -> MpiResult<Option<Finished>> {
    if handle == BUFFERED {
        return Ok(Some(Finished::well(Status::EMPTY)));
    }
    if let Some(nic) = plain(&process.port, handle) {
        let Some(outcome) = process.port.look(nic)? else { return Ok(None) };
        if process.port.is_send(nic) {
            return Ok(Some(Finished::sent(&outcome)));
        }
        let about = process.port.requests().about(nic).copied().unwrap_or(About::NOTHING);
        let (comm, room) = (MPI_Comm(about.owner as usize), (about.bytes, about.signature));
        return Ok(Some(Finished::received(&process.communicators, comm, &outcome, room).of(comm)));
    }
    let (mut parts, requests) = process.parts_and_requests();
    let request = requests.table.get_mut(handle.0).map_err(|why| no_request(parts.port, handle, why))?;
    let comm = request.comm;
    Ok(request.state.look(&mut parts)?.map(|finished| finished.of(comm)))
}

/// Takes a request that is complete in the commonest way: a plain receive of a small message that fits, of
/// which no tool wants to hear.
#[inline(always)]
pub fn take_received(process: &mut Process, handle: MPI_Request) -> Option<Status> {
    let nic = plain(&process.port, handle)?;
    if event::is_listened(EventKind::MessageMatched) {
        return None;
    }
    process.port.take_received(nic).map(Status::from)
}

/// Looks whether a request is complete; if it is, takes it, and the handle is null unless it is of a
/// persistent one.
#[inline]
pub fn poll(process: &mut Process, handle: &mut MPI_Request) -> MpiResult<Option<Finished>> {
    match take_received(process, *handle) {
        Some(status) => {
            *handle = MPI_REQUEST_NULL;
            Ok(Some(Finished::well(status)))
        }
        None => poll_other(process, handle),
    }
}

#[inline(never)]
fn poll_other(process: &mut Process, handle: &mut MPI_Request) -> MpiResult<Option<Finished>> {
    let Some(finished) = look_at(process, *handle)? else { return Ok(None) };
    if let Some(nic) = plain(&process.port, *handle) {
        if !process.port.is_send(nic) {
            let owner = process.port.requests().about(nic).map_or(0, |about| about.owner);
            finished.status.note(MPI_Comm(owner as usize));
        }
        process.port.take(nic);
    } else if *handle != BUFFERED {
        let request = process.request(*handle)?;
        if let State::Persistent(persistent) = &mut request.state {
            persistent.end();
            return Ok(Some(finished));
        }
        process.requests.remove(*handle);
    }
    *handle = MPI_REQUEST_NULL;
    Ok(Some(finished))
}

/// Whether a request has nothing under way: it is null, or persistent and inactive.
#[inline(always)]
fn is_idle(process: &mut Process, handle: MPI_Request) -> bool {
    handle == MPI_REQUEST_NULL || (plain(&process.port, handle).is_none() && is_inactive(process, handle))
}

#[inline(never)]
fn is_inactive(process: &mut Process, handle: MPI_Request) -> bool {
    let request = process.requests.table.get(handle.0);
    request.is_ok_and(|request| matches!(&request.state, State::Persistent(p) if p.active.is_none()))
}

/// Puts back what a look at a complete request found, to be found again.
fn keep(process: &mut Process, handle: MPI_Request, finished: Finished) {
    // A plain one is not in the table: the NIC's slot says it again.
    let Ok(request) = process.requests.table.get_mut(handle.0) else { return };
    match &mut request.state {
        // It says it again by itself.
        State::Generalized(_) => {}
        State::Persistent(persistent) => {
            if persistent.active.is_some() {
                // What it holds to be used again is taken back first.
                persistent.end();
                persistent.active = Some(State::Complete(finished));
            }
        }
        state => *state = State::Complete(finished),
    }
}

/// MPI_Request_free: the operation goes on, without a handle.
///
/// # Errors
/// No such request; what a generalized request's free function answers.
pub fn free(handle: &mut MPI_Request) -> MpiResult {
    let mut process = process::enter()?;
    refuse_lasting(&mut process, *handle, "complete it with MPI_Wait or MPI_Test")?;
    let freed = std::mem::replace(handle, MPI_REQUEST_NULL);
    if freed == BUFFERED {
        return Ok(());
    }
    // Nobody waits for what is freed, so nobody would post it.
    process.port.post_held()?;
    if let Some(nic) = plain(&process.port, freed) {
        process.port.requests_mut().drop_name(nic);
        // Of a receive, too, only the end matters.
        process.abandon(State::Send(nic, Box::default()), MPI_COMM_NULL);
    } else {
        let request = process.request(freed).inspect_err(|_| *handle = freed)?;
        if let State::Generalized(generalized) = &mut request.state {
            generalized.freed = true;
            if !generalized.complete {
                return Ok(());
            }
            let callbacks = generalized.callbacks;
            process.requests.remove(freed);
            drop(process);
            return callbacks.free();
        }
        let Some(Request { state, comm }) = process.requests.remove(freed) else { return Ok(()) };
        match state {
            State::Persistent(mut persistent) => {
                let closing = persistent.starter.close().map(|steps| process.progress.add(steps));
                persistent.active.into_iter().chain(closing).for_each(|state| process.abandon(state, comm));
                process.advance()?;
            }
            state => process.abandon(state, comm),
        }
    }
    process.reap()?;
    process.port.nudge(true)?;
    Ok(())
}

/// A collective operation that is under way can be neither freed nor cancelled (MPI-5.0, §6.12), and a
/// partitioned one (§4.2) just as little.
fn refuse_lasting(process: &mut Process, handle: MPI_Request, instead: &str) -> MpiResult {
    if handle == BUFFERED || plain(&process.port, handle).is_some() {
        return Ok(());
    }
    let Some(noun) = process.request(handle)?.state.lasting() else { return Ok(()) };
    let allowed = format!("{noun} is under way with it; {instead}");
    Err(MpiError::argument(MPI_ERR_REQUEST, "request", format!("{:#x}", handle.0), allowed))
}

/// Waits for what the program left under way and cannot wait for: freed requests and buffered sends.
///
/// # Errors
/// The NIC fails.
pub fn complete_abandoned(process: &mut Guard, call: Primitive) -> MpiResult {
    let what = WaitingFor { call: call.index() as u32, ..WaitingFor::SOMETHING };
    process.wait_for_some(&what, |process| {
        let all = process.reap()?;
        let Process { port, attached, .. } = &mut **process;
        Ok((attached.reap(port)? && all).then_some(()))
    })
}

/// MPI_Cancel: asks for the operation to be taken back; it still has to be completed.
///
/// # Errors
/// No such request, or none that is active; what a generalized request's cancel function answers.
pub fn cancel(handle: MPI_Request) -> MpiResult {
    let mut process = process::enter()?;
    refuse_lasting(&mut process, handle, "it cannot be taken back")?;
    // That of a buffered send is complete already: there is nothing to take back.
    if handle == BUFFERED {
        return Ok(());
    }
    if let Some(nic) = process.awaited(handle)? {
        process.port.cancel(nic)?;
        return Ok(process.port.await_decision(nic, Primitive::Cancel.index() as u32)?);
    }
    let Request { state, comm } = process.request(handle)?;
    match state {
        State::Generalized(generalized) => {
            let (callbacks, complete) = (generalized.callbacks, generalized.complete);
            drop(process);
            callbacks.cancel(complete)
        }
        State::Persistent(persistent) if persistent.active.is_none() => {
            let allowed = "it has to be active: start it with MPI_Start";
            Err(MpiError::argument(MPI_ERR_REQUEST, "request", "inactive", allowed).of(*comm))
        }
        _ => Ok(()),
    }
}

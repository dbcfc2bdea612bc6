//! Requests: operations that may be under way (MPI-5.0, §3.7).
//!
//! A plain request, of a send from where its bytes are or a receive to where they go, is the NIC's request and nothing more: its handle names
//! the NIC's slot. What takes more (a message that is packed or unpacked, an operation of several steps) is a [`Request`] in a
//! table, whose numbers begin after those of the slots. The calls of the wait and test families are in [`complete`].

pub mod complete;
pub mod generalized;
pub mod get_status;
pub mod pair;
pub mod persistent;
pub mod status;

pub use status::{Status, Statuses};

use crate::communicator::Communicators;
use crate::constants::*;
use crate::datatype::buffer::Staged;
use crate::datatype::type_check;
use crate::error::{MpiError, MpiResult, Problem};
use crate::handle::{FIRST_INT, Kind, Stale, Table, pack, unpack};
use crate::point_to_point::matched::Matched;
use crate::process::{self, Guard, Process};
use generalized::{Callbacks, Generalized};
use mds::Primitive;
use nic_emu::descriptor::NO_REQUEST;
use nic_emu::memory::REQUESTS;
use nic_emu::outstanding::About;
use nic_emu::port::{Outcome, Port};
use nic_emu::status::WaitingFor;
use persistent::Persistent;

/// An operation that is more than one descriptor: it is asked to go on until it is complete.
pub trait Operation {
    /// Does what can be done now; answers its status when it is complete.
    ///
    /// # Errors
    /// It failed; then it is complete.
    fn advance(&mut self, process: &mut Process) -> MpiResult<Option<Status>>;

    /// What a hang report says of a rank that waits for it; none where it has nothing of its own to say.
    fn waits_for(&self) -> Option<WaitingFor> {
        None
    }

    /// Whether it is a collective one, which can be neither freed nor cancelled while it is under way (§6.12).
    fn is_collective(&self) -> bool {
        false
    }
}

/// What a request that is more than a slot of the NIC waits for.
pub enum State {
    /// Nothing: it completed when it was posted, or its end was seen before.
    Complete(Finished),
    /// A send, by the NIC's request, and its bytes, packed.
    Send(u32, Box<[u8]>),
    /// A receive, by the NIC's request, and where it is unpacked from, if it must be.
    Receive(u32, Option<Box<Staged>>),
    /// Something larger.
    Operation(Box<dyn Operation>),
    /// An operation that is started many times.
    Persistent(Box<Persistent>),
    /// An operation of the program.
    Generalized(Box<Generalized>),
}

impl State {
    /// The operation of several steps that is under way, if it is one.
    fn operation(&self) -> Option<&dyn Operation> {
        match self {
            State::Operation(operation) => Some(&**operation),
            State::Persistent(persistent) => persistent.active.as_ref().and_then(State::operation),
            _ => None,
        }
    }

    /// The message that it is, if what it waits for is the NIC alone.
    #[inline]
    fn message(&mut self) -> Option<&mut State> {
        match self {
            State::Persistent(persistent) => persistent.active.as_mut()?.message(),
            State::Complete(_) | State::Send(..) | State::Receive(..) => Some(self),
            State::Operation(_) | State::Generalized(_) => None,
        }
    }

    /// The NIC's request, where there is one.
    #[inline]
    fn nic(&self) -> Option<u32> {
        match self {
            State::Send(nic, _) | State::Receive(nic, _) => Some(*nic),
            State::Persistent(persistent) => persistent.active.as_ref().and_then(State::nic),
            State::Complete(_) | State::Operation(_) | State::Generalized(_) => None,
        }
    }

    /// Of an operation that is complete and has nothing to tell.
    pub const fn nothing() -> Self {
        State::Complete(Finished::well(Status::EMPTY))
    }
}

/// An operation that may be under way and is more than a slot of the NIC.
pub struct Request {
    /// What it waits for.
    pub state: State,
    /// Its communicator.
    pub comm: MPI_Comm,
}

/// How an operation ended.
#[derive(Debug)]
pub struct Finished {
    /// Its status.
    pub status: Status,
    /// What went wrong, if something did.
    pub error: Option<MpiError>,
    /// Of a generalized request: what is to be called, without the lock, for its status.
    pub generalized: Option<Box<Callbacks>>,
}

impl Finished {
    /// An operation that ended well.
    #[inline]
    pub const fn well(status: Status) -> Self {
        Self { status, error: None, generalized: None }
    }

    /// An operation that failed.
    #[cold]
    pub fn failed(error: MpiError) -> Self {
        Self { error: Some(error), ..Self::well(Status::EMPTY) }
    }

    /// The same with its error, if there is one, that of a communicator.
    #[inline]
    fn of(mut self, comm: MPI_Comm) -> Self {
        if let Some(error) = self.error.take() {
            self.error = Some(error.of(comm));
        }
        self
    }

    /// Calls the functions of a generalized request that is gone: its status is theirs to say. The caller holds no guard.
    #[cold]
    fn conclude(mut self) -> Self {
        if let Some(callbacks) = self.generalized.take() {
            let (status, queried) = callbacks.query();
            let freed = callbacks.free();
            self.status = status;
            self.error = queried.and(freed).err();
        }
        self
    }

    /// The end of a send.
    pub fn sent(outcome: &Outcome) -> Self {
        Self::well(Status { cancelled: outcome.cancelled, ..Status::EMPTY })
    }

    /// The end of a receive of this communicator, with so much room, that told this of its type.
    #[inline]
    pub fn received(
        communicators: &Communicators,
        comm: MPI_Comm,
        outcome: &Outcome,
        (room, told): (u64, u16),
    ) -> Self {
        let mut finished = Self::well(Status::received(outcome, room));
        if outcome.length.is_to_be_looked_at(room) {
            finished.error = wrong_message(communicators, comm, outcome, (room, told));
        }
        finished
    }
}

/// The error of a message that is longer than its receive, or of another type, if it is.
#[cold]
#[inline(never)]
fn wrong_message(
    communicators: &Communicators,
    comm: MPI_Comm,
    outcome: &Outcome,
    wanted: (u64, u16),
) -> Option<MpiError> {
    let (length, from, tag) = (outcome.length, outcome.source as i32, outcome.tag);
    if length.bytes() > wanted.0 {
        let (sent, room) = (length.bytes(), wanted.0);
        return Some(MpiError::new(Problem::Truncated { sent, room, from, tag }));
    }
    type_check::differ((length.bytes(), length.signature()), wanted).then(|| {
        MpiError::new(Problem::TypesDiffer {
            sent: type_check::told_name(length.signature()),
            wanted: type_check::told_name(wanted.1),
            from,
            tag,
            comm: communicators
                .get(comm)
                .map_or_else(|_| "a communicator that was freed".into(), |communicator| communicator.title()),
        })
    })
}

/// The request of every send that was complete when it was posted: it has nothing to tell, so one serves for all.
pub const BUFFERED: MPI_Request = MPI_Request(Table::<Request>::shared(Kind::Request));

/// The requests of this process that are more than slots of the NIC.
pub struct Requests {
    table: Table<Request>,
    /// Messages that probes have matched.
    pub messages: Table<Matched>,
    /// Freed while under way (MPI_Request_free): they complete all the same.
    abandoned: Vec<Request>,
}

impl Default for Requests {
    fn default() -> Self {
        let table = Table::from_index(Kind::Request, REQUESTS as u32);
        let messages = Table::new(Kind::Message);
        Self { table, messages, abandoned: Vec::new() }
    }
}

impl Requests {
    /// The handle of a new request.
    pub fn insert(&mut self, state: State, comm: MPI_Comm) -> MPI_Request {
        MPI_Request(self.table.insert(Request { state, comm }))
    }

    /// Whether there are any of this communicator, beside those that are slots of the NIC.
    pub(crate) fn are_of(&self, comm: MPI_Comm) -> bool {
        self.table.iter().any(|request| request.comm == comm)
    }

    /// Takes a request out, if there is one.
    fn remove(&mut self, handle: MPI_Request) -> Option<Request> {
        self.table.remove(handle.0).ok()
    }
}

impl Guard {
    /// Has the NIC and the operations of several steps go on.
    fn make_progress(&mut self) -> MpiResult {
        self.port.progress()?;
        self.advance()
    }
}

impl Process {
    /// The handle of a plain request: of an operation that the NIC alone carries out.
    #[inline(always)]
    pub fn plain_request(&mut self, nic: u32) -> MPI_Request {
        MPI_Request(pack(Kind::Request, self.port.requests_mut().name(nic), nic))
    }

    /// The NIC's request of a plain request's handle; none for every other handle.
    #[inline(always)]
    fn plain(&self, handle: MPI_Request) -> Option<u32> {
        plain(&self.port, handle)
    }

    /// The request of a handle that is not plain.
    #[inline]
    fn request(&mut self, handle: MPI_Request) -> MpiResult<&mut Request> {
        let Process { port, requests, .. } = self;
        requests.table.get_mut(handle.0).map_err(|why| no_request(port, handle, why))
    }

    /// The NIC's request that a handle's operation waits for; none where it waits for more.
    fn awaited(&mut self, handle: MPI_Request) -> MpiResult<Option<u32>> {
        match self.plain(handle) {
            Some(nic) => Ok(Some(nic)),
            None => Ok(self.request(handle)?.state.nic()),
        }
    }

    /// What a hang report says of a call that waits for this request and `count - 1` others.
    #[cold]
    fn waiting_for(&mut self, call: Primitive, handle: MPI_Request, count: usize) -> MpiResult<WaitingFor> {
        let (call, requests) = (call.index() as u32, count as u32);
        // An operation of several steps has no peer of its own.
        let nic = self.awaited(handle)?.unwrap_or(NO_REQUEST);
        if nic == NO_REQUEST
            && let Some(operation) = self.request(handle)?.state.operation()
            && let Some(what) = operation.waits_for()
        {
            return Ok(WaitingFor { requests, ..what });
        }
        Ok(self.port.waiting_for(nic, call, requests))
    }
}

/// A request as an `int`; that of a buffered send becomes one of its own, as an `int` names one.
///
/// # Errors
/// [`Stale`] when it names no request.
pub fn to_int(process: &mut Process, handle: usize) -> Result<i32, Stale> {
    if let Some(nic) = process.plain(MPI_Request(handle)) {
        return Ok(nic as i32 + FIRST_INT);
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
            .name_of(index)
            .map(|generation| pack(Kind::Request, generation, index));
    }
    process.requests.table.from_int(int)
}

/// The NIC's request of a plain request's handle; none for every other handle.
#[inline(always)]
fn plain(port: &Port, handle: MPI_Request) -> Option<u32> {
    let (nic, generation) = unpack(Kind::Request, handle.0)?;
    port.requests().is_named(nic, generation).then_some(nic)
}

/// Why a handle that is not plain names no request.
#[cold]
fn no_request(port: &Port, handle: MPI_Request, why: Stale) -> MpiError {
    let was_plain = unpack(Kind::Request, handle.0)
        .is_some_and(|(nic, generation)| port.requests().was_named(nic, generation));
    MpiError::handle("request", handle.0, Kind::Request, if was_plain { Stale::Freed } else { why })
}

/// How a plain request ended.
fn plain_end(process: &Process, outcome: &Outcome, about: &About, sends: bool) -> Finished {
    if sends {
        return Finished::sent(outcome);
    }
    let comm = MPI_Comm(about.owner as usize);
    Finished::received(&process.communicators, comm, outcome, (about.bytes, about.signature)).of(comm)
}

/// Looks whether a message is complete; after that it has nothing to tell any more.
#[inline]
fn look_at_message(
    (port, communicators): (&mut Port, &Communicators),
    message: &mut State,
) -> MpiResult<Option<Finished>> {
    match message {
        State::Complete(finished) => Ok(Some(std::mem::replace(finished, Finished::well(Status::EMPTY)))),
        State::Send(nic, _) => Ok(port.test(*nic)?.as_ref().map(Finished::sent)),
        State::Receive(nic, staged) => {
            let about = port.requests().about(*nic).copied().unwrap_or(About::NOTHING);
            let Some(outcome) = port.test(*nic)? else { return Ok(None) };
            let (comm, room) = (MPI_Comm(about.owner as usize), (about.bytes, about.signature));
            let finished = Finished::received(communicators, comm, &outcome, room);
            if let Some(staged) = staged {
                // SAFETY: the request is complete only now, so its buffer is still the library's to write.
                unsafe { staged.unpack(finished.status.bytes as usize) };
            }
            Ok(Some(finished))
        }
        State::Operation(_) | State::Persistent(_) | State::Generalized(_) => Ok(None),
    }
}

/// Looks whether what a request waits for is complete; after that it has nothing to tell any more.
fn look(process: &mut Process, state: &mut State) -> MpiResult<Option<Finished>> {
    match state {
        State::Complete(_) | State::Send(..) | State::Receive(..) => {
            look_at_message((&mut process.port, &process.communicators), state)
        }
        State::Operation(operation) => match operation.advance(process) {
            Ok(status) => Ok(status.map(Finished::well)),
            Err(error) if error.problem().ends_job() => Err(error),
            Err(error) => Ok(Some(Finished::failed(error))),
        },
        State::Persistent(persistent) => match &mut persistent.active {
            Some(active) => look(process, active),
            None => Ok(Some(Finished::well(Status::EMPTY))),
        },
        State::Generalized(generalized) => {
            let callbacks = generalized.complete.then(|| Box::new(generalized.callbacks));
            Ok(callbacks
                .is_some()
                .then(|| Finished { generalized: callbacks, ..Finished::well(Status::EMPTY) }))
        }
    }
}

/// Looks whether a request is complete; its handle stays, with nothing to tell any more if it is not plain.
fn look_at(process: &mut Process, handle: MPI_Request) -> MpiResult<Option<Finished>> {
    if handle == BUFFERED {
        return Ok(Some(Finished::well(Status::EMPTY)));
    }
    if let Some(nic) = process.plain(handle) {
        let Some(outcome) = process.port.look(nic)? else { return Ok(None) };
        let about = process.port.requests().about(nic).copied().unwrap_or(About::NOTHING);
        return Ok(Some(plain_end(process, &outcome, &about, process.port.is_send(nic))));
    }
    let Process { port, requests, communicators, .. } = process;
    let request = requests.table.get_mut(handle.0).map_err(|why| no_request(port, handle, why))?;
    let comm = request.comm;
    if let Some(message) = request.state.message() {
        let looked = look_at_message((port, communicators), message)?;
        return Ok(looked.map(|finished| finished.of(comm)));
    }
    let state = &mut request.state;
    // An operation works on the process, so it is out of the table meanwhile; the handle's slot is kept.
    let mut state = std::mem::replace(state, State::nothing());
    let looked = look(process, &mut state);
    process.request(handle)?.state = state;
    Ok(looked?.map(|finished| finished.of(comm)))
}

/// Takes a request that is complete in the commonest way: a plain receive of a small message that fits.
#[inline(always)]
pub fn take_received(process: &mut Process, handle: MPI_Request) -> Option<Status> {
    let nic = process.plain(handle)?;
    process.port.take_received(nic).map(Status::from)
}

/// Looks whether a request is complete; if it is, takes it, and the handle is null unless it is of a persistent one.
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
    if let Some(nic) = process.plain(*handle) {
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
    handle == MPI_REQUEST_NULL || (process.plain(handle).is_none() && is_inactive(process, handle))
}

#[inline(never)]
fn is_inactive(process: &mut Process, handle: MPI_Request) -> bool {
    let request = process.requests.table.get(handle.0);
    request.is_ok_and(|request| matches!(&request.state, State::Persistent(p) if p.active.is_none()))
}

/// Whether a request is complete; it stays as it is.
fn is_complete(process: &mut Process, handle: MPI_Request) -> MpiResult<bool> {
    let Some(finished) = look_at(process, handle)? else { return Ok(false) };
    keep(process, handle, finished);
    Ok(true)
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
    refuse_collective(&mut process, *handle, "complete it with MPI_Wait or MPI_Test")?;
    let freed = std::mem::replace(handle, MPI_REQUEST_NULL);
    if freed == BUFFERED {
        return Ok(());
    }
    if let Some(nic) = process.plain(freed) {
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
            State::Persistent(persistent) => {
                persistent.close(&mut process).for_each(|state| process.abandon(state, comm));
                process.advance()?;
            }
            state => process.abandon(state, comm),
        }
    }
    reap(&mut process)?;
    process.port.nudge(true)?;
    Ok(())
}

/// A collective operation that is under way can be neither freed nor cancelled (MPI-5.0, §6.12).
fn refuse_collective(process: &mut Process, handle: MPI_Request, instead: &str) -> MpiResult {
    if handle == BUFFERED || process.plain(handle).is_some() {
        return Ok(());
    }
    match process.request(handle)?.state.operation() {
        Some(operation) if operation.is_collective() => {
            let allowed = format!("a collective operation is under way with it; {instead}");
            Err(MpiError::argument(MPI_ERR_REQUEST, "request", format!("{:#x}", handle.0), allowed))
        }
        _ => Ok(()),
    }
}

impl Process {
    /// Takes over what is under way and the program cannot wait for.
    pub(crate) fn abandon(&mut self, state: State, comm: MPI_Comm) {
        self.requests.abandoned.push(Request { state, comm });
    }
}

/// Lets abandoned requests go that are complete; answers whether all are.
fn reap(process: &mut Process) -> MpiResult<bool> {
    let mut abandoned = std::mem::take(&mut process.requests.abandoned);
    let mut result = Ok(());
    abandoned.retain_mut(|request| match look(process, &mut request.state) {
        Ok(finished) => finished.is_none(),
        Err(error) => {
            result = Err(error);
            false
        }
    });
    let all = abandoned.is_empty();
    process.requests.abandoned.append(&mut abandoned);
    result.map(|()| all)
}

/// Waits for what the program left under way and cannot wait for: freed requests and buffered sends.
///
/// # Errors
/// The NIC fails.
pub fn complete_abandoned(process: &mut Guard, call: Primitive) -> MpiResult {
    let what = WaitingFor { call: call.index() as u32, ..WaitingFor::SOMETHING };
    process.wait_for_some(&what, |process| {
        let all = reap(process)?;
        let Process { port, attached, .. } = process;
        Ok((attached.reap(port)? && all).then_some(()))
    })
}

/// MPI_Cancel: asks for the operation to be taken back; it still has to be completed.
///
/// # Errors
/// No such request, or none that is active; what a generalized request's cancel function answers.
pub fn cancel(handle: MPI_Request) -> MpiResult {
    let mut process = process::enter()?;
    refuse_collective(&mut process, handle, "it cannot be taken back")?;
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

//! Requests: operations that may be under way (MPI-5.0, §3.7).
//!
//! A request is a slot in a table until it completes; [`Requests`] turns what the NIC says of it into a [`Finished`]. The calls of the
//! wait and test families are in [`complete`].

pub mod complete;
pub mod status;

pub use status::Status;

use crate::constants::*;
use crate::datatype::buffer::Staged;
use crate::error::{MpiError, MpiResult, Problem};
use crate::handle::{Kind, Stale, Table};
use crate::process::{self, Guard, Process};
use mds::Primitive;
use nic_emu::port::{Outcome, Port, PortError};
use nic_emu::status::WaitingFor;

/// An operation that is more than one descriptor: it is asked to go on until it is complete.
pub trait Operation {
    /// Does what can be done now; answers its status when it is complete.
    ///
    /// # Errors
    /// It failed; then it is complete.
    fn advance(&mut self, process: &mut Process) -> MpiResult<Option<Status>>;
}

/// What a request waits for.
pub enum State {
    /// Nothing: it completed when it was posted, or its end was seen before.
    Complete(Finished),
    /// A send, by the NIC's request; its bytes, where they were packed.
    Send(u32, Option<Box<[u8]>>),
    /// A receive, by the NIC's request; where it is unpacked from, if it is.
    Receive(u32, Option<Box<Staged>>),
    /// Something larger.
    Operation(Box<dyn Operation>),
}

/// An operation that may be under way.
pub struct Request {
    /// What it waits for.
    pub state: State,
    /// Its communicator.
    pub comm: MPI_Comm,
    /// What a hang report says of it: context, peer, tag and size.
    pub context: u32,
    /// The peer's rank in the communicator.
    pub peer: u32,
    /// The peer's rank in the job.
    pub peer_in_job: u32,
    /// The tag.
    pub tag: i32,
    /// Bytes sent, or room of a receive.
    pub bytes: u64,
}

/// How an operation ended.
#[derive(Debug)]
pub struct Finished {
    /// Its status.
    pub status: Status,
    /// What went wrong, if something did.
    pub error: Option<MpiError>,
}

impl Finished {
    /// An operation that ended well.
    #[inline]
    pub const fn well(status: Status) -> Self {
        Self { status, error: None }
    }

    /// The end of a receive with this much room.
    #[inline]
    pub fn received(outcome: &Outcome, room: u64) -> Self {
        let status = Status::received(outcome, room);
        Self { status, error: if outcome.bytes > room { Some(truncated(outcome, room)) } else { None } }
    }
}

#[cold]
fn truncated(outcome: &Outcome, room: u64) -> MpiError {
    MpiError::new(Problem::Truncated {
        sent: outcome.bytes,
        room,
        from: outcome.source as i32,
        tag: outcome.tag,
    })
}

/// The request of every send that was complete when it was posted: it has nothing to tell, so one serves for all.
pub const BUFFERED: MPI_Request = MPI_Request(Table::<Request>::shared(Kind::Request));

/// The requests of this process.
pub struct Requests {
    table: Table<Request>,
    /// Freed while under way (MPI_Request_free): they complete all the same.
    abandoned: Vec<Request>,
}

impl Default for Requests {
    fn default() -> Self {
        Self::new()
    }
}

impl Requests {
    /// None.
    pub const fn new() -> Self {
        Self { table: Table::new(Kind::Request), abandoned: Vec::new() }
    }

    /// The handle of a new request.
    #[inline(always)]
    pub fn insert(&mut self, make: impl FnOnce() -> Request) -> MPI_Request {
        MPI_Request(self.table.insert_with(make))
    }

    /// The handles themselves, for conversions.
    pub fn table(&self) -> &Table<Request> {
        &self.table
    }

    /// The handle as an `int`; that of a buffered send becomes one of its own, as an `int` names a slot.
    ///
    /// # Errors
    /// [`Stale`] when it names no request.
    pub fn to_int(&mut self, handle: usize) -> Result<i32, Stale> {
        if handle != BUFFERED.0 {
            return self.table.to_int(handle);
        }
        let own = self.insert(|| Request {
            state: State::Complete(Finished::well(Status::EMPTY)),
            comm: MPI_COMM_WORLD,
            context: u32::MAX,
            peer: nic_emu::status::NOBODY,
            peer_in_job: nic_emu::status::NOBODY,
            tag: 0,
            bytes: 0,
        });
        self.table.to_int(own.0)
    }

    /// What a hang report says of a call that waits for this request and `count - 1` others.
    #[cold]
    fn waiting_for(&self, call: Primitive, handle: MPI_Request, count: usize) -> MpiResult<WaitingFor> {
        let request = self.table.get(handle.0).map_err(|why| wrong(handle, why))?;
        Ok(WaitingFor {
            call: call.index() as u32,
            context: request.context,
            peer: request.peer,
            tag: request.tag,
            bytes: request.bytes,
            requests: count as u32,
            peer_in_job: request.peer_in_job,
            sends: matches!(request.state, State::Send(..)),
        })
    }
}

#[cold]
fn wrong(handle: MPI_Request, why: Stale) -> MpiError {
    MpiError::handle("request", handle.0, Kind::Request, why)
}

/// Looks at what the NIC says of a request's state.
#[inline]
fn look(port: &mut Port, state: &mut State, room: u64) -> MpiResult<Option<Finished>> {
    match state {
        State::Complete(finished) => Ok(Some(std::mem::replace(finished, Finished::well(Status::EMPTY)))),
        State::Send(nic, _) => Ok(port
            .test(*nic)?
            .map(|outcome| Finished::well(Status { cancelled: outcome.cancelled, ..Status::EMPTY }))),
        State::Receive(nic, staged) => {
            let Some(outcome) = port.test(*nic)? else { return Ok(None) };
            let finished = Finished::received(&outcome, room);
            if let Some(staged) = staged {
                // SAFETY: the request is complete only now, so its buffer is still the library's to write.
                unsafe { staged.unpack(finished.status.bytes as usize) };
            }
            Ok(Some(finished))
        }
        State::Operation(_) => Ok(None),
    }
}

/// Looks whether a request is complete; its handle stays.
#[inline]
fn look_at(process: &mut Process, handle: MPI_Request) -> MpiResult<Option<Finished>> {
    if handle == BUFFERED {
        return Ok(Some(Finished::well(Status::EMPTY)));
    }
    let Process { port, requests, .. } = process;
    let request = match requests.table.get_mut(handle.0) {
        Ok(request) => request,
        Err(why) => return Err(wrong(handle, why)),
    };
    if matches!(request.state, State::Operation(_)) {
        return advance(process, handle);
    }
    let finished = look(port, &mut request.state, request.bytes)?;
    Ok(finished.map(|mut finished| {
        if let Some(error) = finished.error.take() {
            finished.error = Some(error.of(request.comm));
        }
        finished
    }))
}

#[cold]
fn advance(process: &mut Process, handle: MPI_Request) -> MpiResult<Option<Finished>> {
    let request = process.requests.table.get_mut(handle.0).map_err(|why| wrong(handle, why))?;
    let comm = request.comm;
    let idle = State::Complete(Finished::well(Status::EMPTY));
    let State::Operation(mut operation) = std::mem::replace(&mut request.state, idle) else {
        return Ok(None);
    };
    let advanced = operation.advance(process);
    match advanced {
        Ok(Some(status)) => Ok(Some(Finished::well(status))),
        Err(error) if !error.problem().ends_job() => {
            Ok(Some(Finished { status: Status::EMPTY, error: Some(error.of(comm)) }))
        }
        Err(error) => Err(error),
        Ok(None) => {
            if let Ok(request) = process.requests.table.get_mut(handle.0) {
                request.state = State::Operation(operation);
            }
            Ok(None)
        }
    }
}

/// Looks whether a request is complete; takes it if it is.
#[inline(always)]
pub fn poll(process: &mut Process, handle: MPI_Request) -> MpiResult<Option<Finished>> {
    if handle == BUFFERED {
        return Ok(Some(Finished::well(Status::EMPTY)));
    }
    let Process { port, requests, .. } = process;
    // The commonest request: a receive whose bytes go where the program wants them.
    let mut failed = None;
    let received = requests.table.take_if(handle.0, |request| {
        let State::Receive(nic, None) = request.state else { return None };
        match port.test(nic) {
            Ok(outcome) => outcome.map(|outcome| {
                let mut finished = Finished::received(&outcome, request.bytes);
                if let Some(error) = finished.error.take() {
                    finished.error = Some(error.of(request.comm));
                }
                finished
            }),
            Err(error) => {
                failed = Some(error);
                None
            }
        }
    });
    match received {
        Ok(Some(finished)) => return Ok(Some(finished)),
        Ok(None) if failed.is_none() => {}
        _ => return poll_failed(handle, received.err(), failed),
    }
    poll_other(process, handle)
}

#[cold]
fn poll_failed(
    handle: MPI_Request,
    why: Option<Stale>,
    port: Option<PortError>,
) -> MpiResult<Option<Finished>> {
    match (why, port) {
        (Some(why), _) => Err(wrong(handle, why)),
        (None, Some(error)) => Err(error.into()),
        (None, None) => Ok(None),
    }
}

#[inline(never)]
fn poll_other(process: &mut Process, handle: MPI_Request) -> MpiResult<Option<Finished>> {
    let finished = look_at(process, handle)?;
    if finished.is_some() {
        // It was found above.
        let _ = process.requests.table.remove(handle.0);
    }
    Ok(finished)
}

/// Whether a request is complete; it stays as it is.
fn is_complete(process: &mut Process, handle: MPI_Request) -> MpiResult<bool> {
    let Some(finished) = look_at(process, handle)? else { return Ok(false) };
    if let Ok(request) = process.requests.table.get_mut(handle.0) {
        request.state = State::Complete(finished);
    }
    Ok(true)
}

/// MPI_Request_free: the operation goes on, without a handle.
///
/// # Errors
/// No such request.
pub fn free(handle: &mut MPI_Request) -> MpiResult {
    let mut process = process::enter()?;
    if *handle == MPI_REQUEST_NULL {
        return Err(wrong(*handle, Stale::Null));
    }
    if poll(&mut process, *handle)?.is_none()
        && let Ok(request) = process.requests.table.remove(handle.0)
    {
        process.requests.abandoned.push(request);
        reap(&mut process)?;
        process.port.nudge(true)?;
    }
    *handle = MPI_REQUEST_NULL;
    Ok(())
}

/// Lets abandoned requests go that are complete; answers whether all are.
fn reap(process: &mut Process) -> MpiResult<bool> {
    let mut abandoned = std::mem::take(&mut process.requests.abandoned);
    let mut result = Ok(());
    abandoned.retain_mut(|request| {
        let looked = match &mut request.state {
            State::Operation(operation) => {
                operation.advance(process).map(|status| status.map(Finished::well))
            }
            state => look(&mut process.port, state, request.bytes),
        };
        match looked {
            Ok(finished) => finished.is_none(),
            Err(error) => {
                result = Err(error);
                false
            }
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
    let what = WaitingFor {
        call: call.index() as u32,
        context: u32::MAX,
        peer: nic_emu::status::NOBODY,
        peer_in_job: nic_emu::status::NOBODY,
        requests: 1,
        ..WaitingFor::default()
    };
    process.wait(&what, |process| {
        let all = reap(process)?;
        let Process { port, attached, .. } = process;
        Ok((attached.reap(port)? && all).then_some(()))
    })
}

/// MPI_Cancel: asks for the operation to be taken back; it still has to be completed.
///
/// # Errors
/// No such request.
pub fn cancel(handle: MPI_Request) -> MpiResult {
    let mut process = process::enter()?;
    let Process { port, requests, .. } = &mut *process;
    let why = match requests.table.get(handle.0) {
        Ok(request) => {
            if let State::Send(nic, _) | State::Receive(nic, _) = request.state {
                port.cancel(nic)?;
            }
            return Ok(());
        }
        // It is complete already: there is nothing to take back.
        Err(_) if handle == BUFFERED => return Ok(()),
        Err(_) if handle == MPI_REQUEST_NULL => Stale::Null,
        Err(why) => why,
    };
    Err(wrong(handle, why))
}

/// MPI_Request_get_status: looks, and leaves the request as it is. A null request has the empty status.
///
/// # Errors
/// No such request.
pub fn get_status(handle: MPI_Request) -> MpiResult<Option<Status>> {
    let mut process = process::enter()?;
    if handle == MPI_REQUEST_NULL {
        return Ok(Some(Status::EMPTY));
    }
    let mut found = look_at(&mut process, handle)?;
    if found.is_none() {
        process.port.progress()?;
        found = look_at(&mut process, handle)?;
    }
    let Some(finished) = found else { return Ok(None) };
    let status = finished.status;
    if let Ok(request) = process.requests.table.get_mut(handle.0) {
        request.state = State::Complete(finished);
    }
    Ok(Some(status))
}

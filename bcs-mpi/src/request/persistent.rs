//! The calls that start persistent requests (MPI-5.0, §3.9; of collectives §6.13).

use super::{no_request, plain};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::request::{BUFFERED, Begun, Persistent, Request, Starter, State};
use crate::process::{self, Guard, Process};

/// The handle of a new persistent request, inactive.
pub fn create(process: &mut Process, starter: Box<dyn Starter>, comm: MPI_Comm) -> MPI_Request {
    process.requests.insert(State::Persistent(Box::new(Persistent { starter, active: None })), comm)
}

/// What starts a request, whether it is active, and its communicator; none if it is no persistent one.
///
/// # Errors
/// No such request.
pub(crate) fn starter(
    process: &mut Process,
    handle: MPI_Request,
) -> MpiResult<Option<(&dyn Starter, bool, MPI_Comm)>> {
    if handle == BUFFERED || plain(&process.port, handle).is_some() {
        return Ok(None);
    }
    let Request { state, comm } = process.request(handle)?;
    let State::Persistent(persistent) = state else { return Ok(None) };
    Ok(Some((&*persistent.starter, persistent.active.is_some(), *comm)))
}

fn not_startable(why: &str) -> MpiError {
    MpiError::argument(
        MPI_ERR_REQUEST,
        "request",
        why,
        "it has to be a persistent request that is not active",
    )
}

/// MPI_Start of several, MPI_Startall: in their order, until one fails.
///
/// # Errors
/// No persistent request, or an active one; what an operation cannot be started for.
pub fn start(handles: &[MPI_Request]) -> MpiResult {
    let mut process = process::enter()?;
    let mut has_posted = false;
    for &handle in handles {
        has_posted |= start_one(&mut process, handle)?;
    }
    process.advance()?;
    // What a collective operation posts on the NIC it sees to itself.
    if std::mem::take(&mut process.progress.has_posted) || has_posted {
        process.port.nudge(true)?;
    }
    Ok(())
}

/// Starts one; answers whether messages may be under way now.
fn start_one(process: &mut Guard, handle: MPI_Request) -> MpiResult<bool> {
    let (mut parts, requests) = process.parts_and_requests();
    let Request { state, comm } = requests.table.get_mut(handle.0).map_err(|why| {
        if plain(parts.port, handle).is_some() || handle == BUFFERED {
            not_startable("one of a non-blocking operation")
        } else {
            no_request(parts.port, handle, why)
        }
    })?;
    let State::Persistent(persistent) = state else {
        return Err(not_startable("one of a non-blocking operation").of(*comm));
    };
    if persistent.active.is_some() {
        return Err(not_startable("active: complete it first").of(*comm));
    }
    let steps = match persistent.starter.start(&mut parts).map_err(|error| error.of(*comm))? {
        Begun::Messages(state) => {
            let posted = !matches!(state, State::Several(_)) || state.one_of_several().is_some();
            persistent.active = Some(state);
            return Ok(posted);
        }
        Begun::Steps(steps) => steps,
    };
    let active = process.begin(steps)?;
    if let Ok(Request { state: State::Persistent(persistent), .. }) = process.requests.table.get_mut(handle.0)
    {
        persistent.active = Some(active);
    }
    Ok(false)
}

//! Persistent requests (MPI-5.0, §3.9; of collectives §6.13): an operation whose arguments are bound once and that is started many times.
//!
//! Life of one: inactive, then [`start`] makes it active, then the call that completes it makes it inactive again; its handle stays until
//! MPI_Request_free. What is started is an ordinary [`State`], which a [`Starter`] makes anew each time.

use super::{Request, State, no_request};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::process::{self, Process};

/// Makes the operation of a persistent request, each time that it is started.
pub trait Starter {
    /// Starts the operation; answers what its request waits for. Nothing is started where it fails.
    ///
    /// # Errors
    /// What the operation cannot be started for.
    fn start(&mut self, process: &mut Process) -> MpiResult<State>;

    /// Takes back what [`Self::start`] gave away, once the operation is complete: a buffer, to be used again.
    fn take_back(&mut self, _state: State) {}

    /// The request is freed: answers what is still to be done about that.
    fn close(&mut self, _process: &mut Process) -> Option<State> {
        None
    }
}

/// What a persistent request is.
pub struct Persistent {
    starter: Box<dyn Starter>,
    /// What was started and is not completed.
    pub(super) active: Option<State>,
}

impl Persistent {
    /// The request is freed: answers what goes on.
    pub(super) fn close(mut self, process: &mut Process) -> impl Iterator<Item = State> + use<> {
        let closing = self.starter.close(process);
        self.active.into_iter().chain(closing)
    }

    /// Makes the request inactive: its operation was completed by a call of the program.
    pub(super) fn end(&mut self) {
        if let Some(state) = self.active.take() {
            self.starter.take_back(state);
        }
    }
}

/// The handle of a new persistent request, inactive.
pub fn create(process: &mut Process, starter: Box<dyn Starter>, comm: MPI_Comm) -> MPI_Request {
    process.requests.insert(State::Persistent(Box::new(Persistent { starter, active: None })), comm)
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
fn start_one(process: &mut Process, handle: MPI_Request) -> MpiResult<bool> {
    let Process { port, requests, .. } = process;
    let Request { state, comm } = requests.table.get_mut(handle.0).map_err(|why| {
        if super::plain(port, handle).is_some() || handle == super::BUFFERED {
            not_startable("one of a non-blocking operation")
        } else {
            no_request(port, handle, why)
        }
    })?;
    let comm = *comm;
    let State::Persistent(persistent) = state else {
        return Err(not_startable("one of a non-blocking operation").of(comm));
    };
    if persistent.active.is_some() {
        return Err(not_startable("active: complete it first").of(comm));
    }
    // The starter works on the process, so its request is out of the table meanwhile; the handle's slot is kept.
    let mut taken = std::mem::replace(state, State::nothing());
    let started = match &mut taken {
        State::Persistent(persistent) => persistent.starter.start(process).map(|active| {
            let is_message = !matches!(active, State::Operation(_));
            persistent.active = Some(active);
            is_message
        }),
        _ => Ok(false),
    };
    process.request(handle)?.state = taken;
    started.map_err(|error| error.of(comm))
}

//! The error of a call: a problem, and whose error handler is asked.

use super::{Owner, Problem};
use crate::constants::{MPI_Errhandler, MPI_SUCCESS};
use crate::kind::{Kind, Stale};
use nic_emu::channel::ChannelError;
use nic_emu::port::PortError;
use std::ffi::c_int;
use std::fmt;

/// An error of a call: a thin pointer, so that results stay in registers on the path without errors.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.problem)]
pub struct MpiError(Box<Detail>);

#[derive(Debug)]
struct Detail {
    problem: Problem,
    /// Whose error handler is asked, where the call's arguments do not say.
    owner: Option<Owner>,
    /// The error handler that is asked, where no object has it yet.
    handler: Option<MPI_Errhandler>,
}

/// What a callback of the program answered.
pub(crate) fn answered(code: c_int) -> MpiResult {
    if code == MPI_SUCCESS { Ok(()) } else { Err(MpiError::new(Problem::Code(code))) }
}

/// What every call answers.
pub type MpiResult<T = ()> = Result<T, MpiError>;

impl MpiError {
    /// An error.
    #[cold]
    pub fn new(problem: Problem) -> Self {
        Self(Box::new(Detail { problem, owner: None, handler: None }))
    }

    /// A handle that names no object.
    #[cold]
    pub fn handle(argument: &'static str, value: usize, kind: Kind, why: Stale) -> Self {
        Self::new(Problem::Handle { argument, value, kind, why })
    }

    /// Another argument that is not allowed.
    #[cold]
    pub fn argument(
        class: c_int,
        argument: &'static str,
        value: impl fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self::new(Problem::Argument { class, argument, value: value.to_string(), allowed: allowed.into() })
    }

    /// The same error, of an operation of this communicator, session, window or file.
    #[cold]
    pub fn of(mut self, owner: impl Into<Owner>) -> Self {
        self.0.owner.get_or_insert(owner.into());
        self
    }

    /// The same error, of an object that was to be made with this error handler, which is told the null
    /// handle of its kind.
    #[cold]
    pub fn told_to(mut self, handler: MPI_Errhandler, null: impl Into<Owner>) -> Self {
        self.0.owner = Some(null.into());
        self.0.handler = Some(handler);
        self
    }

    /// The error handler that is asked instead of an object's.
    pub fn handler(&self) -> Option<MPI_Errhandler> {
        self.0.handler
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// Names the argument that is wrong, where it is one, as a call with these parameters does.
    pub(crate) fn name_as_in(&mut self, parameters: &[&'static str]) {
        self.0.problem.name_as_in(parameters);
    }

    /// Its error class.
    pub fn class(&self) -> c_int {
        self.0.problem.class()
    }

    /// The object it belongs to, if the error knows.
    pub fn owner(&self) -> Option<Owner> {
        self.0.owner
    }
}

impl<E: Into<PortError>> From<E> for MpiError {
    #[cold]
    fn from(error: E) -> Self {
        let error = error.into();
        if matches!(error, PortError::Channel(ChannelError::Gone { .. })) {
            leave_the_word_to_the_launcher();
        }
        Self::new(match error {
            PortError::Aborted => Problem::JobEnds,
            PortError::Broken(report) => Problem::Mismatch(report),
            error @ PortError::TooManyRequests { .. } => Problem::Exhausted(error.to_string()),
            error => Problem::Nic(error.to_string()),
        })
    }
}

/// A rank whose peer has died waits to be ended with the job: how the peer died is what the user has to read,
/// and the launcher, which knows it, may see it a moment later than this rank. Other threads of the rank that
/// call MPI wait with it: there is no job left for them to go on with. Returns when nobody has ended it for
/// long: then the launcher is gone as well.
#[cold]
fn leave_the_word_to_the_launcher() {
    std::thread::sleep(std::time::Duration::from_secs(5));
}

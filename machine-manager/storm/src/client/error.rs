//! Why a request to the manager came to nothing.

use super::connection::ConnectError;
use bcs_protocol::storm::Reply;
use bcs_stream::StreamError;
use program_launcher::signals::Signal;
use program_launcher::verdict::{STATUS_RUNTIME, STATUS_SIGNAL, STATUS_USAGE};
use std::io;

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The system refused something that `storm` needs.
    #[error("cannot {what}: {error}; the machine is short of descriptors or memory")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
    /// The manager cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The manager has said no.
    #[error("{reason}")]
    Refused {
        /// Why, and what to do.
        reason: String,
        /// The exit status.
        status: u8,
    },
    /// The manager is gone.
    #[error("the machine manager {at} is gone{}: {what}", detail(error))]
    Gone {
        /// Where it was.
        at: String,
        /// What becomes of the request.
        what: &'static str,
        /// How it was seen, if it was no orderly end.
        error: Option<StreamError>,
    },
    /// The manager says something else than what was asked.
    #[error(
        "the machine manager {at} answers what this storm cannot use ({reason}): are both of the same release?"
    )]
    Nonsense {
        /// Where it is.
        at: String,
        /// What is wrong.
        reason: String,
    },
    /// What the ranks write cannot be written here.
    #[error("cannot write the output of the job: {0}; it was ended")]
    Output(io::Error),
    /// The reader of our output has gone: nothing that the user wants to read about.
    #[error("nobody reads the output any more; the job was ended")]
    OutputGone,
    /// The user has asked three times.
    #[error("the job was given up before the machine manager {at} had ended it")]
    GivenUp {
        /// Where it is.
        at: String,
        /// By which signal.
        signal: Signal,
    },
}

fn detail(error: &Option<StreamError>) -> String {
    error.as_ref().map_or(String::new(), |error| format!(" ({error})"))
}

impl ClientError {
    /// The exit status of `storm` for it.
    pub fn status(&self) -> u8 {
        match self {
            Self::System { .. } | Self::Output(_) => STATUS_USAGE,
            Self::Connect(_) | Self::Gone { .. } | Self::Nonsense { .. } => STATUS_RUNTIME,
            Self::Refused { status, .. } => *status,
            Self::OutputGone => STATUS_SIGNAL + libc::SIGPIPE as u8,
            Self::GivenUp { signal, .. } => STATUS_SIGNAL + *signal as u8,
        }
    }

    /// What the user reads, if there is something to say.
    pub fn message(&self) -> Option<String> {
        match self {
            Self::OutputGone => None,
            error => Some(error.to_string()),
        }
    }

    /// The manager answers what was not asked for.
    pub(super) fn unexpected(at: String, reply: &Reply) -> Self {
        let kind = match reply {
            Reply::Refused { .. } => "a refusal",
            Reply::Accepted { .. } => "a second acceptance of the job",
            Reply::Remark(_) => "a remark",
            Reply::Output { .. } => "output",
            Reply::InputTaken { .. } => "input",
            Reply::Over(_) => "the end of a job",
            Reply::Nodes(_) => "a list of nodes",
            Reply::Status(_) => "the state of a job",
        };
        Self::Nonsense { at, reason: format!("{kind} was not asked for") }
    }
}

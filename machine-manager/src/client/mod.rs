//! `storm` as the client of a cluster's manager (paper, §4.1).
//!
//! Invariant: what the user sees is what `storm` without a cluster shows: the bytes of the ranks, one line for what is wrong, and
//! the job's exit status; and one that has lost its manager says so and ends.

pub mod connection;
mod descriptor;
mod input;
mod output;
pub mod session;
mod table;

use crate::protocol::{NodeRow, Reply, Request, Submission};
use bcs_core::JobId;
use bcs_core::config::Config;
use bcs_core::stream::StreamError;
use connection::{ConnectError, Connection};
use node_manager::signals::Signal;
use node_manager::verdict::{STATUS_RUNTIME, STATUS_USAGE};
use std::io;

pub use table::{json, table};

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
    #[error("cannot write the output of the job: {error}; it was ended")]
    Output {
        /// Why.
        error: io::Error,
    },
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
            Self::System { .. } | Self::Output { .. } => STATUS_USAGE,
            Self::Connect(_) | Self::Gone { .. } | Self::Nonsense { .. } => STATUS_RUNTIME,
            Self::Refused { status, .. } => *status,
            Self::OutputGone => node_manager::verdict::STATUS_SIGNAL + libc::SIGPIPE as u8,
            Self::GivenUp { signal, .. } => node_manager::verdict::STATUS_SIGNAL + *signal as u8,
        }
    }

    /// What the user reads, if there is something to say.
    pub fn message(&self) -> Option<String> {
        match self {
            Self::OutputGone => None,
            error => Some(error.to_string()),
        }
    }
}

/// Runs a job on the cluster to its end; gives its verdict. `remark` is told what the user should know before that.
///
/// # Errors
/// It was not started, or its end is not known.
pub fn run(
    config: &Config,
    submission: Submission,
    remark: impl Fn(&str),
) -> Result<node_manager::Verdict, ClientError> {
    in_runtime(async { session::run(connection::connect(config).await?, submission, remark).await })
}

/// Asks which nodes there are.
///
/// # Errors
/// The manager does not say it.
pub fn nodes(config: &Config) -> Result<Vec<NodeRow>, ClientError> {
    match ask(config, Request::Nodes)? {
        (_, Reply::Nodes(rows)) => Ok(rows),
        (at, other) => Err(unexpected(at, &other)),
    }
}

/// Asks what a job does.
///
/// # Errors
/// The manager does not say it.
pub fn status(config: &Config, job: JobId) -> Result<String, ClientError> {
    match ask(config, Request::Status { job })? {
        (_, Reply::Status(text)) => Ok(text),
        (at, other) => Err(unexpected(at, &other)),
    }
}

/// Makes a request that has one answer.
fn ask(config: &Config, request: Request) -> Result<(String, Reply), ClientError> {
    in_runtime(async {
        let Connection { mut writer, mut replies, at } = connection::connect(config).await?;
        let gone = |at: &str, error| ClientError::Gone {
            at: at.to_owned(),
            what: "the request was not answered",
            error,
        };
        bcs_core::stream::send(&mut writer, &request).await.map_err(|error| gone(&at, Some(error)))?;
        match replies.receive::<Reply>().await {
            Ok(Some(Reply::Refused { reason, status })) => Err(ClientError::Refused { reason, status }),
            Ok(Some(reply)) => Ok((at, reply)),
            Ok(None) => Err(gone(&at, None)),
            Err(StreamError::Wire(error)) => Err(ClientError::Nonsense { at, reason: error.to_string() }),
            Err(error) => Err(gone(&at, Some(error))),
        }
    })
}

fn unexpected(at: String, reply: &Reply) -> ClientError {
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
    ClientError::Nonsense { at, reason: format!("{kind} was not asked for") }
}

fn in_runtime<T>(work: impl Future<Output = Result<T, ClientError>>) -> Result<T, ClientError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .map_err(|error| ClientError::System { what: "wait for the machine manager", error })?
        .block_on(work)
}

//! `storm` as the client of a cluster's manager (paper, §4.1).
//!
//! Invariant: what the user sees is what `storm` without a cluster shows: the bytes of the ranks, one line
//! for what is wrong, and the job's exit status; and one that has lost its manager says so and ends.

pub mod connection;
mod descriptor;
mod error;
mod input;
mod output;
pub mod session;
mod table;

use bcs_config::Config;
use bcs_core::JobId;
use bcs_protocol::storm::{NodeRow, Reply, Request, Submission};
use bcs_stream::StreamError;
use connection::Connection;

pub use error::ClientError;
pub use table::{json, table};

/// Runs a job on the cluster to its end; gives its verdict. `remark` is told what the user should know before
/// that.
///
/// # Errors
/// It was not started, or its end is not known.
pub fn run(
    config: &Config,
    submission: Submission,
    remark: impl Fn(&str),
) -> Result<program_launcher::Verdict, ClientError> {
    in_runtime(async { session::run(connection::connect(config).await?, submission, remark).await })
}

/// Asks which nodes there are.
///
/// # Errors
/// The manager does not say it.
pub fn nodes(config: &Config) -> Result<Vec<NodeRow>, ClientError> {
    match ask(config, Request::Nodes)? {
        (_, Reply::Nodes(rows)) => Ok(rows),
        (at, other) => Err(ClientError::unexpected(at, &other)),
    }
}

/// Asks what a job does.
///
/// # Errors
/// The manager does not say it.
pub fn status(config: &Config, job: JobId) -> Result<String, ClientError> {
    match ask(config, Request::Status { job })? {
        (_, Reply::Status(text)) => Ok(text),
        (at, other) => Err(ClientError::unexpected(at, &other)),
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
        bcs_stream::send(&mut writer, &request).await.map_err(|error| gone(&at, Some(error)))?;
        match replies.receive::<Reply>().await {
            Ok(Some(Reply::Refused { reason, status })) => Err(ClientError::Refused { reason, status }),
            Ok(Some(reply)) => Ok((at, reply)),
            Ok(None) => Err(gone(&at, None)),
            Err(StreamError::Wire(error)) => Err(ClientError::Nonsense { at, reason: error.to_string() }),
            Err(error) => Err(gone(&at, Some(error))),
        }
    })
}

fn in_runtime<T>(work: impl Future<Output = Result<T, ClientError>>) -> Result<T, ClientError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .map_err(|error| ClientError::System { what: "wait for the machine manager", error })?
        .block_on(work)
}

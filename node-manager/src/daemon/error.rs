//! Why a node manager cannot run.

use bcs_config::ConfigError;
use bcs_credentials::CredentialError;
use bcs_stream::StreamError;
use std::io;
use std::path::PathBuf;

/// The variable that names the program launcher, if it is not beside the daemon.
pub const LAUNCHER: &str = "BCS_LAUNCHER";

/// Why a node manager cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The node is not in it.
    #[error("{host} is no node of the cluster '{cluster}': list it in [[nodes]] of {}, or name another with --host", config.display())]
    NotANode {
        /// The node's name.
        host: String,
        /// The cluster's.
        cluster: String,
        /// The file.
        config: PathBuf,
    },
    /// The credential cannot be read.
    #[error(
        "{0}; a node's credential is made where the cluster's authority is, and kept as HOST.pem in paths.keys"
    )]
    Credential(#[from] CredentialError),
    /// The credential is for somebody else.
    #[error("{} is the credential of '{name}', not of '{host}'; copy this node's own", path.display())]
    OtherCredential {
        /// The file.
        path: PathBuf,
        /// For whom it is.
        name: String,
        /// For whom it should be.
        host: String,
    },
    /// The credential cannot be used.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// There is no program launcher in any of these places.
    #[error("there is no program launcher at {}; install it beside node-manager, or name it in {LAUNCHER}", .0.join(" or "))]
    NoLauncher(Vec<String>),
    /// The system refuses something that every node manager needs.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
}

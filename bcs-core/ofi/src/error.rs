//! What keeps a node from joining a network over libfabric.

use bcs_fabric::{BindError, RosterError};
use bcs_libfabric::OfiError;
use bcs_tcp::JoinError;

/// Why a node cannot bind to its network.
#[derive(Debug, thiserror::Error)]
pub enum OfiBindError {
    /// The links over which nodes prove who they are.
    #[error(transparent)]
    Links(#[from] BindError),
    /// libfabric.
    #[error(transparent)]
    Ofi(#[from] OfiError),
}

/// Why a node cannot join its network.
#[derive(Debug, thiserror::Error)]
pub enum OfiJoinError {
    /// The roster.
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// The links over which nodes prove who they are.
    #[error(transparent)]
    Links(#[from] JoinError),
    /// libfabric.
    #[error(transparent)]
    Ofi(#[from] OfiError),
    /// What a driver sleeps on.
    #[error("cannot watch the descriptors of the network: {0}")]
    Poller(std::io::Error),
}

//! What ends a job that spans nodes.

use crate::channel::ChannelError;
use crate::memory::{Context, Corrupt};
use bcs_core::NodeId;
use bcs_fabric::FabricError;

/// Why global slices cannot go on. All of them end the job.
#[derive(Debug, thiserror::Error)]
pub enum GlobalError {
    /// A node of the job died.
    #[error("{node} of the job has died: its ranks are lost; start the job again without it")]
    NodeDied {
        /// The node's number in the job.
        node: NodeId,
    },
    /// The network failed otherwise.
    #[error("the job's network failed: {0}")]
    Fabric(FabricError),
    /// NIC memory is corrupt.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// Bytes of a rank cannot be read or written.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// What another node sent makes no sense.
    #[error(
        "{node} sent a record that cannot be ({what} {value}): the nodes run different versions, or NIC memory is corrupt"
    )]
    Record {
        /// The sender.
        node: NodeId,
        /// What is wrong.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// A communicator that spans nodes was never registered.
    #[error("context {context} spans nodes, but its communicator's members were not registered with the NIC")]
    UnknownGroup {
        /// The context.
        context: Context,
    },
}

/// What this node sent makes no sense.
pub(super) fn strange(node: u32, what: &'static str, value: u64) -> GlobalError {
    GlobalError::Record { node: NodeId(node), what, value }
}

impl From<FabricError> for GlobalError {
    fn from(error: FabricError) -> Self {
        match error {
            FabricError::NodeDead { node, .. } | FabricError::SelfDead { node, .. } => {
                GlobalError::NodeDied { node }
            }
            other => GlobalError::Fabric(other),
        }
    }
}

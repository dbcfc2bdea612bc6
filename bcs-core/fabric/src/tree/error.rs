//! What a message cannot be.

use super::initiator::OPERATIONS_LIMIT;
use super::message::{OperationId, Stamp, Verdict};
use bcs_core::global_memory::MemoryError;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;

/// No clock comes near this: at a billion operations a second it takes a hundred years.
pub(super) const STAMP_LIMIT: Stamp = 1 << 62;

/// Why a message cannot be: its sender does not keep the protocol, and is best cut off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A message from a node that is not a member.
    #[error("a message from {from}, which is not a member")]
    Stranger {
        /// The sender.
        from: NodeId,
    },
    /// An access beyond this node's memory.
    #[error("{operation}, from {from}: {error}")]
    Memory {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
        /// What is wrong.
        error: MemoryError,
    },
    /// An event beyond this node's table.
    #[error("{operation}, from {from}, names event {event}, but there are {count}")]
    NoSuchEvent {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
        /// The event's number.
        event: u32,
        /// The number of events.
        count: u32,
    },
    /// More payload than was announced.
    #[error("{operation}, from {from}, has {bytes} more bytes than it announced")]
    Excess {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
        /// How many bytes are too many.
        bytes: u64,
    },
    /// A fragment without bytes.
    #[error("{operation}, from {from}, has a fragment of no bytes")]
    Empty {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
    },
    /// An operation of a node that is not a member, or of the receiver itself.
    #[error("{operation}, from {from}, is of no other member of this network")]
    Foreign {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
    },
    /// More operations of a node than it may have under way.
    #[error("{operation} comes when {from} has {OPERATIONS_LIMIT} under way, which is the limit")]
    TooMany {
        /// The sender, whose operation it is.
        from: NodeId,
        /// The operation.
        operation: OperationId,
    },
    /// A node set that reaches beyond the members, or back to the receiver.
    #[error("{from} wants a message passed on to {nodes}, which may not get it from here")]
    Misrouted {
        /// The sender.
        from: NodeId,
        /// The nodes.
        nodes: NodeSet,
    },
    /// A stamp that no operation could have reached.
    #[error("{from} sends the stamp {stamp}, which is beyond {STAMP_LIMIT}")]
    Stamp {
        /// The sender.
        from: NodeId,
        /// The stamp.
        stamp: Stamp,
    },
    /// A decision that the operation's stage does not allow.
    #[error("{from} decides {verdict:?} on {operation}, which this node has in stage {stage}")]
    Impossible {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
        /// The decision.
        verdict: Verdict,
        /// The stage.
        stage: &'static str,
    },
}

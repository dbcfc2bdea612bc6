//! What a message cannot be.

use super::initiator::OPERATIONS_LIMIT;
use super::message::{OperationId, Stamp, Verdict};
use bcs_core::global_memory::MemoryError;
use bcs_core::node_set::NodeSet;

/// No clock comes near this: at a billion operations a second it takes a hundred years.
pub(super) const STAMP_LIMIT: Stamp = 1 << 62;

/// Why a message cannot be: its sender, which who hands the message over knows, does not keep the protocol,
/// and is best cut off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// Its sender is not a member.
    #[error("it is not a member")]
    Stranger,
    /// An access beyond this node's memory.
    #[error("{operation}: {error}")]
    Memory {
        /// The operation.
        operation: OperationId,
        /// What is wrong.
        error: MemoryError,
    },
    /// An event beyond this node's table.
    #[error("{operation} names event {event}, but there are {count}")]
    NoSuchEvent {
        /// The operation.
        operation: OperationId,
        /// The event's number.
        event: u32,
        /// The number of events.
        count: u32,
    },
    /// More payload than was announced.
    #[error("{operation} has {bytes} more bytes than it announced")]
    Excess {
        /// The operation.
        operation: OperationId,
        /// How many bytes are too many.
        bytes: u64,
    },
    /// A fragment of this operation has no bytes.
    #[error("{0} has a fragment of no bytes")]
    Empty(OperationId),
    /// An operation of a node that is not a member, or of the receiver itself.
    #[error("{0} is of no other member of this network")]
    Foreign(OperationId),
    /// An operation of its sender, which has as many under way as it may.
    #[error("{0} comes when {OPERATIONS_LIMIT} of its sender are under way, which is the limit")]
    TooMany(OperationId),
    /// Nodes to pass it on to that reach beyond the members, or back to the receiver.
    #[error("a message is to be passed on to {0}, which may not get it from here")]
    Misrouted(NodeSet),
    /// A stamp that no operation could have reached.
    #[error("the stamp {0} is beyond {STAMP_LIMIT}")]
    Stamp(Stamp),
    /// A decision that the operation's stage does not allow.
    #[error("{verdict:?} is decided on {operation}, which this node has in stage {stage}")]
    Impossible {
        /// The operation.
        operation: OperationId,
        /// The decision.
        verdict: Verdict,
        /// The stage.
        stage: &'static str,
    },
}

//! What can go wrong with an operation of a fabric: each error names the operation, the object and the value.

use super::Ticket;
use bcs_core::event::EventId;
use bcs_core::global_memory::MemoryError;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use std::fmt;

/// The call that an error speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Xfer-And-Signal.
    XferAndSignal,
    /// Test-Event.
    TestEvent,
    /// Compare-And-Write.
    CompareAndWrite,
    /// A read of the node's own memory.
    Read,
    /// A failure detector's verdict.
    DeclareDead,
    /// The sending of a record.
    Send,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::XferAndSignal => "Xfer-And-Signal",
            Self::TestEvent => "Test-Event",
            Self::CompareAndWrite => "Compare-And-Write",
            Self::Read => "read of global memory",
            Self::DeclareDead => "declaration of a dead node",
            Self::Send => "sending of a record",
        })
    }
}

/// Why an operation of a fabric failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FabricError {
    /// A node of the operation's set is dead. The operation has had no effect on any surviving node.
    #[error("{operation} failed because {node} is dead; leave it out of the node set")]
    NodeDead {
        /// The operation.
        operation: Operation,
        /// The dead node; the lowest when there are several.
        node: NodeId,
    },
    /// This node has itself been declared dead: it takes no further part.
    #[error("{operation} refused: {node}, which asks for it, has been declared dead")]
    SelfDead {
        /// The operation.
        operation: Operation,
        /// This node.
        node: NodeId,
    },
    /// The operation's set of nodes is empty.
    #[error("{0} needs at least one node; the node set is empty")]
    NoNodes(Operation),
    /// A node that the fabric does not connect.
    #[error("{operation} names {node}, which is not one of this fabric's nodes {members}")]
    NotAMember {
        /// The operation.
        operation: Operation,
        /// The lowest node that is not a member.
        node: NodeId,
        /// The fabric's nodes.
        members: NodeSet,
    },
    /// A record is for another node.
    #[error("{operation} names {node}, which is the node that asks for it")]
    OwnNode {
        /// The operation.
        operation: Operation,
        /// This node.
        node: NodeId,
    },
    /// A record beyond the longest.
    #[error("a record of {bytes} bytes is too long: at most {limit} travel as one")]
    RecordTooLong {
        /// Its length.
        bytes: usize,
        /// The longest.
        limit: usize,
    },
    /// An event beyond the table.
    #[error("{operation} names {event}, but nodes have {count} events, numbered from 0")]
    NoSuchEvent {
        /// The operation.
        operation: Operation,
        /// The event.
        event: EventId,
        /// The number of events.
        count: u32,
    },
    /// A range that is not in global memory.
    #[error("{operation} refused: {error}")]
    Memory {
        /// The operation.
        operation: Operation,
        /// What is wrong with the range.
        error: MemoryError,
    },
    /// Too much is under way.
    #[error("{operation} refused: {limit} {unit} are under way; drive the fabric and call again")]
    Busy {
        /// The operation.
        operation: Operation,
        /// How many may be under way.
        limit: usize,
        /// What is counted.
        unit: &'static str,
    },
    /// A ticket that was not given out, or whose answer has been taken.
    #[error("Compare-And-Write {0:?} is not under way: its answer can be taken once")]
    UnknownTicket(Ticket),
    /// A wait of a node that would never end.
    #[error("{0} waits, but nothing is under way that could wake it")]
    Stalled(NodeId),
    /// The network below the fabric has failed.
    #[error("the network of {node} failed: {reason}")]
    Network {
        /// The node whose port failed.
        node: NodeId,
        /// What happened.
        reason: String,
    },
}

impl FabricError {
    /// Adds the operation to a refused access.
    pub fn memory(operation: Operation) -> impl Fn(MemoryError) -> Self {
        move |error| Self::Memory { operation, error }
    }
}

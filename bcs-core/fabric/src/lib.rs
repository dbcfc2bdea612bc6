//! The three primitives (paper, §2), as a trait that every network implements.
//!
//! The trait is shaped by RDMA: memory is registered once (with the backend's constructor), puts are
//! one-sided, completion is an event. It is poll-shaped: no hot call blocks, so the same protocol code runs
//! on real threads and in a simulation of thousands of nodes on one.
//!
//! What every backend promises, and the suite in `conformance` (a cargo feature) checks:
//! - **Atomic.** An Xfer-And-Signal reaches all nodes of its set or none, a Compare-And-Write writes on all
//!   or none, also when nodes die in mid-transfer (what a dead node got, nobody can see).
//! - **Sequentially consistent.** All operations, and the reads of a node's own memory, take effect as if one
//!   after another in some order that keeps each node's own. (An operation that the node does not wait for is
//!   concurrent with its later ones, except on the nodes that they share.)
//! - **Ordered.** Operations of one node take effect on another in the order in which they were called.
//! - **Complete means there.** When the local event is signalled, every node of the set has the data and
//!   its remote event.
//!
//! Messages between two nodes have a trait of their own, [`Road`].

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod driven;
mod error;
mod membership;
mod ring_road;
mod road;
#[cfg(any(test, feature = "sim"))]
pub mod sim;
#[cfg(test)]
mod tests;
pub mod tree;

pub use bytes::Bytes;
pub use driven::{Carried, Driven, LinkDescriptors, Polling, SHARED_MEMORY_NAME, Silence};
pub use error::{FabricError, Operation};
pub use membership::{BindError, LinkError, Member, MemberNames, NetworkId, RosterError};
pub use ring_road::{ROAD_EVENTS, RingRoad, road_bytes};
pub use road::{DrivenRoad, Road, check_record};

use bcs_core::event::EventId;
use bcs_core::global_memory::{GlobalAddress, GlobalVariable};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use std::cmp::Ordering;

/// What an Xfer-And-Signal sends.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// These bytes. They are taken over before the call returns.
    Bytes(&'a [u8]),
    /// These bytes, which the network shares with the caller and does not copy.
    Shared(&'a Bytes),
    /// A range of the caller's own global memory. It must not change before the local event is signalled:
    /// the network may read it as late as that.
    Global {
        /// Where the range begins.
        at: GlobalAddress,
        /// Its length in bytes.
        bytes: u64,
    },
}

impl Source<'_> {
    /// The length in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Source::Bytes(data) => data.len() as u64,
            Source::Shared(data) => data.len() as u64,
            Source::Global { bytes, .. } => *bytes,
        }
    }
}

/// How Compare-And-Write compares a global variable (left) with a value (right).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub enum Condition {
    /// The variable is at least the value.
    GreaterEqual,
    /// The variable is below the value.
    Less,
    /// The variable is the value.
    Equal,
    /// The variable is not the value.
    NotEqual,
}

impl Condition {
    /// Whether the condition holds.
    pub fn holds(self, variable: u64, value: u64) -> bool {
        match self {
            Self::GreaterEqual => variable.cmp(&value) != Ordering::Less,
            Self::Less => variable.cmp(&value) == Ordering::Less,
            Self::Equal => variable == value,
            Self::NotEqual => variable != value,
        }
    }
}

/// What Compare-And-Write asks on every node of its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Comparison {
    /// The variable that is read.
    pub variable: GlobalVariable,
    /// How it is compared.
    pub condition: Condition,
    /// With what.
    pub value: u64,
}

/// What Compare-And-Write writes on every node of its set when the comparison holds on all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Assignment {
    /// The variable that is written: the compared one or another.
    pub variable: GlobalVariable,
    /// Its new value.
    pub value: u64,
}

/// Names a Compare-And-Write under way, to the fabric that gave it out. Its answer is taken exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A node's port to the network. Hot calls first; none of them blocks. An error that a call returns means
/// that nothing has happened and no event will be signalled.
pub trait Fabric {
    /// **Xfer-And-Signal**: puts the source to address `at` of every node of the set (which may hold the
    /// caller), and adds a signal to `remote_event` on each, and then to `local_event` here.
    ///
    /// # Errors
    /// The operation's arguments are wrong, a node of the set is dead, or too many operations are under way
    /// ([`FabricError::Busy`]: call again after [`Fabric::progress`]). A node that dies later is reported by
    /// [`Fabric::test_event`] of the local event or, when there is none, by [`Fabric::take_failure`].
    fn xfer_and_signal(
        &mut self,
        source: Source<'_>,
        destinations: &NodeSet,
        at: GlobalAddress,
        local_event: Option<EventId>,
        remote_event: Option<EventId>,
    ) -> Result<(), FabricError>;

    /// **Test-Event**, polled: takes all signals of an event of this node and says how many there were.
    ///
    /// # Errors
    /// A transfer with this local event failed: none of its nodes has the data. Failures come before signals,
    /// one a call. [`FabricError::NoSuchEvent`] for an event beyond the table.
    fn test_event(&mut self, event: EventId) -> Result<u32, FabricError>;

    /// **Compare-And-Write**, started: asks whether the comparison holds on all nodes of the set, and if so
    /// makes the assignment on all. The answer comes through [`Fabric::test_query`].
    ///
    /// # Errors
    /// As [`Fabric::xfer_and_signal`].
    fn compare_and_write(
        &mut self,
        nodes: &NodeSet,
        comparison: Comparison,
        assignment: Option<Assignment>,
    ) -> Result<Ticket, FabricError>;

    /// Takes the answer of a Compare-And-Write: whether the comparison held on all nodes. `None` when it is
    /// not there yet.
    ///
    /// # Errors
    /// A node of the set has died (nothing has been written on any); [`FabricError::UnknownTicket`] for a
    /// ticket that this fabric did not give out, or, where the fabric keeps answers, whose answer has been
    /// taken before.
    fn test_query(&mut self, ticket: Ticket) -> Option<Result<bool, FabricError>>;

    /// Reads from this node's own global memory.
    ///
    /// # Errors
    /// The range is not in the memory.
    fn read(&self, at: GlobalAddress, into: &mut [u8]) -> Result<(), FabricError>;

    /// Reads a variable of this node's own global memory.
    ///
    /// # Errors
    /// The variable is not in the memory.
    fn load(&self, variable: GlobalVariable) -> Result<u64, FabricError>;

    /// Moves what can be moved without waiting. Anybody who polls calls this between polls.
    ///
    /// # Errors
    /// The fabric itself has failed; the error says how.
    fn progress(&mut self) -> Result<(), FabricError>;

    /// Moves what can be moved, and returns when something may have changed (not earlier, perhaps
    /// for nothing).
    ///
    /// # Errors
    /// As [`Fabric::progress`]; [`FabricError::Stalled`] when nothing can ever change.
    fn wait(&mut self) -> Result<(), FabricError>;

    /// Takes the oldest failure of a transfer that named no local event.
    fn take_failure(&mut self) -> Option<FabricError>;

    // Set-up calls and membership.

    /// This node.
    fn node(&self) -> NodeId;

    /// All nodes of the fabric, dead ones included; it never changes.
    fn members(&self) -> NodeSet;

    /// The members that this node knows to be dead. An operation that includes one fails with
    /// [`FabricError::NodeDead`].
    fn dead(&self) -> NodeSet;

    /// The failure detector's verdict: `node` takes no further part. It is final, and all members get to
    /// know it; a node that is alive after all is cut off.
    ///
    /// # Errors
    /// The node is not a member.
    fn declare_dead(&mut self, node: NodeId) -> Result<(), FabricError>;

    // Conveniences.

    /// Sets a variable of this node's own memory, in order with all other operations: at once, or, while
    /// another node's Compare-And-Write is being decided here, right after it. [`Fabric::load`] shows what
    /// is in effect.
    ///
    /// # Errors
    /// As [`Fabric::xfer_and_signal`].
    fn store(&mut self, variable: GlobalVariable, value: u64) -> Result<(), FabricError> {
        let own = NodeSet::single(self.node());
        self.xfer_and_signal(Source::Bytes(&value.to_le_bytes()), &own, variable.address(), None, None)
    }

    /// **Test-Event**, blocking: waits until the event has been signalled and takes its signals.
    ///
    /// # Errors
    /// As [`Fabric::test_event`] and [`Fabric::wait`].
    fn wait_event(&mut self, event: EventId) -> Result<u32, FabricError> {
        loop {
            match self.test_event(event)? {
                0 => self.wait()?,
                signals => return Ok(signals),
            }
        }
    }

    /// **Compare-And-Write**, blocking, as in the paper.
    ///
    /// # Errors
    /// As [`Fabric::compare_and_write`], [`Fabric::test_query`] and [`Fabric::wait`].
    fn compare_and_write_now(
        &mut self,
        nodes: &NodeSet,
        comparison: Comparison,
        assignment: Option<Assignment>,
    ) -> Result<bool, FabricError> {
        let ticket = self.compare_and_write(nodes, comparison, assignment)?;
        loop {
            match self.test_query(ticket) {
                None => self.wait()?,
                Some(answer) => return answer,
            }
        }
    }
}

/// Checks that are the same for every backend: the error names what is wrong before anything has happened.
pub(crate) fn check_nodes(
    operation: Operation,
    nodes: &NodeSet,
    members: &NodeSet,
    dead: &NodeSet,
) -> Result<(), FabricError> {
    if nodes.is_empty() {
        return Err(FabricError::NoNodes(operation));
    }
    if !nodes.is_subset(members) {
        let node = nodes.difference(members).first().unwrap_or_default();
        return Err(FabricError::NotAMember { operation, node, members: members.clone() });
    }
    if nodes.intersects(dead) {
        let node = nodes.intersection(dead).first().unwrap_or_default();
        return Err(FabricError::NodeDead { operation, node });
    }
    Ok(())
}

/// The event is in the table, or the error that says it is not.
pub(crate) fn check_event(operation: Operation, event: EventId, count: u32) -> Result<(), FabricError> {
    match event.0 < count {
        true => Ok(()),
        false => Err(FabricError::NoSuchEvent { operation, event, count }),
    }
}

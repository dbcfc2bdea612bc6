//! The road of records: messages between two nodes.
//!
//! The three primitives are for what has to be one act of many nodes. A message from one node to another is
//! none: it has to come once, whole and in its order, and nobody else is to hear of it. A network that has
//! that natively offers it here; over one that has not, records are put into rings in the receiver's global
//! memory (Xfer-And-Signal, [`super::RingRoad`]).
//!
//! What every road promises, and the suite in `conformance` checks:
//! - **Ordered and reliable.** What a node sends to another comes out there once, whole, in the order of the
//!   calls. When one of them dies, what has come out is the beginning of what was sent.
//! - **One flow control.** What is under way to a node that does not poll is bounded; beyond that
//!   [`Road::send`] is busy. It is not busy for ever when the other node polls.
//! - Records have no order with the operations of [`Fabric`].

use super::{Driven, Fabric, FabricError};
use bcs_core::ids::NodeId;

/// A node's end of the roads to all others. Neither call blocks.
pub trait Road: Fabric {
    /// The longest record, in bytes: at least 1 KB.
    fn record_bytes(&self) -> usize;

    /// Sends a record of these parts, one behind the other, to another node. The parts are taken over before
    /// the call returns; they travel with the next [`Road::poll`] or [`Fabric::progress`] at the latest, so
    /// that several records can travel together.
    ///
    /// # Errors
    /// [`FabricError::Busy`]: nothing is sent; poll, and call again. The node is dead, not another member of
    /// the fabric, or the record is too long.
    fn send(&mut self, to: NodeId, parts: &[&[u8]]) -> Result<(), FabricError>;

    /// Moves what can be moved, and hands over the records that have come, of each node in its order, with
    /// the number of the node. How many there were.
    ///
    /// A fabric that is driven but not polled keeps what it can, and then takes nothing more from the nodes
    /// whose records nobody wants.
    ///
    /// # Errors
    /// As [`Fabric::progress`].
    fn poll(&mut self, handle: &mut dyn FnMut(NodeId, &[u8])) -> Result<usize, FabricError>;
}

/// A fabric over a real network that has a road: what a job on several nodes runs on.
pub trait DrivenRoad: Driven + Road {}

impl<F: Driven + Road> DrivenRoad for F {}

/// What can be wrong with a record before it is sent.
///
/// # Errors
/// The error names what is wrong.
pub fn check_record(fabric: &impl Road, to: NodeId, parts: &[&[u8]]) -> Result<(), FabricError> {
    let operation = super::Operation::Send;
    let (bytes, limit) = (parts.iter().map(|part| part.len()).sum(), fabric.record_bytes());
    if to == fabric.node() {
        Err(FabricError::OwnNode { operation, node: to })
    } else if bytes > limit {
        Err(FabricError::RecordTooLong { bytes, limit })
    } else {
        Ok(())
    }
}

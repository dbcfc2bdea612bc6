//! Fabrics over a real network, as an event loop sees them.

use super::Fabric;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use std::os::fd::AsFd;
use std::time::Duration;

/// A fabric whose driver waits for it beside other things: it calls [`Fabric::progress`] when the descriptor
/// is readable, because something has arrived, and when the timeout has passed.
pub trait Driven: Fabric + AsFd + Send {
    /// How long nothing has to be done if nothing arrives; none when nothing is ever due.
    fn timeout(&self) -> Option<Duration>;

    /// Why there is no link to a node any more, as far as it is known; none while nothing is wrong with it.
    fn why_lost(&self, node: NodeId) -> Option<String>;

    /// Begins to bring up the links to these members: of two nodes that do so for each other, the lower one
    /// dials. Others come up when they are needed.
    fn begin_connect(&mut self, nodes: &NodeSet);

    /// The members whose links are not up, dead ones included.
    fn unconnected(&self) -> NodeSet;

    /// Leaves the network in order: what was sent is delivered first, for at most this long; the others do
    /// not take this node for dead.
    fn leave(&mut self, patience: Duration);
}

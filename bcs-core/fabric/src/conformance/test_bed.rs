//! What a backend brings for the suite, and how the checks drive it.

use crate::{Fabric, FabricError};
use bcs_core::event::EventId;
use bcs_core::global_memory::{GlobalAddress, GlobalVariable};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;

/// The size of a node's memory that the suite needs, in bytes.
pub const MEMORY_BYTES: u64 = 8 << 20;

/// The number of a node's events that the suite needs.
pub const EVENTS: u32 = 8;

/// A cluster of a backend, all of whose nodes one thread can drive.
pub trait Cluster {
    /// A node's port.
    type Port: Fabric;

    /// The port of a node.
    fn port(&mut self, node: NodeId) -> &mut Self::Port;

    /// Lets something happen. False when nothing is under way any more.
    fn step(&mut self) -> bool;

    /// Ends a node, at whatever point it is, and sees to it that the survivors get to know.
    fn kill(&mut self, node: NodeId);
}

/// Starts clusters of a backend.
pub trait TestBed {
    /// What it starts.
    type Cluster: Cluster;

    /// A new cluster of `nodes` nodes with [`MEMORY_BYTES`] of memory and [`EVENTS`] events each, whose
    /// chances follow from the seed. `None` when the backend cannot have this number of nodes.
    fn start(&self, nodes: u32, seed: u64) -> Option<Self::Cluster>;

    /// The command that runs the failed check again; the suite puts `BCS_SEED=` and the seed before it.
    fn command(&self) -> String;
}

pub(super) const LOCAL: EventId = EventId(0);
pub(super) const REMOTE: EventId = EventId(1);

pub(super) fn variable(number: u64) -> GlobalVariable {
    GlobalVariable::at(GlobalAddress(number * GlobalVariable::BYTES)).expect("a multiple of 8")
}

/// Steps until `done` gives something. `done` may itself begin things, not necessarily every time it is
/// called.
pub(super) fn drive<C: Cluster, T>(
    cluster: &mut C,
    what: &str,
    mut done: impl FnMut(&mut C) -> Option<T>,
) -> T {
    const IDLE_CHANCES: u32 = 1000;
    let mut idle = 0;
    loop {
        if let Some(result) = done(cluster) {
            return result;
        }
        idle = if cluster.step() { 0 } else { idle + 1 };
        assert!(idle < IDLE_CHANCES, "nothing is under way any more, but not done: {what}");
    }
}

/// Steps until nothing is under way; how often.
pub(super) fn settle<C: Cluster>(cluster: &mut C) -> usize {
    let mut steps = 0;
    while cluster.step() {
        steps += 1;
    }
    steps
}

/// Waits for one signal of an event.
pub(super) fn await_event<C: Cluster>(
    cluster: &mut C,
    node: NodeId,
    event: EventId,
) -> Result<(), FabricError> {
    drive(cluster, "an event", |cluster| match cluster.port(node).test_event(event) {
        Ok(0) => None,
        Ok(signals) => {
            assert_eq!(signals, 1, "{node} counts {signals} signals of {event}, one was sent");
            Some(Ok(()))
        }
        Err(error) => Some(Err(error)),
    })
}

pub(super) fn take_signals<C: Cluster>(cluster: &mut C, node: NodeId, event: EventId) -> u32 {
    cluster.port(node).test_event(event).unwrap_or_else(|error| panic!("{node} cannot test {event}: {error}"))
}

/// Node sets of every shape, for an initiator in a cluster of `nodes`: itself, all, all others, one other,
/// and random ones.
pub(super) fn shapes(nodes: u32, initiator: NodeId, random: &mut fastrand::Rng) -> Vec<NodeSet> {
    let all = NodeSet::all(nodes);
    let own = NodeSet::single(initiator);
    let others = all.difference(&own);
    let mut shapes = vec![own, all.clone(), others.clone()];
    shapes.extend(others.last().map(NodeSet::single));
    for share in [0.2, 0.6] {
        shapes.push(all.iter().filter(|_| random.f64() < share).collect());
    }
    shapes.retain(|shape| !shape.is_empty());
    shapes.sort();
    shapes.dedup();
    shapes
}

pub(super) fn random_bytes(count: usize, random: &mut fastrand::Rng) -> Vec<u8> {
    std::iter::repeat_with(|| random.u8(..)).take(count).collect()
}

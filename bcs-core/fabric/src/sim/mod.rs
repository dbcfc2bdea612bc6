//! A deterministic network in virtual time: the real tree protocol, thousands of nodes, one thread.
//!
//! Everything random comes from the seed in [`SimOptions`]: delays, jitter (so reordering), loss, and how
//! late each survivor learns of a death. Time moves only in [`SimCluster::step`]. Whoever runs programs on
//! many nodes polls the node that `step` names; a program on one node may block in its [`SimFabric`], which
//! steps the cluster. Invariant: a run is a function of the options and the calls.

mod link;
mod network;
mod options;
mod world;

pub use link::{LinkReceiver, LinkSender, Packet};
pub use network::NetworkModel;
pub use options::SimOptions;
pub use world::Statistics;

use super::{Assignment, Comparison, Fabric, FabricError, Operation, Road, Source, Ticket};
use super::{check_nodes, check_record};
use bcs_core::event::EventId;
use bcs_core::global_memory::{GlobalAddress, GlobalMemory, GlobalVariable};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use network::nanoseconds;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use world::World;

/// A simulated cluster. Clones are handles on the same one.
#[derive(Clone, Debug)]
pub struct SimCluster {
    world: Rc<RefCell<World>>,
}

impl SimCluster {
    /// A cluster at virtual time zero.
    pub fn new(options: SimOptions) -> Self {
        Self { world: Rc::new(RefCell::new(World::new(options))) }
    }

    /// The port of a node.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn fabric(&self, node: NodeId) -> SimFabric {
        let nodes = self.world.borrow().options.nodes;
        assert!(node.0 < nodes, "the simulated cluster has {nodes} nodes, this is {node}");
        SimFabric { world: self.world.clone(), node }
    }

    /// Lets the next thing happen, and says what it happened to. `None`: nothing will ever happen again.
    pub fn step(&self) -> Option<Happened> {
        self.world.borrow_mut().step().map(|node| node.map_or(Happened::Everywhere, Happened::On))
    }

    /// Steps until nothing happens any more. The number of steps.
    pub fn run_until_idle(&self) -> u64 {
        let mut steps = 0;
        while self.step().is_some() {
            steps += 1;
        }
        steps
    }

    /// The virtual time since the start.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.world.borrow().now_ns)
    }

    /// Ends a node now. Survivors are told within the model's detection time.
    pub fn kill(&self, node: NodeId) {
        self.world.borrow_mut().kill(node, true);
    }

    /// Ends a node at a virtual time.
    pub fn kill_at(&self, at: Duration, node: NodeId) {
        self.world.borrow_mut().kill_at(nanoseconds(at), node);
    }

    /// At a virtual time, cuts the nodes of a set off from all others; the empty set heals the network.
    pub fn partition_at(&self, at: Duration, nodes: NodeSet) {
        self.world.borrow_mut().partition_at(nanoseconds(at), nodes);
    }

    /// Makes [`SimCluster::step`] name a node at a virtual time: a timer for whoever drives it.
    pub fn wake_at(&self, at: Duration, node: NodeId) {
        self.world.borrow_mut().wake_at(nanoseconds(at), node);
    }

    /// Whether a node lives.
    pub fn is_alive(&self, node: NodeId) -> bool {
        self.world.borrow().is_alive(node)
    }

    /// What has travelled so far.
    pub fn statistics(&self) -> Statistics {
        self.world.borrow().statistics
    }
}

/// What a step of the simulation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// Something reached this node: it may want to be polled.
    On(NodeId),
    /// Something that concerns all nodes.
    Everywhere,
}

/// The port of a node of a simulated cluster.
#[derive(Clone, Debug)]
pub struct SimFabric {
    world: Rc<RefCell<World>>,
    node: NodeId,
}

impl SimFabric {
    /// Makes a call on the node, and sends what comes of it.
    fn with<T>(
        &mut self,
        operation: Operation,
        call: impl FnOnce(&mut super::tree::TreeNode<bcs_core::SparseMemory>) -> Result<T, FabricError>,
    ) -> Result<T, FabricError> {
        let mut world = self.world.borrow_mut();
        if !world.is_alive(self.node) {
            return Err(FabricError::SelfDead { operation, node: self.node });
        }
        let result = call(&mut world.nodes[self.node.index()]);
        world.flush(self.node);
        result
    }
}

impl Fabric for SimFabric {
    fn xfer_and_signal(
        &mut self,
        source: Source<'_>,
        destinations: &NodeSet,
        at: GlobalAddress,
        local_event: Option<EventId>,
        remote_event: Option<EventId>,
    ) -> Result<(), FabricError> {
        self.with(Operation::XferAndSignal, |node| {
            node.xfer_and_signal(source, destinations, at, local_event, remote_event)
        })
    }

    fn test_event(&mut self, event: EventId) -> Result<u32, FabricError> {
        self.with(Operation::TestEvent, |node| node.test_event(event))
    }

    fn compare_and_write(
        &mut self,
        nodes: &NodeSet,
        comparison: Comparison,
        assignment: Option<Assignment>,
    ) -> Result<Ticket, FabricError> {
        self.with(Operation::CompareAndWrite, |node| node.compare_and_write(nodes, comparison, assignment))
    }

    fn test_query(&mut self, ticket: Ticket) -> Option<Result<bool, FabricError>> {
        self.with(Operation::CompareAndWrite, |node| Ok(node.test_query(ticket)))
            .unwrap_or_else(|dead| Some(Err(dead)))
    }

    /// Memory is not lost with its node: a test may look at what a dead one held.
    fn read(&self, at: GlobalAddress, into: &mut [u8]) -> Result<(), FabricError> {
        let world = self.world.borrow();
        world.nodes[self.node.index()].memory().read(at, into).map_err(FabricError::memory(Operation::Read))
    }

    /// All nodes' memory belongs to the cluster, which nobody may hold on to between two of its steps.
    fn load(&self, variable: GlobalVariable) -> Result<u64, FabricError> {
        let world = self.world.borrow();
        world.nodes[self.node.index()].memory().load(variable).map_err(FabricError::memory(Operation::Read))
    }

    /// Time moves only in steps of the cluster; nothing else is to be moved.
    fn progress(&mut self) -> Result<(), FabricError> {
        Ok(())
    }

    /// Steps the whole cluster once.
    fn wait(&mut self) -> Result<(), FabricError> {
        let stepped = self.world.borrow_mut().step();
        stepped.map(drop).ok_or(FabricError::Stalled(self.node))
    }

    fn take_failure(&mut self) -> Option<FabricError> {
        self.world.borrow_mut().nodes[self.node.index()].take_failure()
    }

    fn node(&self) -> NodeId {
        self.node
    }

    fn members(&self) -> NodeSet {
        self.world.borrow().nodes[self.node.index()].members().clone()
    }

    fn dead(&self) -> NodeSet {
        self.world.borrow().nodes[self.node.index()].dead().clone()
    }

    /// The node is ended, if it lives; the protocol, not the simulation's detector, tells the others.
    fn declare_dead(&mut self, node: NodeId) -> Result<(), FabricError> {
        self.with(Operation::DeclareDead, |this| this.declare_dead(node))?;
        self.world.borrow_mut().kill(node, false);
        Ok(())
    }
}

impl Road for SimFabric {
    fn record_bytes(&self) -> usize {
        self.world.borrow().road_bytes / 4
    }

    fn send(&mut self, to: NodeId, parts: &[&[u8]]) -> Result<(), FabricError> {
        const OPERATION: Operation = Operation::Send;
        check_record(self, to, parts)?;
        self.with(OPERATION, |node| {
            check_nodes(OPERATION, &NodeSet::single(to), node.members(), node.dead())
        })?;
        let limit = self.world.borrow().road_bytes;
        match self.world.borrow_mut().send_record(self.node, to, parts.concat().into()) {
            true => Ok(()),
            false => Err(FabricError::Busy { operation: OPERATION, limit, unit: "bytes of records" }),
        }
    }

    fn poll(&mut self, handle: &mut dyn FnMut(NodeId, &[u8])) -> Result<usize, FabricError> {
        let mut records = 0;
        loop {
            // Whoever gets the record may send another.
            let record = self.world.borrow_mut().take_record(self.node);
            let Some((from, record)) = record else { return Ok(records) };
            handle(from, &record);
            records += 1;
        }
    }
}

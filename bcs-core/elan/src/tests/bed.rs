//! Clusters over the library for tests: all nodes in this process, and the cards at the hand of a test.

use super::super::*;
use crate::libelan::State;
use crate::library::{Library, functions};
use bcs_core::SparseMemory;
use bcs_fabric::conformance::{Cluster, EVENTS, MEMORY_BYTES, TestBed};
use std::ffi::{CString, c_char, c_int, c_uint};
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) type TestFabric = ElanFabric<SparseMemory>;

/// What the machine has done, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Counts {
    pub puts: u64,
    pub gets: u64,
    pub broadcasts: u64,
    pub conditionals: u64,
}

functions! {
    /// What only the library for tests has.
    Hooks {
        /// Chances follow from this seed.
        elan_test_seed: fn(state: *mut State, seed: u64);
        /// Does a piece of an operation; how many could go on.
        elan_test_step: fn(state: *mut State) -> c_int;
        /// How many operations could go on.
        elan_test_ready: fn(state: *mut State) -> c_int;
        /// A process dies.
        elan_test_kill: fn(state: *mut State, process: c_uint);
        /// What has been done.
        elan_test_counts: fn(state: *mut State) -> Counts;
        /// A thread does the operations.
        elan_test_run: fn(state: *mut State);
        /// The machine is no more.
        elan_test_forget: fn(capability: *const c_char);
    }
}

/// The library for tests, which was built beside these tests.
pub(super) fn library() -> String {
    let tests = std::env::current_exe().unwrap();
    let library = tests.with_file_name("libelan_for_tests.so");
    assert!(library.exists(), "{} is built with the tests", library.display());
    library.to_str().unwrap().to_owned()
}

/// A hardware context that no other network of these tests has.
pub(super) fn new_context() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

pub(super) fn capability(node: u32, nodes: u32, context: u32) -> String {
    format!("N{node}C{context}-{context}-{context}N0-{}R1b", nodes - 1)
}

pub(super) const NETWORK: NetworkId = NetworkId(7);

/// Options for a node of a network in a context.
pub(super) fn options(node: u32, nodes: u32, context: u32) -> ElanOptions {
    ElanOptions {
        library: library(),
        nic_library: Some(library()),
        capability: Some(capability(node, nodes, context)),
        fanout: 2,
        ring_bytes: 16 << 10,
        slot_bytes: 8 << 10,
        ..ElanOptions::new(NETWORK, format!("node-{node}"), node, nodes)
    }
}

pub(super) fn join(ports: Vec<ElanPort>) -> Vec<TestFabric> {
    let member =
        |port: &ElanPort| ElanMember { name: port.options.name.clone(), address: port.local_address() };
    let roster: Vec<ElanMember> = ports.iter().map(member).collect();
    let join = |port: ElanPort| {
        port.connect(roster.clone(), SparseMemory::new(MEMORY_BYTES), EventTable::new(EVENTS)).unwrap()
    };
    ports.into_iter().map(join).collect()
}

/// A cluster whose nodes are driven one after another, and the cards between.
pub(super) struct ElanCluster {
    pub ports: Vec<TestFabric>,
    pub hooks: Hooks,
    /// The state of one of the processes, by which the library knows the machine.
    state: *mut State,
    capability: String,
    dead: NodeSet,
    /// Who still has to be told of which death: one of them in each step. So a job's control network does.
    untold: Vec<(NodeId, NodeId)>,
    random: fastrand::Rng,
}

impl ElanCluster {
    pub fn new(nodes: u32, seed: u64, adapt: impl Fn(&mut ElanOptions)) -> Self {
        let context = new_context();
        let bind = |node| {
            let mut options = options(node, nodes, context);
            adapt(&mut options);
            ElanPort::bind(options).unwrap()
        };
        Self::of(join((0..nodes).map(bind).collect()), capability(0, nodes, context), seed)
    }

    /// The cluster of these fabrics, which are all of one network; the capability of one of them.
    pub fn of(ports: Vec<TestFabric>, capability: String, seed: u64) -> Self {
        let hooks = Hooks::load(&Library::open(&library()).unwrap()).unwrap();
        let state = ports[0].card.state();
        // SAFETY: the state of a fabric of the machine, which the machine keeps.
        unsafe { (hooks.elan_test_seed)(state, seed) };
        let random = fastrand::Rng::with_seed(seed);
        Self { ports, hooks, state, capability, dead: NodeSet::new(), untold: Vec::new(), random }
    }

    /// From now on a thread moves the cards.
    pub fn run(&self) {
        // SAFETY: as below.
        unsafe { (self.hooks.elan_test_run)(self.state) };
    }

    pub fn counts(&self) -> Counts {
        // SAFETY: the state of a process of the machine, which the machine keeps.
        unsafe { (self.hooks.elan_test_counts)(self.state) }
    }

    /// The nodes that are driven here, and have not been killed.
    fn living(&self) -> NodeSet {
        let nodes: NodeSet = self.ports.iter().map(|port| port.own()).collect();
        nodes.difference(&self.dead)
    }

    fn index(&self, node: NodeId) -> usize {
        self.ports.iter().position(|port| port.own() == node).unwrap()
    }

    fn is_quiet(&self) -> bool {
        let living = self.living();
        // SAFETY: as above.
        let ready = unsafe { (self.hooks.elan_test_ready)(self.state) };
        let knows_itself = |node: NodeId| {
            let port = &self.ports[self.index(node)];
            let is_held_for_dead = |other: NodeId| self.ports[self.index(other)].tree.dead().contains(node);
            port.tree.is_cut_off() || !living.iter().any(is_held_for_dead)
        };
        self.untold.is_empty()
            && ready == 0
            && living.iter().all(|node| self.ports[self.index(node)].is_idle() && knows_itself(node))
    }
}

impl Cluster for ElanCluster {
    type Port = TestFabric;

    fn port(&mut self, node: NodeId) -> &mut TestFabric {
        let index = self.index(node);
        &mut self.ports[index]
    }

    /// Lets the cards do some pieces of operations, and drives one node.
    fn step(&mut self) -> bool {
        let is_quiet = self.is_quiet();
        if !self.untold.is_empty() && self.random.bool() {
            let (to, dead) = self.untold.swap_remove(self.random.usize(..self.untold.len()));
            self.port(to).declare_dead(dead).unwrap();
        }
        for _ in 0..self.random.u32(..4) {
            // SAFETY: as above.
            unsafe { (self.hooks.elan_test_step)(self.state) };
        }
        let index = self.random.usize(..self.ports.len());
        if !self.dead.contains(self.ports[index].own()) {
            self.ports[index].progress().unwrap();
        }
        !is_quiet
    }

    fn kill(&mut self, node: NodeId) {
        if self.dead.insert(node) {
            // SAFETY: as above.
            unsafe { (self.hooks.elan_test_kill)(self.state, node.0) };
            self.untold.retain(|(to, _)| *to != node);
            let living = self.living();
            self.untold.extend(living.iter().map(|survivor| (survivor, node)));
        }
    }
}

impl Drop for ElanCluster {
    fn drop(&mut self) {
        self.ports.clear();
        forget(&self.hooks, self.capability.clone());
    }
}

/// Ends the processes of a machine, by the capability of one of them; their fabrics are gone.
pub(super) fn forget(hooks: &Hooks, capability: String) {
    let capability = CString::new(capability).unwrap();
    // SAFETY: nobody but the fabrics had the memory.
    unsafe { (hooks.elan_test_forget)(capability.as_ptr()) };
}

/// A bed for the suite.
pub(super) struct ElanBed {
    pub name: &'static str,
    pub has_nic_library: bool,
    pub ring_bytes: usize,
    pub slot_bytes: usize,
}

impl TestBed for ElanBed {
    type Cluster = ElanCluster;

    fn start(&self, nodes: u32, seed: u64) -> Option<ElanCluster> {
        Some(ElanCluster::new(nodes, seed, |options| {
            (options.ring_bytes, options.slot_bytes) = (self.ring_bytes, self.slot_bytes);
            if !self.has_nic_library {
                options.nic_library = None;
            }
        }))
    }

    fn command(&self) -> String {
        format!("cargo test -p bcs-elan tests::{}", self.name)
    }
}

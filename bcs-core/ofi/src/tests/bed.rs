//! Clusters of nodes in this process.

use super::super::*;
use bcs_credentials as credentials;
use bcs_credentials::Credential;
use bcs_fabric::conformance::{Cluster, EVENTS, MEMORY_BYTES, TestBed};
use bcs_harness::skip;
use bcs_quic::{MappedMemory, map_memory};
use std::net::Ipv4Addr;

/// A fabric as the program launcher has it.
pub type MappedFabric = OfiFabric<MappedMemory>;
pub type OfiFabrics = [MappedFabric];

pub const PATIENCE: Duration = Duration::from_secs(60);

pub const NETWORK: u128 = 7;

const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Whether a provider is there; a test that it is for is skipped otherwise, and counted.
pub fn is_there(provider: &str) -> bool {
    match survey(Some(provider), LOOPBACK.into()) {
        Ok(_) => true,
        Err(error @ (OfiError::Missing { .. } | OfiError::NoProvider { .. })) => {
            skip(error);
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Options for tests: a machine that is busy with other things must not look like one that is dead.
pub fn options(credential: Credential, provider: &str) -> OfiOptions {
    let mut options = OfiOptions::new(NetworkId(NETWORK), credential, LOOPBACK.into(), Some(provider.into()));
    let links = &mut options.links;
    links.keep_alive = Duration::from_secs(2);
    (links.idle_timeout, links.connect_timeout) = (PATIENCE, PATIENCE);
    links.fanout = 2;
    options
}

/// Fabrics of one network in this process.
pub fn start(nodes: u32, provider: &str, adapt: impl Fn(u32, &mut OfiOptions)) -> Vec<MappedFabric> {
    let names: Vec<String> = (0..nodes).map(|node| format!("node-{node}")).collect();
    let credentials = credentials::mint("test", names.iter().map(String::as_str)).unwrap();
    let bind = |(credential, node): (Credential, u32)| {
        let mut options = options(credential, provider);
        adapt(node, &mut options);
        OfiPort::bind(options).unwrap()
    };
    let ports: Vec<OfiPort> = credentials.into_iter().zip(0..).map(bind).collect();
    let member = |(name, port): (String, &OfiPort)| Member { name, address: port.local_address() };
    let roster: Vec<Member> = names.into_iter().zip(&ports).map(member).collect();
    let memory = || map_memory(MEMORY_BYTES).unwrap();
    let join = |port: OfiPort| port.connect(roster.clone(), memory(), EventTable::new(EVENTS)).unwrap();
    ports.into_iter().map(join).collect()
}

/// A cluster whose nodes are driven one after another. Nodes that were killed are not driven any more: to the
/// others, they have fallen silent.
pub struct OfiCluster {
    ports: Vec<MappedFabric>,
    dead: NodeSet,
    /// Who still has to be told of which death: one of them in each step.
    untold: Vec<(NodeId, NodeId)>,
    random: fastrand::Rng,
}

impl OfiCluster {
    fn is_quiet(&self) -> bool {
        let living = NodeSet::all(self.ports.len() as u32).difference(&self.dead);
        let quiet = |from: NodeId, to: NodeId| {
            let (sender, receiver) = (&self.ports[from.index()], &self.ports[to.index()]);
            let sent = sender.links[to.index()].statistics.sent;
            let has_arrived = sent == receiver.links[from.index()].statistics.received;
            // Who is held for dead gets to know it.
            sender.tree.is_cut_off()
                || sender.dead().contains(to)
                || (has_arrived && !receiver.dead().contains(from))
        };
        let wire = |from: NodeId, to: NodeId| self.ports[from.index()].links[to.index()].wire.as_deref();
        let moves = |from: NodeId, to: NodeId| {
            let link = &self.ports[from.index()].links[to.index()];
            let is_on_its_way = match (wire(from, to), wire(to, from)) {
                (Some(sender), Some(receiver)) => !sender.is_level_with(receiver),
                _ => false,
            };
            let is_busy = link.wire.as_ref().is_some_and(|wire| wire.has_work());
            link.state == LinkState::Greeting || !link.letters.is_empty() || is_busy || is_on_its_way
        };
        self.untold.is_empty()
            && living
                .iter()
                .all(|from| living.iter().all(|to| from == to || quiet(from, to) && !moves(from, to)))
    }
}

impl Cluster for OfiCluster {
    type Port = MappedFabric;

    fn port(&mut self, node: NodeId) -> &mut MappedFabric {
        &mut self.ports[node.index()]
    }

    /// Drives one node.
    fn step(&mut self) -> bool {
        let is_quiet = self.is_quiet();
        if !self.untold.is_empty() && self.random.bool() {
            let (to, dead) = self.untold.swap_remove(self.random.usize(..self.untold.len()));
            self.ports[to.index()].declare_dead(dead).unwrap();
        }
        let node = NodeId(self.random.u32(..self.ports.len() as u32));
        if !self.dead.contains(node) {
            let port = &mut self.ports[node.index()];
            // Threads of the provider may want the processor.
            if !port.drive(&mut Records::Kept).unwrap() && !port.promises().is_manual {
                std::thread::sleep(Duration::from_micros(10));
            }
        }
        !is_quiet
    }

    fn kill(&mut self, node: NodeId) {
        if self.dead.insert(node) {
            self.untold.retain(|(to, _)| *to != node);
            let living = NodeSet::all(self.ports.len() as u32).difference(&self.dead);
            self.untold.extend(living.iter().map(|survivor| (survivor, node)));
        }
    }
}

/// What the suite starts.
#[derive(Clone, Copy)]
pub struct OfiBed {
    /// The test.
    pub name: &'static str,
    pub provider: &'static str,
    pub order: Option<SignalOrder>,
    pub ring_bytes: usize,
    pub registered_bytes: usize,
    /// The most nodes that it starts.
    pub nodes: u32,
}

impl OfiBed {
    pub fn new(name: &'static str, provider: &'static str) -> Self {
        Self { name, provider, order: None, ring_bytes: 256 << 10, registered_bytes: usize::MAX, nodes: 16 }
    }
}

impl TestBed for OfiBed {
    type Cluster = OfiCluster;

    fn start(&self, nodes: u32, seed: u64) -> Option<OfiCluster> {
        let adapt = |_, options: &mut OfiOptions| {
            options.order = self.order;
            options.links.ring_bytes = self.ring_bytes;
            options.registered_bytes = self.registered_bytes;
        };
        (nodes <= self.nodes).then(|| OfiCluster {
            ports: start(nodes, self.provider, adapt),
            dead: NodeSet::new(),
            untold: Vec::new(),
            random: fastrand::Rng::with_seed(seed),
        })
    }

    fn command(&self) -> String {
        format!("cargo test -p bcs-ofi {}", self.name)
    }
}

/// The clock of the machine, which no test puts forward.
#[allow(clippy::disallowed_methods, reason = "a test that hangs is to end")]
fn real_now() -> Instant {
    Instant::now()
}

/// Drives all until something holds.
pub fn drive_until(ports: &mut OfiFabrics, what: &str, mut done: impl FnMut(&mut OfiFabrics) -> bool) {
    let until = real_now() + PATIENCE;
    while !done(ports) {
        assert!(real_now() < until, "not in a minute: {what}");
        for port in ports.iter_mut() {
            port.progress().unwrap();
        }
    }
}

/// Every node puts to all, and everything arrives everywhere.
pub fn all_reach_all(ports: &mut OfiFabrics) {
    let nodes: NodeSet = ports.iter().map(|port| port.node()).collect();
    for port in ports.iter_mut() {
        let data = Source::Bytes(b"alive");
        port.xfer_and_signal(data, &nodes, GlobalAddress(0), Some(EventId(0)), Some(EventId(1))).unwrap();
    }
    let all = ports.len() as u32;
    let mut seen = vec![(0, 0); ports.len()];
    drive_until(ports, "all puts have arrived and are complete", |ports| {
        for (port, seen) in ports.iter_mut().zip(&mut seen) {
            seen.0 += port.test_event(EventId(0)).unwrap();
            seen.1 += port.test_event(EventId(1)).unwrap();
        }
        seen.iter().all(|seen| *seen == (1, all))
    });
}

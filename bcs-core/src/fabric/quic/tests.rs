//! The conformance suite over loopback, all nodes driven by one thread; and links coming up and going down.

use super::*;
use crate::credentials;
use crate::credentials::Credential;
use crate::fabric::Fabric;
use crate::fabric::conformance::{self, Cluster, EVENTS, MEMORY_BYTES, TestBed};

const PATIENCE: Duration = Duration::from_secs(60);

/// Options for tests: a machine that is busy with other things must not look like one that is dead.
fn options(network: u128, credential: Credential) -> QuicOptions {
    QuicOptions {
        keep_alive: Duration::from_secs(2),
        idle_timeout: PATIENCE,
        connect_timeout: PATIENCE,
        fanout: 2,
        ..QuicOptions::new(NetworkId(network), credential, ([127, 0, 0, 1], 0).into())
    }
}

fn names(nodes: u32) -> Vec<String> {
    (0..nodes).map(|node| format!("node-{node}")).collect()
}

/// Fabrics of one network in this process.
fn start(nodes: u32, adapt: impl Fn(&mut QuicOptions)) -> Vec<QuicFabric> {
    let names = names(nodes);
    let credentials = credentials::mint("test", names.iter().map(String::as_str)).unwrap();
    let ports: Vec<QuicPort> = credentials
        .into_iter()
        .map(|credential| {
            let mut options = options(7, credential);
            adapt(&mut options);
            QuicPort::bind(options).unwrap()
        })
        .collect();
    let roster: Vec<Member> = names
        .into_iter()
        .zip(&ports)
        .map(|(name, port)| Member { name, address: port.local_address() })
        .collect();
    let memory = || SparseMemory::new(MEMORY_BYTES);
    let join = |port: QuicPort| port.connect(roster.clone(), memory(), EventTable::new(EVENTS)).unwrap();
    ports.into_iter().map(join).collect()
}

/// A cluster whose nodes are driven one after another. Nodes that were killed are not driven any more: to the others,
/// they have fallen silent.
struct QuicCluster {
    ports: Vec<QuicFabric>,
    dead: NodeSet,
    /// Who still has to be told of which death: one of them in each step.
    untold: Vec<(NodeId, NodeId)>,
    random: fastrand::Rng,
}

impl QuicCluster {
    fn is_quiet(&self) -> bool {
        let living = |node: &usize| !self.dead.contains(NodeId(*node as u32));
        let quiet = |from: usize, to: usize| {
            let (sender, receiver) = (&self.ports[from], &self.ports[to]);
            let (from, to) = (NodeId(from as u32), NodeId(to as u32));
            let has_arrived = sender.link_statistics(to).sent == receiver.link_statistics(from).received;
            // Who is held for dead gets to know it.
            sender.tree.is_cut_off()
                || sender.dead().contains(to)
                || (has_arrived && !receiver.dead().contains(from))
        };
        let nodes: Vec<usize> = (0..self.ports.len()).filter(living).collect();
        self.untold.is_empty()
            && nodes.iter().all(|from| nodes.iter().all(|to| from == to || quiet(*from, *to)))
    }
}

impl Cluster for QuicCluster {
    type Port = QuicFabric;

    fn port(&mut self, node: NodeId) -> &mut QuicFabric {
        &mut self.ports[node.index()]
    }

    /// Drives one node.
    fn step(&mut self) -> bool {
        if self.is_quiet() {
            return false;
        }
        if !self.untold.is_empty() && self.random.bool() {
            let (to, dead) = self.untold.swap_remove(self.random.usize(..self.untold.len()));
            self.ports[to.index()].declare_dead(dead).unwrap();
        }
        let node = NodeId(self.random.u32(..self.ports.len() as u32));
        if !self.dead.contains(node) {
            self.ports[node.index()].progress().unwrap();
        }
        true
    }

    fn kill(&mut self, node: NodeId) {
        if self.dead.insert(node) {
            self.untold.retain(|(to, _)| *to != node);
            let living = NodeSet::all(self.ports.len() as u32).difference(&self.dead);
            self.untold.extend(living.iter().map(|survivor| (survivor, node)));
        }
    }
}

struct QuicBed;

impl TestBed for QuicBed {
    type Cluster = QuicCluster;

    fn start(&self, nodes: u32, seed: u64) -> Option<QuicCluster> {
        (nodes <= 16).then(|| QuicCluster {
            ports: start(nodes, |_| {}),
            dead: NodeSet::new(),
            untold: Vec::new(),
            random: fastrand::Rng::with_seed(seed),
        })
    }

    fn command(&self) -> String {
        "cargo test -p bcs-core fabric::quic::tests::quic_keeps_every_promise".into()
    }
}

#[test]
fn quic_keeps_every_promise() {
    conformance::run(&QuicBed, 0..1);
}

/// Drives all until something holds.
fn drive_until(ports: &mut [QuicFabric], what: &str, mut done: impl FnMut(&mut [QuicFabric]) -> bool) {
    let until = driver::now() + PATIENCE;
    while !done(ports) {
        assert!(driver::now() < until, "not in a minute: {what}");
        for port in ports.iter_mut() {
            port.progress().unwrap();
        }
    }
}

#[test]
fn all_links_come_up_on_request_and_whoever_dials_first_there_is_one_between_two_nodes() {
    let mut ports = start(5, |_| {});
    // Both ends of every link dial at once.
    for port in &mut ports {
        let own = port.node();
        for node in (0..5).map(NodeId).filter(|node| *node != own) {
            port.driver.dial_idle(node, &mut port.tree, driver::now());
        }
    }
    drive_until(&mut ports, "all links are up", |ports| {
        ports.iter().all(|port| port.unconnected().is_empty())
    });
    let all = NodeSet::all(5);
    for port in &mut ports {
        port.xfer_and_signal(Source::Bytes(b"x"), &all, GlobalAddress(0), Some(EventId(0)), Some(EventId(1)))
            .unwrap();
    }
    let mut seen = [0; 5];
    drive_until(&mut ports, "all puts have arrived", |ports| {
        for (port, seen) in ports.iter_mut().zip(&mut seen) {
            *seen += port.test_event(EventId(1)).unwrap();
        }
        seen == [5; 5]
    });
    assert!(ports.iter().all(|port| port.dead().is_empty()));
}

//! The conformance suite on the backends of this crate, and what only the simulation can show.

use super::conformance::{self, Cluster, EVENTS, MEMORY_BYTES, TestBed};
use super::local::LocalFabric;
use super::sim::{NetworkModel, SimCluster, SimFabric, SimOptions};
use crate::event::EventTable;
use crate::global_memory::FlatMemory;
use crate::ids::NodeId;

struct LocalBed;
struct LocalCluster(LocalFabric);

impl Cluster for LocalCluster {
    type Port = LocalFabric;

    fn port(&mut self, _: NodeId) -> &mut LocalFabric {
        &mut self.0
    }

    fn step(&mut self) -> bool {
        false
    }

    fn kill(&mut self, _: NodeId) {
        unreachable!("a cluster of one node has no survivors to check");
    }
}

impl TestBed for LocalBed {
    type Cluster = LocalCluster;

    fn start(&self, nodes: u32, _: u64) -> Option<LocalCluster> {
        let fabric = LocalFabric::new(NodeId(0), FlatMemory::new(MEMORY_BYTES), EventTable::new(EVENTS));
        (nodes == 1).then_some(LocalCluster(fabric))
    }

    fn command(&self) -> String {
        "cargo test -p bcs-core fabric::tests::local".into()
    }
}

struct SimBed {
    name: &'static str,
    network: NetworkModel,
    fanout: usize,
}

struct SimTestCluster {
    cluster: SimCluster,
    ports: Vec<SimFabric>,
}

impl Cluster for SimTestCluster {
    type Port = SimFabric;

    fn port(&mut self, node: NodeId) -> &mut SimFabric {
        &mut self.ports[node.index()]
    }

    fn step(&mut self) -> bool {
        self.cluster.step().is_some()
    }

    fn kill(&mut self, node: NodeId) {
        self.cluster.kill(node);
    }
}

impl TestBed for SimBed {
    type Cluster = SimTestCluster;

    fn start(&self, nodes: u32, seed: u64) -> Option<SimTestCluster> {
        let cluster = SimCluster::new(SimOptions {
            memory_bytes: MEMORY_BYTES,
            events: EVENTS,
            fanout: self.fanout,
            network: self.network.clone(),
            encode: true,
            ..SimOptions::new(nodes, seed)
        });
        let ports = (0..nodes).map(|node| cluster.fabric(NodeId(node))).collect();
        Some(SimTestCluster { cluster, ports })
    }

    fn command(&self) -> String {
        format!("cargo test -p bcs-core fabric::tests::{}", self.name)
    }
}

#[test]
fn local_keeps_every_promise() {
    conformance::run(&LocalBed, 0..20);
}

#[test]
fn sim_keeps_every_promise_on_a_good_network() {
    let name = "sim_keeps_every_promise_on_a_good_network";
    conformance::run(&SimBed { name, network: NetworkModel::default(), fanout: 2 }, 0..10);
}

#[test]
fn sim_keeps_every_promise_on_a_rough_network() {
    let name = "sim_keeps_every_promise_on_a_rough_network";
    conformance::run(&SimBed { name, network: NetworkModel::rough(), fanout: 3 }, 0..30);
}

//! The conformance suite on the backends of this crate, and what only the simulation can show.

use super::conformance::{self, Cluster, EVENTS, MEMORY_BYTES, TestBed};
use super::sim::{Happened, NetworkModel, SimCluster, SimFabric, SimOptions};
use super::tree::OPERATIONS_LIMIT;
use super::{Comparison, Condition, Fabric, FabricError, ROAD_EVENTS, RingRoad, Source, road_bytes};
use bcs_core::event::EventId;
use bcs_core::global_memory::{GlobalAddress, GlobalVariable};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use std::time::Duration;

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
        format!("cargo test -p bcs-fabric tests::{}", self.name)
    }
}

#[test]
fn sim_keeps_every_promise_on_a_good_network() {
    let name = "sim_keeps_every_promise_on_a_good_network";
    conformance::run(&SimBed { name, network: NetworkModel::default(), fanout: 2 }, 0..10);
}

#[test]
fn sim_keeps_every_promise_on_a_rough_network() {
    let name = "sim_keeps_every_promise_on_a_rough_network";
    conformance::run(&SimBed { name, network: NetworkModel::rough(), fanout: 3 }, 0..20);
}

#[test]
fn sim_carries_records_on_every_network() {
    let name = "sim_carries_records_on_every_network";
    for network in [NetworkModel::default(), NetworkModel::rough(), NetworkModel::wild()] {
        conformance::run_roads(&SimBed { name, network, fanout: 2 }, 0..8);
    }
}

/// A simulated cluster whose road is made of rings.
struct RingBed(SimBed);

struct RingCluster {
    cluster: SimCluster,
    ports: Vec<RingRoad<SimFabric>>,
}

impl Cluster for RingCluster {
    type Port = RingRoad<SimFabric>;

    fn port(&mut self, node: NodeId) -> &mut Self::Port {
        &mut self.ports[node.index()]
    }

    fn step(&mut self) -> bool {
        // What waits for room goes when there is some.
        let alive = |port: &&mut RingRoad<SimFabric>| !port.dead().contains(port.node());
        self.ports.iter_mut().filter(alive).for_each(|port| port.progress().unwrap());
        self.cluster.step().is_some()
    }

    fn kill(&mut self, node: NodeId) {
        self.cluster.kill(node);
    }
}

impl TestBed for RingBed {
    type Cluster = RingCluster;

    fn start(&self, nodes: u32, seed: u64) -> Option<RingCluster> {
        let cluster = SimCluster::new(SimOptions {
            memory_bytes: MEMORY_BYTES + road_bytes(nodes),
            events: EVENTS + ROAD_EVENTS,
            fanout: self.0.fanout,
            network: self.0.network.clone(),
            encode: true,
            ..SimOptions::new(nodes, seed)
        });
        let road = |fabric| RingRoad::new(fabric, GlobalAddress(MEMORY_BYTES), EventId(EVENTS));
        let ports = (0..nodes).map(|node| road(cluster.fabric(NodeId(node)))).collect();
        Some(RingCluster { cluster, ports })
    }

    fn command(&self) -> String {
        self.0.command()
    }
}

#[test]
fn rings_carry_records_on_every_network() {
    let name = "rings_carry_records_on_every_network";
    for network in [NetworkModel::default(), NetworkModel::rough(), NetworkModel::wild()] {
        conformance::run_roads(&RingBed(SimBed { name, network, fanout: 2 }), 0..8);
    }
}

#[test]
fn sim_keeps_its_order_on_a_wild_network() {
    let name = "sim_keeps_its_order_on_a_wild_network";
    conformance::run_orders(&SimBed { name, network: NetworkModel::wild(), fanout: 2 }, 0..80);
}

/// Strobes all nodes and asks all of them, from node 0, blocking: the global protocol's two calls (paper,
/// §4.2). The virtual time that each took.
fn strobe_and_ask(cluster: &SimCluster, nodes: u32) -> (Duration, Duration) {
    let mut lead = cluster.fabric(NodeId(0));
    let all = NodeSet::all(nodes);
    let at = GlobalAddress(64);
    let begin = cluster.now();
    lead.xfer_and_signal(Source::Bytes(&7u64.to_le_bytes()), &all, at, Some(EventId(0)), Some(EventId(1)))
        .unwrap();
    assert_eq!(lead.wait_event(EventId(0)), Ok(1));
    let strobed = cluster.now();
    let comparison =
        Comparison { variable: GlobalVariable::at(at).unwrap(), condition: Condition::Equal, value: 7 };
    assert_eq!(lead.compare_and_write_now(&all, comparison, None), Ok(true));
    (strobed - begin, cluster.now() - strobed)
}

#[test]
fn the_largest_machine_of_the_paper_and_more_runs_in_one_process() {
    const NODES: u32 = 16_384;
    let cluster = SimCluster::new(SimOptions::new(NODES, 1));
    strobe_and_ask(&cluster, NODES);
    cluster.run_until_idle();
    for node in [0, 1, NODES / 2, NODES - 1] {
        assert_eq!(cluster.fabric(NodeId(node)).test_event(EventId(1)), Ok(1));
    }
}

#[test]
fn the_cost_of_a_strobe_and_of_a_query_grows_with_the_logarithm_of_the_number_of_nodes() {
    let cost = |nodes| strobe_and_ask(&SimCluster::new(SimOptions::new(nodes, 1)), nodes);
    let (small, large) = (cost(16), cost(16 * 256));
    // With a fanout of 4, 15 nodes below the root are 2 levels and 4,095 are 6.
    assert!(large.0 < small.0 * 4, "strobe: {small:?} for 16 nodes, {large:?} for 4,096");
    assert!(large.1 < small.1 * 4, "query: {small:?} for 16 nodes, {large:?} for 4,096");
}

#[test]
fn a_quiet_query_takes_one_round_trip_of_the_tree() {
    const NODES: u32 = 64;
    let cluster = SimCluster::new(SimOptions::new(NODES, 1));
    strobe_and_ask(&cluster, NODES);
    cluster.run_until_idle();
    let before = cluster.statistics().messages;
    let mut lead = cluster.fabric(NodeId(0));
    let comparison = Comparison {
        variable: GlobalVariable::at(GlobalAddress(64)).unwrap(),
        condition: Condition::Equal,
        value: 7,
    };
    let ticket = lead.compare_and_write(&NodeSet::all(NODES), comparison, None).unwrap();
    while lead.test_query(ticket).is_none() {
        lead.wait().unwrap();
    }
    // Down and up, and the first releases on their way down again: not a second round of questions.
    let messages = cluster.statistics().messages - before;
    let edges = u64::from(NODES - 1);
    assert!((2 * edges..=2 * edges + 4).contains(&messages), "{messages} messages over {edges} edges");
}

#[test]
fn a_partition_delays_and_loses_nothing() {
    for seed in 0..20 {
        let options = SimOptions { network: NetworkModel::rough(), ..SimOptions::new(6, seed) };
        let cluster = SimCluster::new(options);
        cluster.partition_at(Duration::from_micros(20 + seed * 10), "2-4".parse().unwrap());
        cluster.partition_at(Duration::from_millis(5), NodeSet::new());
        let mut lead = cluster.fabric(NodeId(0));
        for number in 1..=20u64 {
            let at = GlobalAddress(64);
            lead.xfer_and_signal(
                Source::Bytes(&number.to_le_bytes()),
                &NodeSet::all(6),
                at,
                Some(EventId(0)),
                None,
            )
            .unwrap();
        }
        let mut complete = 0;
        while complete < 20 {
            complete += lead.wait_event(EventId(0)).unwrap();
        }
        assert!(cluster.now() > Duration::from_millis(5), "seed {seed}: nothing crosses a partition");
        for node in 0..6 {
            let port = cluster.fabric(NodeId(node));
            assert_eq!(port.load(GlobalVariable::at(GlobalAddress(64)).unwrap()), Ok(20), "seed {seed}");
            assert!(port.dead().is_empty());
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let run = |seed| {
        let options = SimOptions { network: NetworkModel::rough(), ..SimOptions::new(9, seed) };
        let cluster = SimCluster::new(options);
        for node in 0..9 {
            let mut port = cluster.fabric(NodeId(node));
            let all = NodeSet::all(9);
            port.xfer_and_signal(Source::Bytes(&[node as u8; 5000]), &all, GlobalAddress(0), None, None)
                .unwrap();
        }
        cluster.kill_at(Duration::from_micros(100), NodeId(3));
        let steps = cluster.run_until_idle();
        (
            steps,
            cluster.now(),
            cluster.statistics(),
            cluster.fabric(NodeId(1)).load(GlobalVariable::at(GlobalAddress(0)).unwrap()),
        )
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn a_wait_that_nothing_can_end_says_so() {
    let cluster = SimCluster::new(SimOptions::new(2, 0));
    let stalled = cluster.fabric(NodeId(1)).wait_event(EventId(0));
    assert_eq!(stalled, Err(FabricError::Stalled(NodeId(1))));
}

#[test]
fn a_driver_is_woken_when_it_asked_to_be() {
    let cluster = SimCluster::new(SimOptions::new(2, 0));
    cluster.wake_at(Duration::from_micros(500), NodeId(1));
    assert_eq!(cluster.step(), Some(Happened::On(NodeId(1))));
    assert_eq!(cluster.now(), Duration::from_micros(500));
}

#[test]
fn too_many_operations_are_refused_until_some_are_over_and_none_is_lost() {
    let cluster = SimCluster::new(SimOptions::new(2, 0));
    let mut port = cluster.fabric(NodeId(0));
    let mut put = || {
        port.xfer_and_signal(Source::Bytes(b"x"), &NodeSet::all(2), GlobalAddress(0), None, Some(EventId(1)))
    };
    let accepted = std::iter::repeat_with(&mut put).take_while(Result::is_ok).count();
    assert_eq!(accepted, OPERATIONS_LIMIT);
    assert!(matches!(put(), Err(FabricError::Busy { limit: OPERATIONS_LIMIT, .. })));
    cluster.run_until_idle();
    assert_eq!(cluster.fabric(NodeId(1)).test_event(EventId(1)), Ok(OPERATIONS_LIMIT as u32));
    assert_eq!(put(), Ok(()));
}

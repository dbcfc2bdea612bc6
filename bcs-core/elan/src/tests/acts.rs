//! What the card does for an operation: a number of acts that does not grow with the number of nodes.

use super::super::*;
use super::bed::{Counts, ElanCluster};
use bcs_fabric::Condition;
use bcs_fabric::conformance::Cluster;

const LOCAL: EventId = EventId(0);
const REMOTE: EventId = EventId(1);

/// Steps until nothing is under way.
fn settle(cluster: &mut ElanCluster) {
    while cluster.step() {}
}

/// What the card did meanwhile.
fn since(cluster: &ElanCluster, before: Counts) -> Counts {
    let now = cluster.counts();
    Counts {
        puts: now.puts - before.puts,
        gets: now.gets - before.gets,
        broadcasts: now.broadcasts - before.broadcasts,
        conditionals: now.conditionals - before.conditionals,
    }
}

fn put_to(cluster: &mut ElanCluster, nodes: &NodeSet, data: &[u8]) -> Counts {
    settle(cluster);
    let before = cluster.counts();
    let port = cluster.port(NodeId(0));
    port.xfer_and_signal(Source::Bytes(data), nodes, GlobalAddress(64), Some(LOCAL), Some(REMOTE)).unwrap();
    settle(cluster);
    assert_eq!(cluster.port(NodeId(0)).test_event(LOCAL), Ok(1));
    for node in nodes {
        let mut found = vec![0; data.len()];
        cluster.port(node).read(GlobalAddress(64), &mut found).unwrap();
        assert!(found == data, "{node}");
        assert_eq!(cluster.port(node).test_event(REMOTE), Ok(1));
    }
    since(cluster, before)
}

#[test]
fn a_put_to_all_is_as_many_broadcasts_for_many_nodes_as_for_few() {
    for nodes in [3, 4, 16, 32] {
        let mut cluster = ElanCluster::new(nodes, 1, |_| {});
        assert!(cluster.ports.iter().all(ElanFabric::has_broadcasts));
        let acts = put_to(&mut cluster, &NodeSet::all(nodes), b"strobe");
        // What is asked, and what is decided: the slot and its number each.
        assert_eq!(acts.broadcasts, 4, "{nodes} nodes: {acts:?}");
        // The votes are those of one node, and nobody acknowledges with a message.
        assert_eq!((acts.gets, acts.puts), (1, 0), "{nodes} nodes: {acts:?}");
    }
}

#[test]
fn a_set_of_several_ranges_is_a_broadcast_for_each() {
    let mut cluster = ElanCluster::new(12, 2, |_| {});
    let nodes: NodeSet = [1, 2, 3, 6, 9, 10].into_iter().map(NodeId).collect();
    let acts = put_to(&mut cluster, &nodes, &[7; 3000]);
    assert_eq!((acts.broadcasts, acts.puts), (3 * 4, 0), "{acts:?}");
}

#[test]
fn a_put_to_one_other_node_is_puts() {
    let mut cluster = ElanCluster::new(4, 3, |_| {});
    let acts = put_to(&mut cluster, &NodeSet::single(NodeId(2)), b"word");
    // A message and its tail each way.
    assert_eq!(acts, Counts { puts: 4, ..Counts::default() });
}

#[test]
fn a_compare_and_write_is_broadcasts_and_conditionals_whatever_the_number_of_nodes() {
    let comparison = |value| Comparison {
        variable: GlobalVariable::at(GlobalAddress(0)).unwrap(),
        condition: Condition::Equal,
        value,
    };
    let variable = GlobalVariable::at(GlobalAddress(8)).unwrap();
    for nodes in [3, 16, 32] {
        let all = NodeSet::all(nodes);
        let mut cluster = ElanCluster::new(nodes, 4, |_| {});
        settle(&mut cluster);
        let before = cluster.counts();
        let assignment = Some(Assignment { variable, value: 77 });
        let ticket = cluster.port(NodeId(1)).compare_and_write(&all, comparison(0), assignment).unwrap();
        settle(&mut cluster);
        assert_eq!(cluster.port(NodeId(1)).test_query(ticket), Some(Ok(true)));
        assert!(all.iter().all(|node| cluster.port(node).load(variable) == Ok(77)));
        let acts = since(&cluster, before);
        // Node 1 is in the middle: the others are two ranges.
        assert_eq!((acts.broadcasts, acts.puts, acts.gets), (2 * 4, 0, 1), "{nodes} nodes: {acts:?}");
        assert!(acts.conditionals >= 6, "{acts:?}");
        // One that does not hold is told with messages.
        let ticket = cluster.port(NodeId(1)).compare_and_write(&all, comparison(5), None).unwrap();
        settle(&mut cluster);
        assert_eq!(cluster.port(NodeId(1)).test_query(ticket), Some(Ok(false)));
    }
}

#[test]
fn a_put_that_no_slot_holds_arrives_whole_and_slots_are_used_again() {
    let mut cluster = ElanCluster::new(5, 5, |options| options.slot_bytes = 1 << 10);
    for bytes in [0, 1, 999, 1000, 1001, 4096, 4097, 65_536, 65_537] {
        let data: Vec<u8> = (0..bytes).map(|at| (at * 7 + bytes) as u8).collect();
        put_to(&mut cluster, &NodeSet::all(5), &data);
        put_to(&mut cluster, &NodeSet::single(NodeId(3)), &data);
    }
}

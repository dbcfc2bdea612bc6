//! What keeps a node from joining a network; who leaves it; and what is not as it should be on the other
//! side.

use super::super::*;
use super::bed::{ElanCluster, TestFabric, capability, join, new_context, options};
use bcs_core::SparseMemory;
use bcs_fabric::conformance::{Cluster, EVENTS, MEMORY_BYTES};

const PATIENCE: Duration = Duration::from_secs(60);

fn port(node: u32, nodes: u32, context: u32) -> ElanPort {
    ElanPort::bind(options(node, nodes, context)).unwrap()
}

fn member(port: &ElanPort) -> ElanMember {
    ElanMember { name: port.options.name.clone(), address: port.local_address() }
}

fn connect(port: ElanPort, roster: Vec<ElanMember>) -> Result<TestFabric, JoinError> {
    port.connect(roster, SparseMemory::new(MEMORY_BYTES), EventTable::new(EVENTS))
}

/// Steps until something holds.
fn drive_until(cluster: &mut ElanCluster, what: &str, mut done: impl FnMut(&mut ElanCluster) -> bool) {
    for _ in 0..100_000 {
        if done(cluster) {
            return;
        }
        cluster.step();
    }
    panic!("it does not come to this: {what}");
}

#[test]
fn a_library_that_is_not_there_and_one_that_is_another_are_named() {
    let mut missing = options(0, 1, new_context());
    missing.library = "libelan-of-another-world.so".into();
    let refused = ElanPort::bind(missing).unwrap_err().to_string();
    assert!(refused.contains("libelan-of-another-world.so") && refused.contains("qsnetlibs"), "{refused}");
    let mut other = options(0, 1, new_context());
    other.library = "libc.so.6".into();
    let refused = ElanPort::bind(other).unwrap_err().to_string();
    assert!(refused.contains("libc.so.6") && refused.contains("elan_generateCapability"), "{refused}");
    let mut other = options(0, 1, new_context());
    other.nic_library = Some("libc.so.6".into());
    let refused = ElanPort::bind(other).unwrap_err().to_string();
    assert!(refused.contains("bcs_elan_broadcast"), "{refused}");
}

#[test]
fn a_process_without_a_capability_is_told_so() {
    let refused = |given: Option<&str>| {
        let capability = given.map(str::to_owned);
        ElanPort::bind(ElanOptions { capability, ..options(0, 1, new_context()) }).unwrap_err().to_string()
    };
    assert!(refused(Some("N0C1")).contains("'N0C1'"));
    assert!(refused(Some("N0C1\0")).contains("N3C17-17-17N0-15R1b"));
    assert!(refused(None).contains("RMS or Slurm"));
}

#[test]
fn options_that_cannot_be_are_refused_by_name_and_value() {
    let refused = |adapt: fn(&mut ElanOptions)| {
        let mut options = options(0, 2, 1);
        adapt(&mut options);
        ElanPort::bind(options).unwrap_err().to_string()
    };
    assert!(refused(|options| options.nodes = 0).contains("nodes = 0"));
    assert!(refused(|options| options.nodes = MAX_NODES + 1).contains("nodes = "));
    for bytes in [0, 4096, 10_000, 128 << 20] {
        assert!(ElanPort::bind(ElanOptions { ring_bytes: bytes, ..options(0, 2, 1) }).is_err());
    }
    assert!(refused(|options| options.ring_bytes = 5000).contains("ring_bytes = 5000"));
    assert!(refused(|options| options.slot_bytes = 512).contains("slot_bytes = 512"));
    // More than the library has for a process.
    let refused = refused(|options| (options.nodes, options.ring_bytes) = (64, 4 << 20));
    assert!(refused.contains("LIBELAN_ALLOC_SIZE"), "{refused}");
}

#[test]
fn a_roster_that_cannot_be_is_refused() {
    let context = new_context();
    let ports: Vec<ElanPort> = (0..2).map(|node| port(node, 2, context)).collect();
    let roster: Vec<ElanMember> = ports.iter().map(member).collect();
    let [first, second] = [roster[0].clone(), roster[1].clone()];
    let mut ports = ports.into_iter();
    let mut refused = |roster| connect(ports.next().unwrap(), roster).unwrap_err();
    let short = refused(vec![first.clone()]);
    assert!(matches!(short, JoinError::Nodes { expected: 2, found: 1 }), "{short}");
    let twice = refused(vec![first.clone(), first.clone()]);
    assert!(matches!(twice, JoinError::Roster(RosterError::Duplicate { .. })), "{twice}");
    let context = new_context();
    let lone =
        connect(port(0, 2, context), vec![second.clone(), ElanMember { name: "x".into(), ..first.clone() }]);
    assert!(matches!(lone, Err(JoinError::Roster(RosterError::Missing { .. }))));
    let moved = ElanMember { address: ElanAddress { process: 9, window: 9 }, ..second.clone() };
    let moved = connect(port(1, 2, context), vec![first, moved]);
    assert!(matches!(moved, Err(JoinError::Address { .. })));
}

#[test]
fn windows_at_different_addresses_do_with_puts() {
    let context = new_context();
    let mut ports: Vec<ElanPort> = (0..4).map(|node| port(node, 4, context)).collect();
    // One node has allocated something else before.
    let layout = *ports[2].window.layout();
    let bytes = layout.bytes().unwrap();
    let base = ports[2].card.allocate(bytes).unwrap();
    ports[2].address.window = ports[2].card.address_of(base);
    // SAFETY: just allocated, of the layout's length.
    ports[2].window = unsafe { Window::new(base, layout, bytes) };
    let mut cluster = ElanCluster::of(join(ports), capability(0, 4, context), 1);
    assert!(!cluster.ports.iter().any(ElanFabric::has_broadcasts));
    all_reach_all(&mut cluster);
    assert_eq!(cluster.counts().broadcasts, 0);
}

/// Every node puts to all, and everything arrives everywhere.
fn all_reach_all(cluster: &mut ElanCluster) {
    let nodes: NodeSet = cluster.ports.iter().map(Fabric::node).collect();
    for node in &nodes {
        let port = cluster.port(node);
        let data = Source::Bytes(b"alive");
        port.xfer_and_signal(data, &nodes, GlobalAddress(0), Some(EventId(0)), Some(EventId(1))).unwrap();
    }
    let mut seen = vec![(0, 0); cluster.ports.len()];
    let all = seen.len() as u32;
    drive_until(cluster, "all puts have arrived and are complete", |cluster| {
        for (port, seen) in cluster.ports.iter_mut().zip(&mut seen) {
            seen.0 += port.test_event(EventId(0)).unwrap();
            seen.1 += port.test_event(EventId(1)).unwrap();
        }
        seen.iter().all(|seen| *seen == (1, all))
    });
}

#[test]
fn all_members_greet_each_other_and_then_are_connected() {
    let mut cluster = ElanCluster::new(5, 6, |_| {});
    assert_eq!(cluster.port(NodeId(1)).unconnected().len(), 4);
    drive_until(&mut cluster, "all have greeted", |cluster| {
        cluster.ports.iter().all(|port| port.unconnected().is_empty())
    });
    let port = cluster.port(NodeId(0));
    assert_eq!(Driven::timeout(port), Some(port.options.poll_interval));
    assert_eq!(port.why_lost(NodeId(1)), None);
}

#[test]
fn a_node_of_another_network_or_with_other_options_is_found_by_its_greeting() {
    for adapt in [(|options| options.network = NetworkId(8)) as fn(&mut ElanOptions), |options| {
        options.slot_bytes *= 2
    }] {
        let mut cluster = ElanCluster::new(3, 7, |options| {
            if options.process == 2 {
                adapt(options);
            }
        });
        // Whoever finds it first: each greets the others as they do not expect it.
        drive_until(&mut cluster, "the stranger is found", |cluster| {
            let pairs = [(0, 2), (1, 2), (2, 0), (2, 1)];
            let mut reasons =
                pairs.iter().filter_map(|(node, other)| cluster.port(NodeId(*node)).why_lost(NodeId(*other)));
            reasons.any(|reason| reason.contains("same roster"))
        });
    }
}

/// Drives all nodes but one, which leaves with a thread of its own meanwhile.
fn leave(cluster: &mut ElanCluster, leaver: &mut TestFabric) -> Result<(), LinkError> {
    std::thread::scope(|scope| {
        let leaving = scope.spawn(|| leaver.shutdown(PATIENCE));
        while !leaving.is_finished() {
            cluster.step();
        }
        leaving.join().unwrap()
    })
}

#[test]
fn a_node_that_leaves_in_order_is_not_dead_unless_it_is_needed_again() {
    let mut cluster = ElanCluster::new(3, 8, |_| {});
    all_reach_all(&mut cluster);
    // What was sent last arrives before it leaves.
    let data = vec![0xa5; 100_000];
    let mut leaver = cluster.ports.pop().unwrap();
    let to = NodeSet::single(NodeId(0));
    leaver.xfer_and_signal(Source::Bytes(&data), &to, GlobalAddress(64), None, Some(EventId(2))).unwrap();
    assert_eq!(leave(&mut cluster, &mut leaver), Ok(()));
    drive_until(&mut cluster, "all know that it has left", |cluster| {
        cluster.ports.iter().all(|port| port.links[2].state == LinkState::Departed)
    });
    assert_eq!(cluster.port(NodeId(0)).test_event(EventId(2)), Ok(1));
    let mut found = vec![0; data.len()];
    cluster.port(NodeId(0)).read(GlobalAddress(64), &mut found).unwrap();
    assert!(found == data);
    let refused = leaver.xfer_and_signal(Source::Bytes(b"x"), &to, GlobalAddress(0), None, None);
    assert!(matches!(refused, Err(FabricError::SelfDead { .. })));
    all_reach_all(&mut cluster);
    assert!(cluster.ports.iter().all(|port| port.dead().is_empty()));
    // An operation that includes it fails, and then all know.
    let (all, event) = (NodeSet::all(3), Some(EventId(3)));
    let port = cluster.port(NodeId(1));
    port.xfer_and_signal(Source::Bytes(b"x"), &all, GlobalAddress(0), event, None).unwrap();
    let gone = NodeSet::single(NodeId(2));
    drive_until(&mut cluster, "all know of the death", |cluster| {
        cluster.ports.iter().all(|port| port.dead() == gone)
    });
    let failed = cluster.port(NodeId(1)).test_event(EventId(3));
    assert!(matches!(failed, Err(FabricError::NodeDead { node: NodeId(2), .. })), "{failed:?}");
    assert!(cluster.port(NodeId(1)).why_lost(NodeId(2)).unwrap().contains("still needed"));
}

#[test]
fn a_node_that_does_not_answer_holds_up_who_leaves_no_longer_than_it_has_patience() {
    let mut cluster = ElanCluster::new(2, 9, |_| {});
    all_reach_all(&mut cluster);
    let mut leaver = cluster.ports.remove(0);
    cluster.kill(NodeId(0));
    let to = NodeSet::single(NodeId(1));
    leaver.xfer_and_signal(Source::Bytes(b"x"), &to, GlobalAddress(64), None, None).unwrap();
    let left = leaver.shutdown(Duration::from_millis(20));
    assert!(matches!(left, Err(LinkError::NotAcknowledged { .. })), "{left:?}");
}

//! Xfer-And-Signal and Test-Event: arrival, order, counting, refusals.

use super::test_bed::{
    Cluster, EVENTS, LOCAL, MEMORY_BYTES, REMOTE, TestBed, await_event, drive, random_bytes, settle, shapes,
    take_signals, variable,
};
use crate::{Bytes, Comparison, Condition, Fabric, FabricError, Source};
use bcs_core::event::EventId;
use bcs_core::global_memory::GlobalAddress;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;

/// An odd address, so that nothing depends on alignment.
const AT: GlobalAddress = GlobalAddress(4099);

pub(super) fn every_shape_and_size_arrives_whole(bed: &impl TestBed, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for nodes in [1, 2, 3, 7, 20] {
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        let initiator = NodeId(random.u32(0..nodes));
        for destinations in shapes(nodes, initiator, &mut random) {
            // One byte, a fragment and a bit, several megabytes on the small clusters; nothing.
            let large = if nodes <= 3 { 3 << 20 } else { 70_001 };
            for bytes in [0, 1, 8, random.usize(9..2000), large] {
                let data = random_bytes(bytes, &mut random);
                let shared = Bytes::from(data.clone());
                let source = if bytes % 2 == 0 { Source::Bytes(&data) } else { Source::Shared(&shared) };
                let port = cluster.port(initiator);
                port.xfer_and_signal(source, &destinations, AT, Some(LOCAL), Some(REMOTE)).unwrap();
                await_event(&mut cluster, initiator, LOCAL).unwrap();
                // Complete means there: no further step is needed for the data or the events.
                for node in (0..nodes).map(NodeId) {
                    let reached = destinations.contains(node);
                    assert_eq!(
                        take_signals(&mut cluster, node, REMOTE),
                        u32::from(reached),
                        "{node}, {destinations}"
                    );
                    if reached {
                        let mut found = vec![0; bytes];
                        cluster.port(node).read(AT, &mut found).unwrap();
                        assert!(
                            found == data,
                            "{node} of {destinations} has other bytes than the {bytes} sent"
                        );
                    }
                }
                // Whatever the others have there, it is not what they were not sent.
                overwrite(&mut cluster, nodes, bytes);
            }
        }
        registered_ranges_arrive(&mut cluster, initiator, nodes);
    }
}

/// Every node clears its own range: what one transfer left must not hide that the next did not arrive.
fn overwrite(cluster: &mut impl Cluster, nodes: u32, bytes: usize) {
    for node in (0..nodes).map(NodeId) {
        let own = NodeSet::single(node);
        let zeros = vec![0; bytes];
        cluster.port(node).xfer_and_signal(Source::Bytes(&zeros), &own, AT, Some(LOCAL), None).unwrap();
        await_event(cluster, node, LOCAL).unwrap();
    }
}

fn registered_ranges_arrive(cluster: &mut impl Cluster, initiator: NodeId, nodes: u32) {
    let own = NodeSet::single(initiator);
    let from = GlobalAddress(64);
    cluster
        .port(initiator)
        .xfer_and_signal(Source::Bytes(b"registered"), &own, from, Some(LOCAL), None)
        .unwrap();
    await_event(cluster, initiator, LOCAL).unwrap();
    let source = Source::Global { at: from, bytes: 10 };
    // To an overlapping range: as if through a buffer.
    let at = GlobalAddress(68);
    cluster.port(initiator).xfer_and_signal(source, &NodeSet::all(nodes), at, Some(LOCAL), None).unwrap();
    await_event(cluster, initiator, LOCAL).unwrap();
    for node in (0..nodes).map(NodeId) {
        let mut found = [0; 10];
        cluster.port(node).read(at, &mut found).unwrap();
        assert_eq!(&found, b"registered", "{node}");
    }
}

pub(super) fn puts_between_two_nodes_take_effect_in_the_order_of_their_calls(bed: &impl TestBed, seed: u64) {
    const PUTS: u64 = 60;
    let mut random = fastrand::Rng::with_seed(seed);
    for nodes in [1, 2, 6] {
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        let (sender, receiver) = (NodeId(random.u32(0..nodes)), NodeId(random.u32(0..nodes)));
        // Data, then a flag that says how many data there are, to sets that change but always hold the
        // receiver, and nothing is waited for.
        let set = |random: &mut fastrand::Rng| {
            let mut set: NodeSet = (0..nodes).map(NodeId).filter(|_| random.f64() < 0.3).collect();
            set.insert(receiver);
            set
        };
        for number in 1..=PUTS {
            let data_bytes = [8, 8, 8, 50_000][random.usize(0..4)];
            let mut data = number.to_le_bytes().to_vec();
            data.resize(data_bytes, 0);
            let port = cluster.port(sender);
            port.xfer_and_signal(Source::Bytes(&data), &set(&mut random), GlobalAddress(1 << 20), None, None)
                .unwrap();
            let flag = number.to_le_bytes();
            port.xfer_and_signal(
                Source::Bytes(&flag),
                &set(&mut random),
                variable(0).address(),
                None,
                Some(REMOTE),
            )
            .unwrap();
        }
        let (mut seen, mut signals) = (0, 0);
        drive(&mut cluster, "the last put", |cluster| {
            signals += u64::from(take_signals(cluster, receiver, REMOTE));
            let port = cluster.port(receiver);
            let flag = port.load(variable(0)).unwrap();
            let data = port.load(variable((1 << 20) / 8)).unwrap();
            assert!(flag >= seen, "{receiver} saw put {flag} after put {seen} of {sender}");
            assert!(data >= flag, "{receiver} saw flag {flag} before its data (it has {data})");
            assert!(signals <= flag, "{receiver} counts {signals} signals of {flag} puts");
            seen = flag;
            (seen == PUTS && signals == PUTS).then_some(())
        });
        assert_eq!(cluster.port(sender).take_failure(), None);
    }
}

pub(super) fn senders_with_slots_of_their_own_do_not_disturb_each_other(bed: &impl TestBed, seed: u64) {
    const SLOT_BYTES: u64 = 4096;
    let mut random = fastrand::Rng::with_seed(seed);
    for nodes in [1, 5, 12] {
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        let receiver = NodeId(random.u32(0..nodes));
        let batches: Vec<Vec<u8>> = (0..nodes)
            .map(|_| random_bytes(random.clone().usize(1..SLOT_BYTES as usize), &mut random))
            .collect();
        for (sender, batch) in (0..nodes).zip(&batches) {
            let at = GlobalAddress(1 << 16).slot(sender, SLOT_BYTES).unwrap();
            let to = NodeSet::single(receiver);
            cluster
                .port(NodeId(sender))
                .xfer_and_signal(Source::Bytes(batch), &to, at, None, Some(REMOTE))
                .unwrap();
        }
        let mut arrived = 0;
        drive(&mut cluster, "a batch of every sender", |cluster| {
            arrived += take_signals(cluster, receiver, REMOTE);
            (arrived == nodes).then_some(())
        });
        for (sender, batch) in (0..nodes).zip(&batches) {
            let mut found = vec![0; batch.len()];
            let at = GlobalAddress(1 << 16).slot(sender, SLOT_BYTES).unwrap();
            cluster.port(receiver).read(at, &mut found).unwrap();
            assert!(&found == batch, "the batch of node {sender} was disturbed");
        }
    }
}

pub(super) fn events_count_every_signal(bed: &impl TestBed, seed: u64) {
    const PUTS: u32 = 25;
    for nodes in [1, 4] {
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        let all = NodeSet::all(nodes);
        for sender in &all {
            for _ in 0..PUTS {
                let port = cluster.port(sender);
                port.xfer_and_signal(Source::Bytes(b"x"), &all, GlobalAddress(0), Some(LOCAL), Some(REMOTE))
                    .unwrap();
            }
        }
        let mut counts = vec![(0, 0); nodes as usize];
        drive(&mut cluster, "all signals", |cluster| {
            for node in &all {
                counts[node.index()].0 += take_signals(cluster, node, LOCAL);
                counts[node.index()].1 += take_signals(cluster, node, REMOTE);
            }
            counts.iter().all(|counts| *counts == (PUTS, PUTS * nodes)).then_some(())
        });
        settle(&mut cluster);
        for node in &all {
            for event in (0..EVENTS).map(EventId) {
                assert_eq!(
                    take_signals(&mut cluster, node, event),
                    0,
                    "{node} has signals of {event} left over"
                );
            }
        }
    }
}

pub(super) fn wrong_arguments_are_refused_and_change_nothing(bed: &impl TestBed, seed: u64) {
    for nodes in [1, 3] {
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        let all = NodeSet::all(nodes);
        let port = cluster.port(NodeId(0));
        let mut put = |destinations: &NodeSet, at: u64, local, remote| {
            port.xfer_and_signal(Source::Bytes(&[1; 8]), destinations, GlobalAddress(at), local, remote)
                .unwrap_err()
        };
        assert!(matches!(put(&NodeSet::new(), 0, Some(LOCAL), None), FabricError::NoNodes(_)));
        let stranger = all.union(&NodeSet::single(NodeId(nodes + 5)));
        let error = put(&stranger, 0, Some(LOCAL), None);
        assert!(
            matches!(error, FabricError::NotAMember { node, .. } if node == NodeId(nodes + 5)),
            "{error}"
        );
        for at in [MEMORY_BYTES - 7, MEMORY_BYTES, u64::MAX - 3] {
            assert!(matches!(put(&all, at, Some(LOCAL), Some(REMOTE)), FabricError::Memory { .. }));
        }
        let beyond = Some(EventId(EVENTS));
        assert!(matches!(
            put(&all, 0, beyond, None),
            FabricError::NoSuchEvent { event: EventId(EVENTS), .. }
        ));
        assert!(matches!(put(&all, 0, None, beyond), FabricError::NoSuchEvent { count: EVENTS, .. }));
        assert!(matches!(port.test_event(EventId(EVENTS)), Err(FabricError::NoSuchEvent { .. })));
        let outside = Source::Global { at: GlobalAddress(MEMORY_BYTES), bytes: 1 };
        let refused = port.xfer_and_signal(outside, &all, GlobalAddress(0), Some(LOCAL), None);
        assert!(matches!(refused, Err(FabricError::Memory { .. })));
        let comparison =
            Comparison { variable: variable(MEMORY_BYTES / 8), condition: Condition::Equal, value: 0 };
        assert!(matches!(port.compare_and_write(&all, comparison, None), Err(FabricError::Memory { .. })));
        assert!(matches!(port.load(variable(MEMORY_BYTES / 8)), Err(FabricError::Memory { .. })));
        assert!(matches!(
            port.read(GlobalAddress(MEMORY_BYTES - 1), &mut [0; 2]),
            Err(FabricError::Memory { .. })
        ));
        settle(&mut cluster);
        for node in &all {
            assert_eq!(cluster.port(node).load(variable(0)), Ok(0), "a refused operation wrote on {node}");
            assert_eq!(take_signals(&mut cluster, node, LOCAL) + take_signals(&mut cluster, node, REMOTE), 0);
        }
    }
}

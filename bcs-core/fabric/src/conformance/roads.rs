//! Records between two nodes: whole, once, in their order, and never more than the receiver has room for.

use super::test_bed::{Cluster, LOCAL, REMOTE, TestBed, drive, random_bytes, settle};
use crate::{Fabric, FabricError, Road, Source};
use bcs_core::global_memory::GlobalAddress;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use std::collections::{BTreeMap, VecDeque};

const NODES: u32 = 5;

/// Records on their way, by sender and receiver.
type Expected = BTreeMap<(NodeId, NodeId), VecDeque<Vec<u8>>>;

/// Polls a node, and checks that what comes is what was sent to it next.
fn poll<C: Cluster<Port: Road>>(cluster: &mut C, to: NodeId, expected: &mut Expected) {
    let mut found = Vec::new();
    let polled = cluster.port(to).poll(&mut |from, record| found.push((from, record.to_vec())));
    assert_eq!(polled, Ok(found.len()));
    for (from, record) in found {
        let next = expected.get_mut(&(from, to)).and_then(VecDeque::pop_front);
        assert!(
            next.as_ref() == Some(&record),
            "{to} gets {} bytes from {from}, not sent next",
            record.len()
        );
    }
}

/// Sends a record. False when the road is busy.
fn send<C: Cluster<Port: Road>>(
    cluster: &mut C,
    (from, to): (NodeId, NodeId),
    record: Vec<u8>,
    expected: &mut Expected,
) -> bool {
    let (first, second) = record.split_at(record.len() / 2);
    match cluster.port(from).send(to, &[first, &[], second]) {
        Ok(()) => {
            expected.entry((from, to)).or_default().push_back(record);
            true
        }
        Err(FabricError::Busy { .. }) => false,
        Err(error) => panic!("{from} cannot send to {to}: {error}"),
    }
}

fn is_over(expected: &Expected) -> bool {
    expected.values().all(VecDeque::is_empty)
}

fn pairs(nodes: u32) -> Vec<(NodeId, NodeId)> {
    let all = || (0..nodes).map(NodeId);
    all().flat_map(|from| all().map(move |to| (from, to))).filter(|(from, to)| from != to).collect()
}

pub(super) fn records_of_every_length_come_once_and_in_order<B: TestBed>(bed: &B, seed: u64)
where
    <B::Cluster as Cluster>::Port: Road,
{
    let Some(mut cluster) = bed.start(NODES, seed) else { return };
    let mut random = fastrand::Rng::with_seed(seed);
    let most = cluster.port(NodeId(0)).record_bytes();
    assert!(most >= 1 << 10);
    let lengths = [0, 1, 8, 1000, most - 1, most, 0, 7];
    let mut waiting: Vec<((NodeId, NodeId), VecDeque<usize>)> = Vec::new();
    for pair in pairs(NODES) {
        let mut lengths: VecDeque<usize> = lengths.into();
        lengths.extend((0..20).map(|_| random.usize(..3000.min(most))));
        waiting.push((pair, lengths));
    }
    let mut expected = Expected::new();
    drive(&mut cluster, "all records", |cluster| {
        for (pair, lengths) in &mut waiting {
            if let Some(length) = lengths.front()
                && send(cluster, *pair, random_bytes(*length, &mut random), &mut expected)
            {
                lengths.pop_front();
            }
        }
        let to = NodeId(random.u32(..NODES));
        poll(cluster, to, &mut expected);
        let is_sent = waiting.iter().all(|(_, lengths)| lengths.is_empty());
        (0..NODES).for_each(|node| poll(cluster, NodeId(node), &mut expected));
        (is_sent && is_over(&expected)).then_some(())
    });
}

pub(super) fn a_node_that_does_not_poll_makes_its_senders_wait_and_nobody_else<B: TestBed>(bed: &B, seed: u64)
where
    <B::Cluster as Cluster>::Port: Road,
{
    let Some(mut cluster) = bed.start(3, seed) else { return };
    let mut random = fastrand::Rng::with_seed(seed);
    let (sender, idle, other) = (NodeId(0), NodeId(1), NodeId(2));
    let mut expected = Expected::new();
    let bytes = 1000.min(cluster.port(sender).record_bytes());
    // A road may have to come up first.
    drive(&mut cluster, "a first record", |cluster| {
        send(cluster, (sender, idle), vec![0; bytes], &mut expected).then_some(())
    });
    // Sooner or later it is busy for good: nothing is under way any more.
    const ENOUGH_BYTES: usize = 64 << 20;
    let mut sent = 0;
    loop {
        if send(&mut cluster, (sender, idle), random_bytes(bytes, &mut random), &mut expected) {
            sent += bytes;
            assert!(sent < ENOUGH_BYTES, "what a node does not poll is not bounded");
        } else {
            settle(&mut cluster);
            if !send(&mut cluster, (sender, idle), vec![1; bytes], &mut expected) {
                break;
            }
        }
    }
    // The others go on.
    let mut theirs = 0;
    drive(&mut cluster, "records of others", |cluster| {
        if theirs < 50 && send(cluster, (sender, other), vec![theirs; 100], &mut expected) {
            theirs += 1;
        }
        poll(cluster, other, &mut expected);
        (theirs == 50 && expected[&(sender, other)].is_empty()).then_some(())
    });
    // And so does it, when it polls.
    let mut more = 0;
    drive(&mut cluster, "all of them", |cluster| {
        poll(cluster, idle, &mut expected);
        if more < 50 && send(cluster, (sender, idle), vec![more; 100], &mut expected) {
            more += 1;
        }
        (more == 50 && is_over(&expected)).then_some(())
    });
}

pub(super) fn records_that_cannot_be_are_refused<B: TestBed>(bed: &B, seed: u64)
where
    <B::Cluster as Cluster>::Port: Road,
{
    let Some(mut cluster) = bed.start(2, seed) else { return };
    let port = cluster.port(NodeId(0));
    let most = port.record_bytes();
    let own = port.send(NodeId(0), &[b"x"]);
    assert!(matches!(own, Err(FabricError::OwnNode { node: NodeId(0), .. })), "{own:?}");
    let stranger = port.send(NodeId(7), &[b"x"]);
    assert!(matches!(stranger, Err(FabricError::NotAMember { node: NodeId(7), .. })), "{stranger:?}");
    let long = port.send(NodeId(1), &[&vec![0; most], b"x"]);
    assert_eq!(long, Err(FabricError::RecordTooLong { bytes: most + 1, limit: most }));
    settle(&mut cluster);
    let polled = cluster.port(NodeId(1)).poll(&mut |_, _| panic!("nothing was sent"));
    assert_eq!(polled, Ok(0));
}

pub(super) fn records_and_operations_do_not_disturb_each_other<B: TestBed>(bed: &B, seed: u64)
where
    <B::Cluster as Cluster>::Port: Road,
{
    let Some(mut cluster) = bed.start(3, seed) else { return };
    let mut random = fastrand::Rng::with_seed(seed);
    let data = random_bytes(300_000, &mut random);
    let all = NodeSet::all(3);
    for node in (0..3).map(NodeId) {
        let at = GlobalAddress(u64::from(node.0) << 20);
        let source = Source::Bytes(&data);
        cluster.port(node).xfer_and_signal(source, &all, at, Some(LOCAL), Some(REMOTE)).expect("it may put");
    }
    let (mut expected, mut sent) = (Expected::new(), BTreeMap::new());
    let mut signals = [[0; 2]; 3];
    drive(&mut cluster, "puts and records", |cluster| {
        for pair in pairs(3) {
            let sent: &mut u8 = sent.entry(pair).or_default();
            if *sent < 60 && send(cluster, pair, vec![*sent; 1000], &mut expected) {
                *sent += 1;
            }
        }
        for node in (0..3).map(NodeId) {
            poll(cluster, node, &mut expected);
            for (event, signals) in [LOCAL, REMOTE].into_iter().zip(&mut signals[node.index()]) {
                *signals += cluster.port(node).test_event(event).expect("nobody dies");
            }
        }
        let is_put = signals == [[1, 3]; 3];
        (is_put && sent.values().all(|sent| *sent == 60) && is_over(&expected)).then_some(())
    });
    let mut found = vec![0; data.len()];
    cluster.port(NodeId(1)).read(GlobalAddress(2 << 20), &mut found).expect("in memory");
    assert!(found == data);
}

pub(super) fn of_a_node_that_dies_the_beginning_of_its_records_comes<B: TestBed>(bed: &B, seed: u64)
where
    <B::Cluster as Cluster>::Port: Road,
{
    let Some(mut cluster) = bed.start(NODES, seed) else { return };
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut expected, victim) = (Expected::new(), NodeId(random.u32(..NODES)));
    let survivors: Vec<NodeId> = (0..NODES).map(NodeId).filter(|node| *node != victim).collect();
    for round in 0..30 {
        for pair in pairs(NODES) {
            send(&mut cluster, pair, vec![round; 200], &mut expected);
        }
        for _ in 0..random.u32(..20) {
            cluster.step();
        }
        survivors.iter().for_each(|node| poll(&mut cluster, *node, &mut expected));
    }
    cluster.kill(victim);
    drive(&mut cluster, "all know of the death", |cluster| {
        survivors.iter().for_each(|node| poll(cluster, *node, &mut expected));
        survivors.iter().all(|node| cluster.port(*node).dead().contains(victim)).then_some(())
    });
    for node in &survivors {
        let refused = cluster.port(*node).send(victim, &[b"x"]);
        assert!(matches!(refused, Err(FabricError::NodeDead { .. })), "{refused:?}");
    }
    // Those who live lose nothing of each other.
    expected.retain(|(from, to), _| *from != victim && *to != victim);
    let live: Vec<_> =
        pairs(NODES).into_iter().filter(|(from, to)| *from != victim && *to != victim).collect();
    let mut sent = BTreeMap::new();
    drive(&mut cluster, "the records of the living", |cluster| {
        for pair in &live {
            let sent: &mut u8 = sent.entry(*pair).or_default();
            if *sent < 20 && send(cluster, *pair, vec![*sent; 300], &mut expected) {
                *sent += 1;
            }
        }
        let mut late = Vec::new();
        for to in &survivors {
            // What the dead one has sent may still come, too; it was compared with what came before.
            let polled = cluster.port(*to).poll(&mut |from, record| late.push((from, *to, record.to_vec())));
            assert!(polled.is_ok());
        }
        for (from, to, record) in late.into_iter().filter(|(from, ..)| *from != victim) {
            assert_eq!(expected.get_mut(&(from, to)).and_then(VecDeque::pop_front), Some(record));
        }
        (sent.values().all(|sent| *sent == 20) && is_over(&expected)).then_some(())
    });
}

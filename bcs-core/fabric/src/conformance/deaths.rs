//! Nodes that die in mid-transfer: all survivors have what was sent, or none; and they go on.

use super::histories::run_random_programs;
use super::test_bed::{Cluster, LOCAL, REMOTE, TestBed, await_event, drive, settle, take_signals, variable};
use crate::{Assignment, Comparison, Condition, Fabric, FabricError, Source};
use bcs_core::global_memory::GlobalAddress;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;

const AT: GlobalAddress = GlobalAddress(8192);
/// Two fragments: nodes die between them, too.
const BYTES: usize = 40_000;

/// How an operation was seen to end by those that survived it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Everywhere,
    Nowhere,
}

/// The instants at which to kill: about `count` numbers of steps, over the whole time that an operation
/// takes.
fn instants(total_steps: usize, count: usize, random: &mut fastrand::Rng) -> Vec<usize> {
    let stride = (total_steps / count).max(1);
    (0..count)
        .map(|instant| instant * stride + random.usize(0..stride))
        .filter(|step| *step <= total_steps)
        .collect()
}

fn start_put<C: Cluster>(cluster: &mut C, initiator: NodeId, destinations: &NodeSet) {
    let data = vec![0xb5; BYTES];
    let port = cluster.port(initiator);
    port.xfer_and_signal(Source::Bytes(&data), destinations, AT, Some(LOCAL), Some(REMOTE)).unwrap();
}

/// What survivors have of a put, which must be the same for all.
fn see_put<C: Cluster>(cluster: &mut C, survivors: &NodeSet) -> Seen {
    let mut seen: Vec<(NodeId, Seen)> = Vec::new();
    for node in survivors {
        let signals = take_signals(cluster, node, REMOTE);
        let mut found = vec![0; BYTES];
        cluster.port(node).read(AT, &mut found).unwrap();
        let whole = found.iter().all(|byte| *byte == 0xb5);
        let none = found.iter().all(|byte| *byte == 0);
        assert!(whole || none, "{node} has a part of the data");
        assert_eq!(signals, u32::from(whole), "{node} has data: {whole}, but {signals} signals");
        seen.push((node, if whole { Seen::Everywhere } else { Seen::Nowhere }));
    }
    assert!(seen.windows(2).all(|pair| pair[0].1 == pair[1].1), "survivors disagree: {seen:?}");
    seen.first().map_or(Seen::Nowhere, |(_, seen)| *seen)
}

/// After a death, operations that include the dead are refused by name, and others work.
fn survivors_go_on<C: Cluster>(cluster: &mut C, survivors: &NodeSet, dead: NodeId) {
    for node in survivors {
        let port = cluster.port(node);
        assert!(port.dead().contains(dead), "{node} does not know that {dead} is dead");
        let with_dead = survivors.union(&NodeSet::single(dead));
        let refused =
            port.xfer_and_signal(Source::Bytes(b"x"), &with_dead, GlobalAddress(0), Some(LOCAL), None);
        assert!(matches!(refused, Err(FabricError::NodeDead { node, .. }) if node == dead), "{refused:?}");
        port.xfer_and_signal(Source::Bytes(b"alive"), survivors, GlobalAddress(16), Some(LOCAL), None)
            .unwrap();
        await_event(cluster, node, LOCAL).unwrap();
        let anything = Comparison { variable: variable(1), condition: Condition::GreaterEqual, value: 0 };
        let ticket = cluster.port(node).compare_and_write(survivors, anything, None).unwrap();
        let answer = drive(cluster, "a query of survivors", |cluster| cluster.port(node).test_query(ticket));
        assert_eq!(answer, Ok(true));
    }
}

/// Initiator, destinations and victims of a run with `nodes` nodes: the victim is the initiator, a
/// destination, or a node that has nothing to do with it.
fn scenario(nodes: u32, random: &mut fastrand::Rng) -> (NodeId, NodeSet, NodeId) {
    let initiator = NodeId(random.u32(0..nodes));
    let victim = if random.bool() { initiator } else { NodeId(random.u32(0..nodes)) };
    let mut destinations: NodeSet = (0..nodes).map(NodeId).filter(|_| random.f64() < 0.8).collect();
    destinations.insert(NodeId(random.u32(0..nodes)));
    (initiator, destinations, victim)
}

pub(super) fn a_put_reaches_all_survivors_or_none(bed: &impl TestBed, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for nodes in [2, 4, 9] {
        let (initiator, destinations, victim) = scenario(nodes, &mut random);
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        start_put(&mut cluster, initiator, &destinations);
        let total = settle(&mut cluster);
        for instant in instants(total, 12, &mut random) {
            let Some(mut cluster) = bed.start(nodes, seed) else { continue };
            start_put(&mut cluster, initiator, &destinations);
            for _ in 0..instant {
                cluster.step();
            }
            cluster.kill(victim);
            settle(&mut cluster);
            let survivors = NodeSet::all(nodes).difference(&NodeSet::single(victim));
            let reached = destinations.intersection(&survivors);
            let seen = see_put(&mut cluster, &reached);
            if initiator != victim {
                let told = cluster.port(initiator).test_event(LOCAL);
                match (told, destinations.contains(victim)) {
                    (Ok(1), _) => assert!(reached.is_empty() || seen == Seen::Everywhere),
                    (Err(FabricError::NodeDead { node, .. }), true) => {
                        assert_eq!((node, seen), (victim, Seen::Nowhere));
                    }
                    (told, _) => panic!("{initiator} was told {told:?} of a put to {destinations}"),
                }
            }
            survivors_go_on(&mut cluster, &survivors, victim);
        }
    }
}

pub(super) fn a_query_writes_on_all_survivors_or_none(bed: &impl TestBed, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let comparison = Comparison { variable: variable(0), condition: Condition::Equal, value: 0 };
    let assignment = Some(Assignment { variable: variable(0), value: 77 });
    for nodes in [2, 4, 9] {
        let (initiator, asked, victim) = scenario(nodes, &mut random);
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        cluster.port(initiator).compare_and_write(&asked, comparison, assignment).unwrap();
        let total = settle(&mut cluster);
        for instant in instants(total, 12, &mut random) {
            let Some(mut cluster) = bed.start(nodes, seed) else { continue };
            let ticket = cluster.port(initiator).compare_and_write(&asked, comparison, assignment).unwrap();
            for _ in 0..instant {
                cluster.step();
            }
            cluster.kill(victim);
            settle(&mut cluster);
            let survivors = NodeSet::all(nodes).difference(&NodeSet::single(victim));
            let values: Vec<u64> = asked
                .intersection(&survivors)
                .iter()
                .map(|node| cluster.port(node).load(variable(0)).unwrap())
                .collect();
            assert!(values.windows(2).all(|pair| pair[0] == pair[1]), "survivors disagree: {values:?}");
            if initiator != victim {
                let wrote = values.first().is_none_or(|value| *value == 77);
                match cluster.port(initiator).test_query(ticket) {
                    Some(Ok(true)) => assert!(wrote, "the query held, but wrote nothing"),
                    Some(Err(FabricError::NodeDead { node, .. })) => {
                        assert_eq!(node, victim);
                        assert!(values.iter().all(|value| *value == 0), "the query failed, but wrote");
                    }
                    told => panic!("{initiator} was told {told:?}"),
                }
            }
            survivors_go_on(&mut cluster, &survivors, victim);
        }
    }
}

pub(super) fn survivors_agree_when_several_nodes_die(bed: &impl TestBed, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for nodes in [4, 10] {
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        let all = NodeSet::all(nodes);
        let initiator = NodeId(random.u32(0..nodes));
        start_put(&mut cluster, initiator, &all);
        let total = settle(&mut cluster);
        for _ in 0..12 {
            let Some(mut cluster) = bed.start(nodes, seed) else { continue };
            start_put(&mut cluster, initiator, &all);
            // The initiator, the first arbiter and perhaps the next, at instants close to each other, so that
            // one dies while the others' deaths are being dealt with.
            let mut victims = vec![initiator, NodeId(0), NodeId(random.u32(0..nodes))];
            random.shuffle(&mut victims);
            let first = random.usize(0..=total);
            for victim in &victims {
                for _ in 0..if *victim == victims[0] { first } else { random.usize(0..40) } {
                    cluster.step();
                }
                cluster.kill(*victim);
            }
            settle(&mut cluster);
            let dead: NodeSet = victims.iter().copied().collect();
            let survivors = all.difference(&dead);
            see_put(&mut cluster, &survivors);
            survivors_go_on(&mut cluster, &survivors, initiator);
        }
    }
}

pub(super) fn histories_with_a_death_are_sequentially_consistent(bed: &impl TestBed, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for run in 0..8 {
        let kill = (NodeId(random.u32(0..4)), random.usize(0..300));
        run_random_programs(bed, 4, 5, Some(kill), seed.wrapping_mul(1000).wrapping_add(run));
    }
}

pub(super) fn a_declared_death_is_known_to_all(bed: &impl TestBed, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for nodes in [2, 3, 8] {
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        let victim = NodeId(random.u32(0..nodes));
        let survivors = NodeSet::all(nodes).difference(&NodeSet::single(victim));
        let Some(witness) = survivors.last() else { continue };
        start_put(&mut cluster, victim, &NodeSet::all(nodes));
        for _ in 0..random.usize(0..30) {
            cluster.step();
        }
        cluster.port(witness).declare_dead(victim).unwrap();
        let stranger = cluster.port(witness).declare_dead(NodeId(nodes));
        assert!(matches!(stranger, Err(FabricError::NotAMember { .. })));
        settle(&mut cluster);
        see_put(&mut cluster, &survivors);
        survivors_go_on(&mut cluster, &survivors, victim);
        let late = cluster.port(victim).xfer_and_signal(Source::Bytes(b"x"), &survivors, AT, None, None);
        assert!(matches!(late, Err(FabricError::SelfDead { .. })), "{late:?}");
    }
}

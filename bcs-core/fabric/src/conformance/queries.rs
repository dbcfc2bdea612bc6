//! Compare-And-Write: answers, assignments, concurrent initiators.

use super::test_bed::{Cluster, TestBed, drive, settle, shapes, variable};
use crate::{Assignment, Comparison, Condition, Fabric, FabricError, Source, Ticket};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;

const CONDITIONS: [Condition; 4] =
    [Condition::GreaterEqual, Condition::Less, Condition::Equal, Condition::NotEqual];

/// Sets a node's own variable and waits until it is set.
fn set(cluster: &mut impl Cluster, node: NodeId, number: u64, value: u64) {
    cluster.port(node).store(variable(number), value).unwrap();
    drive(cluster, "a store", |cluster| {
        (cluster.port(node).load(variable(number)) == Ok(value)).then_some(())
    });
}

fn answer<C: Cluster>(cluster: &mut C, node: NodeId, ticket: Ticket) -> Result<bool, FabricError> {
    drive(cluster, "an answer", |cluster| cluster.port(node).test_query(ticket))
}

pub(super) fn a_query_answers_for_all_nodes_and_writes_on_all_or_none(bed: &impl TestBed, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for nodes in [1, 2, 9] {
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        let all = NodeSet::all(nodes);
        let initiator = NodeId(random.u32(0..nodes));
        for asked in shapes(nodes, initiator, &mut random) {
            for condition in CONDITIONS {
                // All have 5, except perhaps one, which may or may not be asked.
                let odd = NodeId(random.u32(0..nodes));
                let odd_value = random.u64(4..7);
                let compared = random.u64(4..7);
                let written = random.u64(1 << 40..);
                for node in &all {
                    set(&mut cluster, node, 0, if node == odd { odd_value } else { 5 });
                    set(&mut cluster, node, 1, 0);
                }
                let comparison = Comparison { variable: variable(0), condition, value: compared };
                let assignment = random.bool().then(|| Assignment { variable: variable(1), value: written });
                let ticket =
                    cluster.port(initiator).compare_and_write(&asked, comparison, assignment).unwrap();
                let holds = answer(&mut cluster, initiator, ticket).unwrap();
                let value_of = |node| if node == odd { odd_value } else { 5 };
                let expected = asked.iter().all(|node| condition.holds(value_of(node), compared));
                assert_eq!(holds, expected, "{comparison:?} on {asked}, {odd} has {odd_value}");
                for node in &all {
                    let wrote = holds && assignment.is_some() && asked.contains(node);
                    let expected = if wrote { written } else { 0 };
                    assert_eq!(cluster.port(node).load(variable(1)), Ok(expected), "{node} of {asked}");
                }
            }
        }
        let unknown = Ticket(u64::MAX);
        assert_eq!(
            cluster.port(initiator).test_query(unknown),
            Some(Err(FabricError::UnknownTicket(unknown)))
        );
    }
}

pub(super) fn concurrent_queries_have_one_winner(bed: &impl TestBed, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for nodes in [1, 3, 8] {
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        let all = NodeSet::all(nodes);
        for round in 1..=3u64 {
            // All try to be the one that moves the variable on from the last round's value, on overlapping
            // sets that have a node in common.
            let common = NodeId(random.u32(0..nodes));
            let last = cluster.port(common).load(variable(2)).unwrap();
            let mut tickets = Vec::new();
            for contender in &all {
                let mut asked: NodeSet = all.iter().filter(|_| random.bool()).collect();
                asked.insert(common);
                let comparison =
                    Comparison { variable: variable(2), condition: Condition::Equal, value: last };
                let value = round * 1000 + u64::from(contender.0);
                let assignment = Assignment { variable: variable(2), value };
                let port = cluster.port(contender);
                tickets.push((
                    contender,
                    value,
                    port.compare_and_write(&all, comparison, Some(assignment)).unwrap(),
                ));
                // A second query on another set, at the same time: it only asks.
                let elsewhere = Comparison { variable: variable(3), condition: Condition::Equal, value: 0 };
                let other = port.compare_and_write(&asked, elsewhere, None).unwrap();
                tickets.push((contender, 0, other));
            }
            let mut winners = Vec::new();
            for (contender, value, ticket) in tickets {
                let holds = answer(&mut cluster, contender, ticket).unwrap();
                match value {
                    0 => assert!(holds, "nobody writes what {contender} asks for"),
                    value if holds => winners.push(value),
                    _ => {}
                }
            }
            settle(&mut cluster);
            assert_eq!(winners.len(), 1, "of {nodes} contenders, {winners:?} won");
            for node in &all {
                assert_eq!(cluster.port(node).load(variable(2)), Ok(winners[0]), "{node}");
            }
        }
    }
}

/// The global protocol in the small (paper, §4.2): a strobe by Xfer-And-Signal, a phase of work that each
/// node ends by setting its variable, and Compare-And-Write until all have.
pub(super) fn a_blocking_barrier_of_queries_and_puts_ends(bed: &impl TestBed, seed: u64) {
    const PHASES: u64 = 6;
    for nodes in [1, 2, 13] {
        let Some(mut cluster) = bed.start(nodes, seed) else { continue };
        let mut random = fastrand::Rng::with_seed(seed);
        let all = NodeSet::all(nodes);
        let lead = NodeId(0);
        for phase in 1..=PHASES {
            let strobe = phase.to_le_bytes();
            let at = variable(4).address();
            cluster
                .port(lead)
                .xfer_and_signal(Source::Bytes(&strobe), &all, at, None, Some(super::test_bed::REMOTE))
                .unwrap();
            let done = Comparison { variable: variable(5), condition: Condition::GreaterEqual, value: phase };
            let mut finished = NodeSet::new();
            let mut ticket = cluster.port(lead).compare_and_write(&all, done, None).unwrap();
            drive(&mut cluster, "a phase", |cluster| {
                for node in &all {
                    let strobed = super::test_bed::take_signals(cluster, node, super::test_bed::REMOTE) > 0
                        || cluster.port(node).load(variable(4)) == Ok(phase);
                    if strobed && !finished.contains(node) && random.f64() < 0.3 {
                        cluster.port(node).store(variable(5), phase).unwrap();
                        finished.insert(node);
                    }
                }
                match cluster.port(lead).test_query(ticket) {
                    Some(Ok(true)) => Some(()),
                    Some(Ok(false)) => {
                        ticket = cluster.port(lead).compare_and_write(&all, done, None).unwrap();
                        None
                    }
                    Some(Err(error)) => panic!("{error}"),
                    None => None,
                }
            });
            assert_eq!(finished, all, "the query held before all nodes were done with phase {phase}");
        }
    }
}

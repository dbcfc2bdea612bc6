//! Random concurrent programs, one a node, whose history must have an order that explains it.

use super::history::{Action, History, Outcome};
use super::program::Program;
use super::test_bed::{Cluster, TestBed, settle, variable};
use crate::{Condition, Fabric};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;

const VARIABLES: usize = 2;

fn random_action(nodes: u32, unique: &mut u64, random: &mut fastrand::Rng) -> Action {
    let mut set: NodeSet = (0..nodes).map(NodeId).filter(|_| random.f64() < 0.6).collect();
    set.insert(NodeId(random.u32(0..nodes)));
    let variable = random.usize(0..VARIABLES);
    *unique += 1;
    match random.u32(0..10) {
        0..4 => Action::Put { nodes: set, variable, value: *unique },
        4..8 => Action::Query {
            nodes: set,
            variable,
            condition: [Condition::GreaterEqual, Condition::Less, Condition::Equal, Condition::NotEqual]
                [random.usize(0..4)],
            // Zero is what memory begins with; other values are near those that are being written.
            value: if random.bool() { 0 } else { random.u64(0..*unique + 2) },
            assignment: random.bool().then(|| (random.usize(0..VARIABLES), *unique)),
        },
        _ => Action::Load { variable },
    }
}

/// Runs random programs on all nodes of a cluster, kills a node after a number of steps if so asked, and
/// checks the history.
pub(super) fn run_random_programs(
    bed: &impl TestBed,
    nodes: u32,
    length: usize,
    kill: Option<(NodeId, usize)>,
    seed: u64,
) {
    let Some(mut cluster) = bed.start(nodes, seed) else { return };
    let mut random = fastrand::Rng::with_seed(seed);
    let mut unique = 0;
    let mut programs: Vec<Program> = (0..nodes)
        .map(|node| {
            let steps = (0..length).map(|_| random_action(nodes, &mut unique, &mut random)).collect();
            Program::new(NodeId(node), steps)
        })
        .collect();
    let mut steps = 0;
    let mut dead = None;
    loop {
        for program in &mut programs {
            // Nodes are not in step: some let a chance pass.
            if Some(program.node) != dead && random.f64() < 0.7 {
                program.advance(cluster.port(program.node));
            }
        }
        let all_done = programs.iter().all(|program| program.is_done() || Some(program.node) == dead);
        if let Some((node, after)) = kill
            && steps == after
        {
            cluster.kill(node);
            dead = Some(node);
        }
        steps += 1;
        let is_moving = cluster.step();
        if all_done {
            break;
        }
        assert!(
            is_moving || steps < 100_000,
            "programs hang: {:?}",
            programs.iter().map(|p| p.done.len()).collect::<Vec<_>>()
        );
    }
    settle(&mut cluster);
    let history = History {
        variables: VARIABLES,
        last: (0..nodes)
            .map(NodeId)
            .map(|node| {
                let load = |number| cluster.port(node).load(variable(number as u64)).expect("in memory");
                (Some(node) != dead).then(|| (0..VARIABLES).map(load).collect())
            })
            .collect(),
        nodes: programs.into_iter().map(|program| finish(program, dead)).collect(),
    };
    assert!(
        history.explain().is_some(),
        "no order of these operations explains what the nodes saw:\n{history:#?}"
    );
}

/// A dead node's operation under way may or may not have happened.
fn finish(mut program: Program, dead: Option<NodeId>) -> Vec<(Action, Outcome)> {
    if dead == Some(program.node) && program.under_way.is_some() {
        program.finish(Outcome::Unknown);
    }
    program.done
}

pub(super) fn concurrent_operations_are_sequentially_consistent(bed: &impl TestBed, seed: u64) {
    for (nodes, length) in [(1, 8), (2, 8), (3, 6), (5, 4)] {
        for run in 0..4 {
            run_random_programs(bed, nodes, length, None, seed.wrapping_mul(1000).wrapping_add(run));
        }
    }
}

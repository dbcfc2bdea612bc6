//! Small programs with an outcome that no order of their operations allows. Random histories seldom meet
//! these; here the nodes are made to.

use super::history::{Action, Outcome};
use super::program::Program;
use super::test_bed::{Cluster, TestBed, drive, settle, variable};
use crate::{Condition, Fabric};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;

/// How often each program is run, each time with the nodes starting at other moments.
const RUNS: u64 = 12;

fn set(nodes: &[u32]) -> NodeSet {
    nodes.iter().map(|node| NodeId(*node)).collect()
}

fn put(nodes: &[u32], variable: usize, value: u64) -> Action {
    Action::Put { nodes: set(nodes), variable, value }
}

/// Asks until the variable has the value on all these nodes.
fn ask_until(nodes: &[u32], variable: usize, value: u64) -> Action {
    Action::Query { nodes: set(nodes), variable, condition: Condition::Equal, value, assignment: None }
}

/// Asks something true, and writes.
fn write(nodes: &[u32], variable: usize, value: u64) -> Action {
    let (condition, assignment) = (Condition::GreaterEqual, Some((variable, value)));
    Action::Query { nodes: set(nodes), variable, condition, value: 0, assignment }
}

/// Runs programs, each on its node, until all have ended and nothing is under way. What their loads saw.
fn run_programs<C: Cluster>(
    cluster: &mut C,
    programs: impl IntoIterator<Item = (u32, Vec<Action>)>,
    random: &mut fastrand::Rng,
) -> Vec<u64> {
    let mut programs: Vec<(u32, Program)> = programs
        .into_iter()
        .map(|(node, steps)| (random.u32(0..30), Program::repeating(NodeId(node), steps)))
        .collect();
    drive(cluster, "a litmus program", |cluster| {
        for (delay, program) in &mut programs {
            match delay {
                0 => program.advance(cluster.port(program.node)),
                _ => *delay -= 1,
            }
        }
        programs.iter().all(|(_, program)| program.is_done()).then_some(())
    });
    settle(cluster);
    let outcomes = programs.into_iter().flat_map(|(_, program)| program.done);
    let saw = |(action, outcome)| match outcome {
        Outcome::Saw(value) => Some(value),
        Outcome::Done | Outcome::Answer(true) => None,
        outcome => panic!("{action:?}: {outcome:?}"),
    };
    outcomes.filter_map(saw).collect()
}

/// Node 0 learns from node 1 that a put to both has taken effect there; its own memory is then not older.
pub(super) fn own_memory_is_not_older_than_what_an_answer_told(bed: &impl TestBed, seed: u64) {
    for run in 0..RUNS {
        let Some(mut cluster) = bed.start(4, seed.wrapping_add(run << 32)) else { return };
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(run << 32));
        let programs = [
            (2, vec![put(&[0, 1, 3], 0, 1)]),
            (0, vec![ask_until(&[1], 0, 1), Action::Load { variable: 0 }]),
            (3, vec![ask_until(&[1], 0, 1), Action::Load { variable: 0 }]),
        ];
        assert_eq!(run_programs(&mut cluster, programs, &mut random), [1, 1]);
    }
}

/// Node 0 puts to node 1 and, when that is complete, to node 2, while node 3 puts to both. If the second of
/// node 0 comes before node 3's on node 2, so does the first on node 1.
pub(super) fn puts_of_one_node_to_two_others_do_not_cross_a_put_to_both(bed: &impl TestBed, seed: u64) {
    for run in 0..RUNS {
        let Some(mut cluster) = bed.start(5, seed.wrapping_add(run << 32)) else { return };
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(run << 32));
        // Node 4 keeps node 1 busy beforehand: the two receivers have then seen a different number of
        // operations.
        let busy = (0..10).map(|value| put(&[1], 9, value)).collect();
        run_programs(&mut cluster, [(4, busy)], &mut random);
        let programs = [(0, vec![put(&[1], 0, 2), put(&[2], 0, 2)]), (3, vec![put(&[1, 2], 0, 1)])];
        run_programs(&mut cluster, programs, &mut random);
        let last = [1, 2].map(|node| cluster.port(NodeId(node)).load(variable(0)).unwrap());
        assert_ne!(last, [2, 1], "node 0's second put came before node 3's, but its first after");
    }
}

/// A put and a query's assignment to the same nodes and variable: one is last, and it is last everywhere.
pub(super) fn a_put_and_an_assignment_take_effect_in_one_order_everywhere(bed: &impl TestBed, seed: u64) {
    for run in 0..RUNS {
        let Some(mut cluster) = bed.start(6, seed.wrapping_add(run << 32)) else { return };
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(run << 32));
        let both = [2, 3];
        let programs =
            [(0, vec![put(&both, 0, 1)]), (1, vec![write(&both, 0, 2)]), (5, vec![put(&[3, 4], 0, 3)])];
        run_programs(&mut cluster, programs, &mut random);
        let [on_2, on_3, on_4] = [2, 3, 4].map(|node| cluster.port(NodeId(node)).load(variable(0)).unwrap());
        assert!(on_3 == 3 || on_3 == on_2, "node 2 ends with {on_2}, node 3 with {on_3}");
        assert_eq!(on_4, 3);
    }
}

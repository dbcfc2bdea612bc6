//! Small programs with an outcome that no order of their operations allows. Random histories seldom meet
//! these; here the nodes are made to.

use super::test_bed::{Cluster, LOCAL, TestBed, drive, settle, variable};
use crate::{Assignment, Comparison, Condition, Fabric, Source};
use bcs_core::global_memory::GlobalVariable;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;

/// How often each program is run, each time with the nodes starting at other moments.
const RUNS: u64 = 12;

fn set(nodes: &[u32]) -> NodeSet {
    nodes.iter().map(|node| NodeId(*node)).collect()
}

/// An operation of a program.
#[derive(Clone)]
enum Step {
    /// Puts a value and waits until it is complete.
    Put(NodeSet, GlobalVariable, u64),
    /// Asks until the variable has the value on all nodes of the set.
    AskUntil(NodeSet, GlobalVariable, u64),
    /// Asks something true, and writes.
    Write(NodeSet, GlobalVariable, u64),
    /// Reads the node's own memory.
    Load(GlobalVariable),
}

/// Runs programs, each on its node, until all have ended and nothing is under way. What their loads saw.
fn run_programs<C: Cluster>(
    cluster: &mut C,
    programs: &[(NodeId, Vec<Step>)],
    random: &mut fastrand::Rng,
) -> Vec<u64> {
    struct Running {
        position: usize,
        waits: Option<Option<crate::Ticket>>,
        delay: u32,
    }
    let mut seen = Vec::new();
    let mut running: Vec<Running> =
        programs.iter().map(|_| Running { position: 0, waits: None, delay: random.u32(0..30) }).collect();
    drive(cluster, "a litmus program", |cluster| {
        for ((node, steps), state) in programs.iter().zip(&mut running) {
            let Some(step) = steps.get(state.position) else { continue };
            if state.delay > 0 {
                state.delay -= 1;
                continue;
            }
            let port = cluster.port(*node);
            let done = match (step, state.waits) {
                (Step::Load(variable), _) => {
                    seen.push(port.load(*variable).unwrap());
                    true
                }
                (Step::Put(nodes, variable, value), None) => {
                    let data = value.to_le_bytes();
                    port.xfer_and_signal(Source::Bytes(&data), nodes, variable.address(), Some(LOCAL), None)
                        .unwrap();
                    state.waits = Some(None);
                    false
                }
                (Step::Put(..), Some(_)) => port.test_event(LOCAL).unwrap() > 0,
                (Step::AskUntil(nodes, variable, value), None) => {
                    let comparison =
                        Comparison { variable: *variable, condition: Condition::Equal, value: *value };
                    state.waits = Some(Some(port.compare_and_write(nodes, comparison, None).unwrap()));
                    false
                }
                (Step::Write(nodes, variable, value), None) => {
                    let comparison =
                        Comparison { variable: *variable, condition: Condition::GreaterEqual, value: 0 };
                    let assignment = Some(Assignment { variable: *variable, value: *value });
                    state.waits = Some(Some(port.compare_and_write(nodes, comparison, assignment).unwrap()));
                    false
                }
                (Step::AskUntil(..) | Step::Write(..), Some(Some(ticket))) => match port.test_query(ticket) {
                    None => false,
                    Some(answer) => {
                        state.waits = None;
                        answer.unwrap()
                    }
                },
                (Step::AskUntil(..) | Step::Write(..), Some(None)) => {
                    unreachable!("queries wait for tickets")
                }
            };
            if done {
                *state = Running { position: state.position + 1, waits: None, delay: 0 };
            }
        }
        running.iter().zip(programs).all(|(state, (_, steps))| state.position == steps.len()).then_some(())
    });
    settle(cluster);
    seen
}

/// Node 0 learns from node 1 that a put to both has taken effect there; its own memory is then not older.
pub(super) fn own_memory_is_not_older_than_what_an_answer_told(bed: &impl TestBed, seed: u64) {
    for run in 0..RUNS {
        let Some(mut cluster) = bed.start(4, seed.wrapping_add(run << 32)) else { return };
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(run << 32));
        let programs = [
            (NodeId(2), vec![Step::Put(set(&[0, 1, 3]), variable(0), 1)]),
            (NodeId(0), vec![Step::AskUntil(set(&[1]), variable(0), 1), Step::Load(variable(0))]),
            (NodeId(3), vec![Step::AskUntil(set(&[1]), variable(0), 1), Step::Load(variable(0))]),
        ];
        assert_eq!(run_programs(&mut cluster, &programs, &mut random), [1, 1]);
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
        let busy = (0..10).map(|value| Step::Put(set(&[1]), variable(9), value)).collect();
        run_programs(&mut cluster, &[(NodeId(4), busy)], &mut random);
        let programs = [
            (NodeId(0), vec![Step::Put(set(&[1]), variable(0), 2), Step::Put(set(&[2]), variable(0), 2)]),
            (NodeId(3), vec![Step::Put(set(&[1, 2]), variable(0), 1)]),
        ];
        run_programs(&mut cluster, &programs, &mut random);
        let last = [1, 2].map(|node| cluster.port(NodeId(node)).load(variable(0)).unwrap());
        assert_ne!(last, [2, 1], "node 0's second put came before node 3's, but its first after");
    }
}

/// A put and a query's assignment to the same nodes and variable: one is last, and it is last everywhere.
pub(super) fn a_put_and_an_assignment_take_effect_in_one_order_everywhere(bed: &impl TestBed, seed: u64) {
    for run in 0..RUNS {
        let Some(mut cluster) = bed.start(6, seed.wrapping_add(run << 32)) else { return };
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(run << 32));
        let both = set(&[2, 3]);
        let programs = [
            (NodeId(0), vec![Step::Put(both.clone(), variable(0), 1)]),
            (NodeId(1), vec![Step::Write(both.clone(), variable(0), 2)]),
            (NodeId(5), vec![Step::Put(set(&[3, 4]), variable(0), 3)]),
        ];
        run_programs(&mut cluster, &programs, &mut random);
        let [on_2, on_3, on_4] = [2, 3, 4].map(|node| cluster.port(NodeId(node)).load(variable(0)).unwrap());
        assert!(on_3 == 3 || on_3 == on_2, "node 2 ends with {on_2}, node 3 with {on_3}");
        assert_eq!(on_4, 3);
    }
}

//! Sequential consistency, decided: is there one order of all operations that explains what every node saw?
//!
//! The model is the promise itself: one memory, operations one after another, each node's in its own order.
//! The search tries all orders, remembering where it has been, so it is exact; it is meant for histories of
//! some tens of operations. (L. Lamport, How to make a multiprocessor computer that correctly executes
//! multiprocess programs, 1979; the search with memory is that of G. Lowe, Testing for linearizability,
//! 2017.)

use crate::Condition;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use std::collections::HashSet;

/// What a node did. Variables are numbered from 0 and begin as 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// An Xfer-And-Signal of one variable.
    Put {
        /// The destinations.
        nodes: NodeSet,
        /// The variable.
        variable: usize,
        /// Its new value.
        value: u64,
    },
    /// A Compare-And-Write.
    Query {
        /// The nodes.
        nodes: NodeSet,
        /// The compared variable.
        variable: usize,
        /// How it is compared.
        condition: Condition,
        /// With what.
        value: u64,
        /// The variable that is written and its new value.
        assignment: Option<(usize, u64)>,
    },
    /// A read of the node's own memory.
    Load {
        /// The variable.
        variable: usize,
    },
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A put is complete.
    Done,
    /// A query's answer.
    Answer(bool),
    /// What a load saw.
    Saw(u64),
    /// It failed: it must not have had an effect.
    Failed,
    /// Its node died first: it may have had an effect, or none.
    Unknown,
}

/// Everything that happened in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// How many variables there are.
    pub variables: usize,
    /// By node: what it did, in its order.
    pub nodes: Vec<Vec<(Action, Outcome)>>,
    /// By node: its memory at the end, variable by variable; `None` for a dead node.
    pub last: Vec<Option<Vec<u64>>>,
}

impl History {
    /// Whether some order explains the history. If so, the order: for each step, the node whose turn it is.
    pub fn explain(&self) -> Option<Vec<NodeId>> {
        let state = State {
            positions: vec![0; self.nodes.len()],
            memory: vec![0; self.nodes.len() * self.variables],
        };
        let mut search = Search { history: self, visited: HashSet::new(), order: Vec::new() };
        search.run(&state).then_some(search.order)
    }

    /// What an action makes of a memory, if it can have this outcome. `None`: it cannot, here.
    fn apply(&self, node: usize, action: &Action, outcome: Outcome, memory: &[u64]) -> Option<Vec<u64>> {
        let at = |node: usize, variable: usize| node * self.variables + variable;
        let mut after = memory.to_vec();
        match (action, outcome) {
            (_, Outcome::Failed) => {}
            (Action::Put { nodes, variable, value }, Outcome::Done | Outcome::Unknown) => {
                nodes.iter().for_each(|node| after[at(node.index(), *variable)] = *value);
            }
            (
                Action::Query { nodes, variable, condition, value, assignment },
                Outcome::Answer(_) | Outcome::Unknown,
            ) => {
                let holds =
                    nodes.iter().all(|node| condition.holds(memory[at(node.index(), *variable)], *value));
                if outcome == Outcome::Answer(!holds) {
                    return None;
                }
                if let (true, Some((variable, value))) = (holds, assignment) {
                    nodes.iter().for_each(|node| after[at(node.index(), *variable)] = *value);
                }
            }
            (Action::Load { variable }, Outcome::Saw(value)) => {
                if memory[at(node, *variable)] != value {
                    return None;
                }
            }
            (Action::Load { .. }, Outcome::Unknown) => {}
            // An outcome that the action cannot have explains nothing.
            (Action::Put { .. }, Outcome::Answer(_) | Outcome::Saw(_))
            | (Action::Query { .. }, Outcome::Done | Outcome::Saw(_))
            | (Action::Load { .. }, Outcome::Done | Outcome::Answer(_)) => return None,
        }
        Some(after)
    }
}

/// How far an order has come.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    positions: Vec<usize>,
    memory: Vec<u64>,
}

struct Search<'a> {
    history: &'a History,
    visited: HashSet<State>,
    order: Vec<NodeId>,
}

impl Search<'_> {
    fn run(&mut self, state: &State) -> bool {
        if self.is_end(state) {
            return true;
        }
        if !self.visited.insert(state.clone()) {
            return false;
        }
        for (node, steps) in self.history.nodes.iter().enumerate() {
            let Some((action, outcome)) = steps.get(state.positions[node]) else { continue };
            let Some(memory) = self.history.apply(node, action, *outcome, &state.memory) else { continue };
            let mut next = State { positions: state.positions.clone(), memory };
            next.positions[node] += 1;
            self.order.push(NodeId(node as u32));
            if self.run(&next) {
                return true;
            }
            self.order.pop();
        }
        false
    }

    /// All has happened that must have, and the memories are what they were found to be.
    fn is_end(&self, state: &State) -> bool {
        let all_done = self.history.nodes.iter().zip(&state.positions).all(|(steps, position)| {
            steps[*position..]
                .iter()
                .all(|(_, outcome)| matches!(outcome, Outcome::Unknown | Outcome::Failed))
        });
        let memories = state.memory.chunks(self.history.variables);
        all_done
            && self
                .history
                .last
                .iter()
                .zip(memories)
                .all(|(found, memory)| found.as_ref().is_none_or(|found| found == memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(nodes: &str, variable: usize, value: u64) -> (Action, Outcome) {
        (Action::Put { nodes: nodes.parse().unwrap(), variable, value }, Outcome::Done)
    }

    fn load(variable: usize, saw: u64) -> (Action, Outcome) {
        (Action::Load { variable }, Outcome::Saw(saw))
    }

    /// "All are `value`", and if so, set the variable to `new`.
    fn swap(nodes: &str, value: u64, new: u64, answer: bool) -> (Action, Outcome) {
        let nodes = nodes.parse().unwrap();
        let condition = Condition::Equal;
        let action = Action::Query { nodes, variable: 0, condition, value, assignment: Some((0, new)) };
        (action, Outcome::Answer(answer))
    }

    fn history(nodes: Vec<Vec<(Action, Outcome)>>, last: &[&[u64]]) -> History {
        History { variables: 2, nodes, last: last.iter().map(|memory| Some(memory.to_vec())).collect() }
    }

    #[test]
    fn a_history_with_an_order_is_accepted_and_the_order_is_told() {
        let history = history(
            vec![vec![put("0-1", 0, 1), load(0, 2)], vec![load(0, 1), put("0-1", 0, 2)]],
            &[&[2, 0], &[2, 0]],
        );
        let order: Vec<u32> = history.explain().unwrap().into_iter().map(|node| node.0).collect();
        assert_eq!(order, [0, 1, 1, 0]);
    }

    #[test]
    fn memories_that_disagree_after_two_puts_are_rejected() {
        let nodes = vec![vec![put("0-1", 0, 1)], vec![put("0-1", 0, 2)]];
        assert!(history(nodes.clone(), &[&[1, 0], &[1, 0]]).explain().is_some());
        assert!(history(nodes.clone(), &[&[2, 0], &[2, 0]]).explain().is_some());
        assert!(history(nodes, &[&[1, 0], &[2, 0]]).explain().is_none());
    }

    #[test]
    fn a_put_that_reached_only_some_nodes_is_rejected() {
        assert!(history(vec![vec![put("0-1", 0, 1)], vec![]], &[&[1, 0], &[0, 0]]).explain().is_none());
    }

    #[test]
    fn two_nodes_that_each_miss_the_others_put_are_rejected() {
        // Each tells the other and then looks: at least one must see (Dekker's test).
        let nodes =
            |first, second| vec![vec![put("1", 0, 1), load(1, first)], vec![put("0", 1, 1), load(0, second)]];
        let last: &[&[u64]] = &[&[0, 1], &[1, 0]];
        assert!(history(nodes(0, 1), last).explain().is_some());
        assert!(history(nodes(1, 1), last).explain().is_some());
        assert!(history(nodes(0, 0), last).explain().is_none());
    }

    #[test]
    fn puts_that_two_nodes_see_in_different_orders_are_rejected() {
        let writers = [vec![put("2-3", 0, 1)], vec![put("2-3", 1, 1)]];
        let readers = |a, b| [vec![load(0, 1), load(1, a)], vec![load(1, 1), load(0, b)]];
        let last: &[&[u64]] = &[&[0, 0], &[0, 0], &[1, 1], &[1, 1]];
        let nodes = |a, b| writers.iter().cloned().chain(readers(a, b)).collect();
        assert!(history(nodes(0, 1), last).explain().is_some());
        assert!(history(nodes(0, 0), last).explain().is_none());
    }

    #[test]
    fn two_queries_that_both_win_are_rejected() {
        let nodes = |second| vec![vec![swap("0-1", 0, 1, true)], vec![swap("0-1", 0, 2, second)]];
        assert!(history(nodes(false), &[&[1, 0], &[1, 0]]).explain().is_some());
        assert!(history(nodes(true), &[&[1, 0], &[1, 0]]).explain().is_none());
        assert!(history(nodes(true), &[&[2, 0], &[2, 0]]).explain().is_none());
    }

    #[test]
    fn a_query_that_fails_although_the_condition_held_throughout_is_rejected() {
        assert!(history(vec![vec![swap("0", 0, 1, false)]], &[&[0, 0]]).explain().is_none());
    }

    #[test]
    fn what_a_dead_node_began_may_or_may_not_have_happened_but_not_by_halves() {
        let begun = |last: Vec<Option<Vec<u64>>>| History {
            variables: 2,
            nodes: vec![vec![(put("0-2", 0, 1).0, Outcome::Unknown)], vec![], vec![]],
            last,
        };
        let memory = |value| Some(vec![value, 0]);
        assert!(begun(vec![None, memory(1), memory(1)]).explain().is_some());
        assert!(begun(vec![None, memory(0), memory(0)]).explain().is_some());
        assert!(begun(vec![None, memory(1), memory(0)]).explain().is_none());
    }

    #[test]
    fn a_failed_operation_with_an_effect_is_rejected() {
        let nodes = vec![vec![(put("0-1", 0, 1).0, Outcome::Failed)], vec![]];
        assert!(history(nodes.clone(), &[&[0, 0], &[0, 0]]).explain().is_some());
        assert!(history(nodes, &[&[1, 0], &[1, 0]]).explain().is_none());
    }
}

//! A program of operations on one node, which waits for each of them.

use super::history::{Action, Outcome};
use super::test_bed::{LOCAL, variable};
use crate::{Assignment, Comparison, Fabric, FabricError, Source, Ticket};
use bcs_core::ids::NodeId;

/// One node's program, and how far it has come.
pub(super) struct Program {
    pub(super) node: NodeId,
    steps: Vec<Action>,
    pub(super) done: Vec<(Action, Outcome)>,
    /// The operation that it waits for: a put, or a query.
    pub(super) under_way: Option<Option<Ticket>>,
    /// Its queries are asked until they hold.
    repeats: bool,
}

impl Program {
    pub(super) fn new(node: NodeId, steps: Vec<Action>) -> Self {
        Self { node, steps, done: Vec::new(), under_way: None, repeats: false }
    }

    /// A program whose queries are asked until they hold.
    pub(super) fn repeating(node: NodeId, steps: Vec<Action>) -> Self {
        Self { repeats: true, ..Self::new(node, steps) }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done.len() == self.steps.len()
    }

    /// The step that it is at is over.
    pub(super) fn finish(&mut self, outcome: Outcome) {
        self.under_way = None;
        self.done.push((self.steps[self.done.len()].clone(), outcome));
    }

    /// Goes on as far as it can without waiting.
    pub(super) fn advance<F: Fabric>(&mut self, port: &mut F) {
        while let Some(action) = self.steps.get(self.done.len()) {
            let outcome = match self.under_way {
                None => self.begin(&action.clone(), port),
                Some(None) => match port.test_event(LOCAL) {
                    Ok(0) => return,
                    ended => ended.map(|_| Some(Outcome::Done)),
                },
                Some(Some(ticket)) => match port.test_query(ticket) {
                    None => return,
                    Some(Ok(false)) if self.repeats => return self.under_way = None,
                    Some(answer) => answer.map(|holds| Some(Outcome::Answer(holds))),
                },
            };
            if let Some(outcome) = outcome.unwrap_or_else(|error| Some(failed(&error))) {
                self.finish(outcome);
            }
        }
    }

    /// Begins an operation. What a load saw, which is not waited for.
    fn begin<F: Fabric>(&mut self, action: &Action, port: &mut F) -> Result<Option<Outcome>, FabricError> {
        let variable = |number: usize| variable(number as u64);
        self.under_way = Some(match *action {
            Action::Put { ref nodes, variable: number, value } => {
                let (at, data) = (variable(number).address(), value.to_le_bytes());
                port.xfer_and_signal(Source::Bytes(&data), nodes, at, Some(LOCAL), None)?;
                None
            }
            Action::Query { ref nodes, variable: number, condition, value, assignment } => {
                let comparison = Comparison { variable: variable(number), condition, value };
                let assign = |(number, value)| Assignment { variable: variable(number), value };
                Some(port.compare_and_write(nodes, comparison, assignment.map(assign))?)
            }
            Action::Load { variable: number } => {
                return Ok(Some(Outcome::Saw(port.load(variable(number)).expect("in memory"))));
            }
        });
        Ok(None)
    }
}

fn failed(error: &FabricError) -> Outcome {
    match error {
        FabricError::NodeDead { .. } => Outcome::Failed,
        FabricError::SelfDead { .. } => Outcome::Unknown,
        error => panic!("an operation of a program failed: {error}"),
    }
}

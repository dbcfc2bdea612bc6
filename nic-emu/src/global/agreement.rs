//! How the lead of a communicator's nodes learns that all of them have reached the next collective, and that it is the same one.
//!
//! A node's flag holds the number of the collective and its kind, and goes on to the next collective only after the *go* of this one. So one
//! Compare-And-Write asks for equality, and by the same operation writes *go*: nobody starts a collective that others do not make. If the answer
//! is no, some node is late, or calls something else. Which of the two it is shows a second question, that nobody waits for: is every flag at least at
//! this number? Once it is, no flag changes before the *go*: if they are still not equal then, they never will be. Then the lead looks for a
//! node that differs, half of the nodes at a time.

use super::error::GlobalError;
use bcs_core::{
    Assignment, Comparison, Condition, Fabric, FabricError, GlobalVariable, NodeId, NodeSet, Ticket,
};

/// What is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The nodes' flags.
    pub flag: GlobalVariable,
    /// Where *go* is written.
    pub go: GlobalVariable,
    /// A flag that has reached the collective, whatever its kind, is at least this.
    pub reached: u64,
    /// The flag of who makes the same collective as the lead.
    pub same: u64,
}

#[derive(Debug, Default)]
enum State {
    /// Nothing is asked.
    #[default]
    Silent,
    /// Do all make the same collective? `reached` when all flags were known to have reached it before.
    Same { ticket: Ticket, question: Question, reached: bool },
    /// Have all flags reached it?
    Reached { ticket: Ticket, question: Question },
    /// Some node of these makes another one.
    Search { within: Vec<NodeId>, ticket: Option<Ticket>, question: Question },
}

/// What a look at the answers tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing new.
    None,
    /// It is worth asking again.
    AskAgain,
    /// The nodes make different collectives; this one is not the lead's.
    Differs(NodeId),
}

/// The lead's questions about one communicator. On other nodes it is silent.
#[derive(Debug, Default)]
pub struct Agreement {
    state: State,
    /// The collective that all flags are known to have reached.
    reached: u64,
}

impl Agreement {
    /// True when no answer is outstanding.
    pub fn is_silent(&self) -> bool {
        matches!(self.state, State::Silent)
    }

    /// True when the answer decides whether a collective starts in this slice.
    pub fn is_awaited(&self) -> bool {
        matches!(self.state, State::Same { .. })
    }

    /// Asks whether all nodes make the same collective; if so, they get *go*.
    ///
    /// # Errors
    /// The fabric refuses.
    pub fn ask(
        &mut self,
        fabric: &mut impl Fabric,
        nodes: &NodeSet,
        question: Question,
    ) -> Result<(), FabricError> {
        let go = Assignment { variable: question.go, value: question.same };
        let ticket = fabric.compare_and_write(nodes, equal(&question), Some(go))?;
        let reached = self.reached == question.reached;
        self.state = State::Same { ticket, question, reached };
        Ok(())
    }

    /// Looks for answers.
    ///
    /// # Errors
    /// A node died.
    pub fn poll(&mut self, fabric: &mut impl Fabric, nodes: &NodeSet) -> Result<Answer, GlobalError> {
        match std::mem::take(&mut self.state) {
            State::Silent => {}
            State::Same { ticket, question, reached } => match fabric.test_query(ticket).transpose()? {
                None => self.state = State::Same { ticket, question, reached },
                Some(true) => {}
                Some(false) if reached => {
                    self.state = State::Search { within: nodes.iter().collect(), ticket: None, question };
                }
                Some(false) => {
                    let (variable, condition) = (question.flag, Condition::GreaterEqual);
                    let comparison = Comparison { variable, condition, value: question.reached };
                    match fabric.compare_and_write(nodes, comparison, None) {
                        Ok(ticket) => self.state = State::Reached { ticket, question },
                        // Too much is under way to ask: the first question is asked again instead.
                        Err(FabricError::Busy { .. }) => return Ok(Answer::AskAgain),
                        Err(error) => return Err(error.into()),
                    }
                }
            },
            State::Reached { ticket, question } => match fabric.test_query(ticket).transpose()? {
                None => self.state = State::Reached { ticket, question },
                Some(true) => {
                    self.reached = question.reached;
                    return Ok(Answer::AskAgain);
                }
                Some(false) => {}
            },
            State::Search { within, ticket, question } => {
                return self.search(fabric, within, ticket, question);
            }
        }
        Ok(Answer::None)
    }

    fn search(
        &mut self,
        fabric: &mut impl Fabric,
        mut within: Vec<NodeId>,
        ticket: Option<Ticket>,
        question: Question,
    ) -> Result<Answer, GlobalError> {
        if let [there] = within[..] {
            return Ok(Answer::Differs(there));
        }
        let half = within.len() / 2;
        let mut asked = ticket;
        match ticket {
            Some(ticket) => match fabric.test_query(ticket).transpose()? {
                None => {}
                Some(same) => {
                    within = if same { within.split_off(half) } else { within[..half].to_vec() };
                    asked = None;
                }
            },
            None => {
                let nodes: NodeSet = within[..half].iter().copied().collect();
                match fabric.compare_and_write(&nodes, equal(&question), None) {
                    Ok(ticket) => asked = Some(ticket),
                    Err(FabricError::Busy { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        let again = asked != ticket;
        self.state = State::Search { within, ticket: asked, question };
        if again { self.poll(fabric, &NodeSet::new()) } else { Ok(Answer::None) }
    }
}

fn equal(question: &Question) -> Comparison {
    Comparison { variable: question.flag, condition: Condition::Equal, value: question.same }
}

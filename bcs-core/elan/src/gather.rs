//! Gathering: the acknowledgements of all nodes of a broadcast, by a conditional.
//!
//! A node that was asked by a broadcast answers in cells of its own window, not with a message. Whoever asked
//! asks the conditional whether all cells are there; the number of nodes does not matter:
//!
//! ```text
//!  votes:  has everybody voted?  ──►  the vote of one (a get)  ──►  is it that of all?  ──►  all have voted so
//!                │ no: ask again                                          │ no
//!                └◄──                                                     └──►  the vote of each (gets)
//!  done:   has everybody done it?  ──►  all have
//! ```
//!
//! Votes differ only where operations of several initiators meet. What makes the cells enough:
//! - An operation waits until all earlier ones of its initiator that share a node with it have their places,
//!   or are aborted. So a node votes on the operations of an initiator one after another, and a vote stands
//!   until it is counted.
//! - What is gathered as done is a put in its turn, or a query that held and was concluded in its turn. On
//!   each node these follow the total order, in which those of one initiator are in the order of their
//!   numbers. So who has done one has done all before it.
//!
//! All other acknowledgements are messages: of what is aborted, of queries that did not hold (they leave the
//! order before their turn), and of what is decided again because a node has died.

use crate::broadcast::{answer, ask};
use crate::card::{Card, CardError, Question, Transfer};
use crate::far::Windows;
use crate::window::Cell;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_fabric::Condition;
use bcs_fabric::tree::{Ballot, Message, OperationId, Verdict, Vote, Work};
use std::collections::BTreeSet;

/// A vote that no word holds: it travels as a message.
const OTHER: u64 = u64::MAX;

/// The waves whose acknowledgements are gathered.
const VOTES: u32 = 1;
const DONE: u32 = 2;

/// The word of a vote: a place in the order, and what the node says.
fn word_of(ballot: Ballot) -> u64 {
    let vote = match ballot.vote {
        Vote::False => 0,
        Vote::Busy => 1,
        Vote::True => 2,
    };
    if ballot.lowest == ballot.highest && ballot.lowest < 1 << 61 { ballot.lowest << 2 | vote } else { OTHER }
}

/// The vote of a word; none for one that travels as a message.
fn ballot_of(word: u64) -> Option<Ballot> {
    let vote = match word & 3 {
        0 => Vote::False,
        1 => Vote::Busy,
        2 => Vote::True,
        _ => return None,
    };
    Some(Ballot { lowest: word >> 2, highest: word >> 2, vote })
}

/// How far the gathering of a wave is.
#[derive(Debug)]
enum Stage {
    /// The question is due.
    Due,
    /// Has everybody answered?
    Asked { questions: Vec<Question>, holds: bool },
    /// The vote of a node is on its way.
    One(NodeId, Option<Transfer>),
    /// Is it everybody's?
    Compared { questions: Vec<Question>, holds: bool, word: u64 },
    /// All votes are on their way.
    Each(Vec<(NodeId, Option<Transfer>)>),
}

/// A wave whose acknowledgements are gathered.
#[derive(Debug)]
struct Gather {
    operation: OperationId,
    wave: u32,
    nodes: NodeSet,
    /// It begins when the broadcast of this number is over.
    after: u64,
    stage: Stage,
    /// A newer wave counts; it stays only for what the card still does for it.
    is_over: bool,
}

/// The initiator's side.
#[derive(Debug, Default)]
pub(crate) struct Gatherer {
    gathers: Vec<Gather>,
    /// Operations on which votes were gathered, and which are puts.
    puts: BTreeSet<u64>,
}

impl Gatherer {
    /// Whether the acknowledgements of this node's own message, which is about to be broadcast, are gathered.
    pub fn gathers(&mut self, own: NodeId, message: &Message) -> bool {
        match message {
            Message::Prepare { operation, work, .. } if operation.initiator == own => {
                if matches!(work, Work::Put { .. }) {
                    self.puts.insert(operation.sequence);
                }
                true
            }
            Message::Decide { operation, wave: DONE, verdict, .. } if operation.initiator == own => {
                match verdict {
                    Verdict::Order(_) => self.puts.contains(&operation.sequence),
                    Verdict::Conclude(holds) => *holds,
                    Verdict::Abort => false,
                }
            }
            _ => false,
        }
    }

    /// A message of this node's own has been handed to the broadcaster, for these nodes; its last frame has
    /// this number.
    pub fn note(&mut self, message: &Message, is_gathered: bool, nodes: &NodeSet, number: u64) {
        let (operation, wave) = match message {
            Message::Prepare { operation, .. } => (*operation, VOTES),
            Message::Decide { operation, wave, .. } => (*operation, *wave),
            Message::Fragment { operation, .. } => {
                let mut gathers = self.gathers.iter_mut();
                if let Some(gather) = gathers.find(|gather| gather.operation == *operation && !gather.is_over)
                {
                    gather.after = number;
                }
                return;
            }
            _ => return,
        };
        self.supersede(operation, wave);
        if is_gathered {
            let (nodes, stage) = (nodes.clone(), Stage::Due);
            self.gathers.push(Gather { operation, wave, nodes, after: number, stage, is_over: false });
        }
    }

    /// A wave of an operation of this node has begun: earlier ones do not count any more.
    pub fn supersede(&mut self, operation: OperationId, wave: u32) {
        if wave > VOTES {
            self.puts.remove(&operation.sequence);
        }
        for gather in self.gathers.iter_mut().filter(|gather| gather.operation == operation) {
            gather.is_over |= gather.wave < wave;
        }
    }

    /// A node is dead: what was asked of it is decided in another way, and its vote will not come.
    pub fn forget(&mut self, node: NodeId) {
        for gather in self.gathers.iter_mut().filter(|gather| gather.nodes.contains(node)) {
            gather.is_over = true;
            match &mut gather.stage {
                Stage::One(of, transfer) if *of == node => *transfer = None,
                Stage::Each(votes) => votes.retain(|(of, _)| *of != node),
                _ => {}
            }
        }
    }

    /// Forgets everything but what the card still does.
    pub fn clear(&mut self) {
        self.puts.clear();
        self.gathers.iter_mut().for_each(|gather| gather.is_over = true);
    }

    /// Whether nothing is gathered.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.gathers.iter().all(|gather| gather.is_over)
    }

    /// Goes on: the acknowledgements that have come. `sent`: the number of the last broadcast that is over.
    ///
    /// # Errors
    /// The card does not begin an operation.
    pub fn advance(
        &mut self,
        card: &Card,
        windows: &Windows,
        sent: u64,
    ) -> Result<Vec<(NodeId, Message)>, CardError> {
        let mut acknowledgements = Vec::new();
        for index in 0..self.gathers.len() {
            let gather = &self.gathers[index];
            // A vote is brought to a place of its node, where another may still be on its way.
            let is_taken = gather.nodes.iter().any(|node| {
                let others = self.gathers.iter().enumerate().filter(|(other, _)| *other != index);
                others.map(|(_, other)| other).any(|other| other.is_fetching(node))
            });
            let gather = &mut self.gathers[index];
            if !gather.is_over && gather.after <= sent {
                gather.advance(card, windows, is_taken, &mut acknowledgements)?;
            }
        }
        self.gathers.retain_mut(|gather| !gather.is_over || !gather.has_ended(card));
        Ok(acknowledgements)
    }
}

impl Gather {
    /// Whether the vote of a node is on its way.
    fn is_fetching(&self, node: NodeId) -> bool {
        match &self.stage {
            Stage::One(of, transfer) => *of == node && transfer.is_some(),
            Stage::Each(votes) => votes.iter().any(|(of, transfer)| *of == node && transfer.is_some()),
            Stage::Due | Stage::Asked { .. } | Stage::Compared { .. } => false,
        }
    }

    /// Looks whether the card has ended what it does for a gathering that is over. True when it has.
    fn has_ended(&mut self, card: &Card) -> bool {
        match &mut self.stage {
            Stage::One(_, transfer) => card.has_ended(transfer),
            Stage::Each(votes) => {
                votes.retain_mut(|(_, transfer)| !card.has_ended(transfer));
                votes.is_empty()
            }
            Stage::Due | Stage::Asked { .. } | Stage::Compared { .. } => true,
        }
    }

    fn advance(
        &mut self,
        card: &Card,
        windows: &Windows,
        is_taken: bool,
        acknowledgements: &mut Vec<(NodeId, Message)>,
    ) -> Result<(), CardError> {
        let (sequence, cell) =
            (self.operation.sequence, if self.wave == VOTES { Cell::Voted } else { Cell::Done });
        let next = match &mut self.stage {
            Stage::Due => {
                let questions = ask(card, windows, &self.nodes, cell, Condition::GreaterEqual, sequence)?;
                Stage::Asked { questions, holds: true }
            }
            Stage::Asked { questions, holds } => match answer(card, questions, holds) {
                None => return Ok(()),
                Some(false) => Stage::Due,
                Some(true) if self.wave == DONE => {
                    self.is_over = true;
                    let all = self.nodes.iter().map(|node| (node, Ballot::BLANK));
                    acknowledgements.extend(self.acknowledge(all));
                    return Ok(());
                }
                Some(true) if is_taken => return Ok(()),
                Some(true) => {
                    let first = self.nodes.first().unwrap_or_default();
                    Stage::One(first, Some(fetch(card, windows, first)?))
                }
            },
            Stage::One(node, transfer) => {
                if !card.has_ended(transfer) {
                    return Ok(());
                }
                let word = windows.own.load(windows.own.layout().landing(*node));
                let questions = ask(card, windows, &self.nodes, Cell::Ballot, Condition::Equal, word)?;
                Stage::Compared { questions, holds: true, word }
            }
            Stage::Compared { questions, holds, word } => match answer(card, questions, holds) {
                None => return Ok(()),
                Some(true) => {
                    self.is_over = true;
                    if let Some(ballot) = ballot_of(*word) {
                        let all = self.nodes.iter().map(|node| (node, ballot));
                        acknowledgements.extend(self.acknowledge(all));
                    }
                    return Ok(());
                }
                Some(false) => {
                    let fetch = |node| fetch(card, windows, node).map(|transfer| (node, Some(transfer)));
                    Stage::Each(self.nodes.iter().map(fetch).collect::<Result<_, _>>()?)
                }
            },
            Stage::Each(votes) => {
                let ended =
                    votes.iter_mut().filter_map(|(_, transfer)| card.has_ended(transfer).then_some(()));
                if ended.count() < votes.len() {
                    return Ok(());
                }
                self.is_over = true;
                let layout = windows.own.layout();
                let votes = self
                    .nodes
                    .iter()
                    .filter_map(|node| Some((node, ballot_of(windows.own.load(layout.landing(node)))?)));
                acknowledgements.extend(self.acknowledge(votes));
                return Ok(());
            }
        };
        self.stage = next;
        Ok(())
    }

    fn acknowledge(&self, votes: impl Iterator<Item = (NodeId, Ballot)>) -> Vec<(NodeId, Message)> {
        let (operation, wave) = (self.operation, self.wave);
        votes.map(|(node, ballot)| (node, Message::Acknowledge { operation, wave, ballot })).collect()
    }
}

/// Gets the vote of a node.
fn fetch(card: &Card, windows: &Windows, node: NodeId) -> Result<Transfer, CardError> {
    let (layout, far) = (windows.own.layout(), &windows.far[node.index()]);
    let source = far.at(layout.cell(windows.node, Cell::Ballot));
    let destination = windows.own.at(layout.landing(node), 8);
    // SAFETY: words of windows; nobody looks at the destination before the transfer has ended.
    unsafe { card.get(source, destination, 8, far.process) }
}

/// The side of the nodes that are asked: which acknowledgements go into cells.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    asked: BTreeSet<(NodeId, u64, u32)>,
}

impl Answers {
    /// A message has come whose acknowledgement is gathered.
    pub fn note(&mut self, message: &Message) {
        let (operation, wave, settled_below) = match message {
            Message::Prepare { operation, settled_below, .. } => (operation, VOTES, settled_below),
            Message::Decide { operation, wave, settled_below, .. } => (operation, *wave, settled_below),
            _ => return,
        };
        let initiator = operation.initiator;
        // What is over is not acknowledged any more.
        self.asked.retain(|(node, sequence, _)| *node != initiator || sequence >= settled_below);
        self.asked.insert((initiator, operation.sequence, wave));
    }

    /// Puts an acknowledgement into the cells, if it is one that is gathered. True when no message is needed.
    pub fn answer(&mut self, windows: &Windows, to: NodeId, message: &Message) -> bool {
        let Message::Acknowledge { operation, wave, ballot } = message else { return false };
        if operation.initiator != to || !self.asked.remove(&(to, operation.sequence, *wave)) {
            return false;
        }
        let (window, layout) = (&windows.own, windows.own.layout());
        let (sequence, cell) = (operation.sequence, if *wave == VOTES { Cell::Voted } else { Cell::Done });
        let number = layout.cell(to, cell);
        if sequence <= window.load(number) {
            return *wave == DONE;
        }
        let word = word_of(*ballot);
        if *wave == VOTES {
            window.store(layout.cell(to, Cell::Ballot), word);
        }
        window.store(number, sequence);
        *wave == DONE || word != OTHER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn votes_of_one_place_are_words_and_all_others_are_not() {
        for place in [0, 1, (1 << 61) - 1] {
            for vote in [Vote::False, Vote::Busy, Vote::True] {
                let ballot = Ballot { lowest: place, highest: place, vote };
                assert_eq!(ballot_of(word_of(ballot)), Some(ballot));
            }
        }
        let far = Ballot { lowest: 1 << 61, highest: 1 << 61, vote: Vote::True };
        let wide = Ballot { lowest: 1, highest: 2, vote: Vote::True };
        for ballot in [far, wide, Ballot::BLANK] {
            assert_eq!(word_of(ballot), OTHER);
        }
        assert_eq!(ballot_of(OTHER), None);
    }
}

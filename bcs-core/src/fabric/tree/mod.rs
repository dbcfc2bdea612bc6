//! The three primitives over point-to-point links: a k-ary tree multicasts and queries, so cost grows with
//! log n (paper, §2.1; design §3).
//!
//! An engine without I/O: [`TreeNode::handle_message`] and [`TreeNode::handle_death`] put in,
//! [`TreeNode::poll_transmit`] takes out. It reads no clock and draws no random number. Drivers (`sim` and
//! `quic`) owe it two things:
//! - **Links**: between two living nodes, messages arrive once. Those of one [`Lane`] arrive in the order in which they
//!   were sent, and those of the bulk lane never before control messages that were sent earlier.
//! - **Deaths**: every node is told of every node that dies, sooner or later, and what is reported dead stays dead.
//!   A network that falls apart and heals is only slow.
//!
//! # How it works
//! Every operation gets one place in a total order (`order`), and every node makes the operations that reach it
//! take effect in that order. From this follow ordering and sequential consistency.
//!
//! A **put** to one node goes there directly. A put to several goes down the tree and is staged (`Prepare`);
//! proposals of a place come up; when all nodes have everything, the initiator decides (`Decide(Order)`), the nodes
//! write when the operation's turn comes, and acknowledgements come up again. If a node dies before the decision, the
//! decision is `Abort`.
//!
//! A **query** that reaches a node with nothing before it is answered at once and *held*: nothing else takes
//! effect there until `Conclude`. If all nodes propose the same place and agree, one round decides. Otherwise the
//! query waits for its turn everywhere (`Decide(Order)`), is held there, and concludes. Waiting follows the total
//! order, so there is no deadlock.
//!
//! The initiator's completion, too, takes its place in the order: it is reported when everything before it
//! has taken effect on the initiator, so that a later read of its own memory is not older than what it has learned.
//!
//! When a node dies that lies in the tree, the initiator sends its decision again over a tree without it (a new
//! *wave*; repeated decisions do no harm). When an *initiator* dies, the lowest living node (the arbiter) asks all nodes
//! (`recovery`): what somebody knows to be decided happens everywhere, all else nowhere.
//!
//! # Which orders it needs
//! A link need not keep the order of all messages. What the protocol needs of it is little, because all else follows
//! from questions and answers (a decision is made when all have answered, whichever way it then takes):
//! 1. An operation's `Prepare` comes before its fragments, and these in their order. A decision to abort may overtake
//!    them: what comes later is ignored. Any other decision has waited for all of them.
//! 2. Operations with the same sole node come in the order of their calls: nothing but the link orders them. So once one of
//!    them has fragments under way, its followers to the same node take the bulk lane, too, until all of those are over.
//!
//! Everything else may overtake fragments: acknowledgements, decisions, recoveries, and the operations of other
//! initiators. The two lanes give just this.
//!
//! | file | holds |
//! |---|---|
//! | `message` | what travels |
//! | `lane` | the order that links keep |
//! | `topology` | the shape of the tree |
//! | `order` | the total order |
//! | `initiator` | operations that began here: queue, waves, decisions, completions |
//! | `participant` | operations that have reached this node: stages and effects |
//! | `recovery` | agreement about the operations of dead nodes |

mod initiator;
mod lane;
mod message;
mod order;
mod participant;
mod recovery;
#[cfg(test)]
mod tests;
mod topology;

pub use initiator::OPERATIONS_LIMIT;
pub use lane::{Lane, LaneReceiver, LaneSender};
pub use message::{
    Ballot, Commit, FRAGMENT_BYTES, INLINE_BYTES, Message, OperationId, Round, Stamp, Verdict, Vote, Work,
};

use crate::event::EventTable;
use crate::fabric::{FabricError, Operation, check_nodes};
use crate::global_memory::{GlobalMemory, MemoryError};
use crate::ids::NodeId;
use crate::node_set::NodeSet;
use initiator::Initiator;
use order::OrderQueue;
use participant::Participation;
use recovery::Recovery;
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The children of a node in one wave: those it still waits for.
type Children = SmallVec<[NodeId; 4]>;

/// The default number of children of a node in the tree.
pub const DEFAULT_FANOUT: usize = 4;

/// No clock comes near this: at a billion operations a second it takes a hundred years.
const STAMP_LIMIT: Stamp = 1 << 62;

/// Why a message cannot be: its sender does not keep the protocol, and is best cut off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A message from a node that is not a member.
    #[error("a message from {from}, which is not a member")]
    Stranger {
        /// The sender.
        from: NodeId,
    },
    /// An access beyond this node's memory.
    #[error("{operation}, from {from}: {error}")]
    Memory {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
        /// What is wrong.
        error: MemoryError,
    },
    /// An event beyond this node's table.
    #[error("{operation}, from {from}, names event {event}, but there are {count}")]
    NoSuchEvent {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
        /// The event's number.
        event: u32,
        /// The number of events.
        count: u32,
    },
    /// More payload than was announced.
    #[error("{operation}, from {from}, has {bytes} more bytes than it announced")]
    Excess {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
        /// How many bytes are too many.
        bytes: u64,
    },
    /// A fragment without bytes.
    #[error("{operation}, from {from}, has a fragment of no bytes")]
    Empty {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
    },
    /// An operation of a node that is not a member, or of the receiver itself.
    #[error("{operation}, from {from}, is of no other member of this network")]
    Foreign {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
    },
    /// More operations of a node than it may have under way.
    #[error("{operation} comes when {from} has {OPERATIONS_LIMIT} under way, which is the limit")]
    TooMany {
        /// The sender, whose operation it is.
        from: NodeId,
        /// The operation.
        operation: OperationId,
    },
    /// A node set that reaches beyond the members, or back to the receiver.
    #[error("{from} wants a message passed on to {nodes}, which may not get it from here")]
    Misrouted {
        /// The sender.
        from: NodeId,
        /// The nodes.
        nodes: NodeSet,
    },
    /// A stamp that no operation could have reached.
    #[error("{from} sends the stamp {stamp}, which is beyond {STAMP_LIMIT}")]
    Stamp {
        /// The sender.
        from: NodeId,
        /// The stamp.
        stamp: Stamp,
    },
    /// A decision that the operation's stage does not allow.
    #[error("{from} decides {verdict:?} on {operation}, which this node has in stage {stage}")]
    Impossible {
        /// The sender.
        from: NodeId,
        /// The operation.
        operation: OperationId,
        /// The decision.
        verdict: Verdict,
        /// The stage.
        stage: &'static str,
    },
}

/// The acknowledgement of an operation with a sole node. Nobody but its initiator waits for it, and may be about to get a message with which it could
/// travel.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The initiator.
    pub to: NodeId,
    /// The acknowledgement.
    pub message: Message,
    /// The initiator has somebody to tell, or an operation that comes after this one.
    pub awaited: bool,
}

/// One node's end of the tree protocol. Call [`TreeNode::poll_transmit`] until it is empty after every other call.
#[derive(Debug)]
pub struct TreeNode<M> {
    node: NodeId,
    members: Arc<NodeSet>,
    /// The members that this node knows to be dead.
    dead: NodeSet,
    /// The others hold this node for dead.
    cut_off: bool,
    fanout: usize,
    memory: M,
    events: EventTable,
    order: OrderQueue,
    participations: BTreeMap<OperationId, Participation>,
    /// By initiator: its operations below this number are over, everywhere.
    settled_below: BTreeMap<NodeId, u64>,
    initiator: Initiator,
    recovery: Recovery,
    outbox: VecDeque<(NodeId, Lane, Message)>,
    /// To the initiators of operations with a sole node.
    receipts: VecDeque<Receipt>,
    /// Messages to itself: a node of a set that it started an operation on is a participant like any other.
    loopback: VecDeque<Message>,
}

impl<M: GlobalMemory> TreeNode<M> {
    /// The end of `node` in a network of `members`, over registered memory and events.
    pub fn new(node: NodeId, members: Arc<NodeSet>, fanout: usize, memory: M, events: EventTable) -> Self {
        Self {
            node,
            members,
            dead: NodeSet::new(),
            cut_off: false,
            fanout: fanout.max(1),
            memory,
            events,
            order: OrderQueue::default(),
            participations: BTreeMap::new(),
            settled_below: BTreeMap::new(),
            initiator: Initiator::default(),
            recovery: Recovery::default(),
            outbox: VecDeque::new(),
            receipts: VecDeque::new(),
            loopback: VecDeque::new(),
        }
    }

    /// This node.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// All nodes, dead ones included.
    pub fn members(&self) -> &NodeSet {
        &self.members
    }

    /// The nodes that this node knows to be dead.
    pub fn dead(&self) -> &NodeSet {
        &self.dead
    }

    /// Whether the others hold this node for dead: it takes no further part.
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    /// This node's global memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// This node's events.
    pub fn events(&self) -> &EventTable {
        &self.events
    }

    /// A message from another node.
    ///
    /// # Errors
    /// The sender does not keep the protocol; the message has had no effect.
    pub fn handle_message(&mut self, from: NodeId, message: Message) -> Result<(), ProtocolError> {
        if !self.members.contains(from) {
            return Err(ProtocolError::Stranger { from });
        }
        if self.cut_off {
            return Ok(());
        }
        if self.dead.contains(from) {
            // It lives, but too late: it is told that it takes no further part.
            if self.recovery.notified.insert(from) {
                let obituary = Message::Obituary { dead: NodeSet::single(from) };
                self.outbox.push_back((from, Lane::Control, obituary));
            }
            return Ok(());
        }
        self.check_message(from, &message)?;
        let handled = self.dispatch(from, message);
        self.handle_loopback();
        handled
    }

    /// A failure detector's verdict. Telling it again does no harm.
    pub fn handle_death(&mut self, node: NodeId) {
        self.learn_death(node);
        self.handle_loopback();
    }

    /// The next message to send: to whom, and in which lane. What [`TreeNode::poll_prompt`] gives, and then what
    /// [`TreeNode::poll_receipt`] gives.
    pub fn poll_transmit(&mut self) -> Option<(NodeId, Lane, Message)> {
        let receipt = |Receipt { to, message, .. }| (to, Lane::Control, message);
        self.poll_prompt().or_else(|| self.poll_receipt().map(receipt))
    }

    /// The next message to send that others wait for.
    pub fn poll_prompt(&mut self) -> Option<(NodeId, Lane, Message)> {
        self.outbox.pop_front()
    }

    /// The next acknowledgement of an operation that was for this node alone, for the control lane.
    pub fn poll_receipt(&mut self) -> Option<Receipt> {
        self.receipts.pop_front()
    }

    /// The failure detector of *this* node has found a node dead: all members get to know it.
    ///
    /// # Errors
    /// The node is not a member.
    pub fn declare_dead(&mut self, node: NodeId) -> Result<(), FabricError> {
        const OPERATION: Operation = Operation::DeclareDead;
        check_nodes(OPERATION, &NodeSet::single(node), &self.members, &NodeSet::new())?;
        if node == self.node {
            self.cut_off();
            return Ok(());
        }
        self.recovery.declared.insert(node);
        self.handle_death(node);
        Ok(())
    }

    /// What must hold of any message, whatever state it finds.
    fn check_message(&self, from: NodeId, message: &Message) -> Result<(), ProtocolError> {
        let (below, stamp) = match message {
            Message::Prepare { below, base, .. } => (Some(below), *base),
            Message::Decide { below, verdict: Verdict::Order(stamp), .. } => (Some(below), *stamp),
            Message::Decide { below, .. } | Message::Inquire { below, .. } => (Some(below), 0),
            Message::Resolve { below, commits, .. } => (Some(below), highest_stamp(commits)),
            Message::Testify { commits, .. } => (None, highest_stamp(commits)),
            Message::Acknowledge { ballot, .. } => (None, ballot.highest),
            Message::Fragment { .. } | Message::Obituary { .. } => (None, 0),
        };
        if stamp > STAMP_LIMIT {
            return Err(ProtocolError::Stamp { from, stamp });
        }
        match below {
            Some(below) if !below.is_subset(&self.members) || below.contains(self.node) => {
                Err(ProtocolError::Misrouted { from, nodes: below.clone() })
            }
            _ => Ok(()),
        }
    }

    fn dispatch(&mut self, from: NodeId, message: Message) -> Result<(), ProtocolError> {
        match message {
            Message::Prepare { operation, work, base, settled_below, sole, awaited, below, payload } => {
                let header = participant::Header { operation, work, base, sole, awaited };
                self.handle_prepare(from, header, settled_below, &below, payload)
            }
            Message::Fragment { operation, payload } => self.handle_fragment(from, operation, payload),
            Message::Decide { operation, wave, verdict, settled_below, below } => {
                self.handle_decide(from, operation, wave, verdict, settled_below, &below)
            }
            Message::Acknowledge { operation, wave, ballot } => {
                if operation.initiator == self.node {
                    self.handle_ballot(from, operation.sequence, wave, ballot);
                } else {
                    self.handle_acknowledge(from, operation, wave, ballot);
                }
                Ok(())
            }
            Message::Obituary { dead } => {
                self.handle_obituary(&dead);
                Ok(())
            }
            Message::Inquire { round, dead, below } => {
                self.handle_inquire(from, round, dead, &below);
                Ok(())
            }
            Message::Testify { round, commits } => {
                self.handle_testify(from, round, commits);
                Ok(())
            }
            Message::Resolve { round, commits, below } => self.handle_resolve(from, round, commits, &below),
        }
    }

    /// Handles what the node has sent to itself.
    fn handle_loopback(&mut self) {
        while let Some(message) = self.loopback.pop_front() {
            let handled = self.dispatch(self.node, message);
            debug_assert_eq!(handled, Ok(()), "a node keeps the protocol with itself");
        }
    }

    fn transmit(&mut self, to: NodeId, message: Message) {
        let lane = match message {
            Message::Fragment { .. } => Lane::Bulk,
            _ => Lane::Control,
        };
        self.transmit_in(lane, to, message);
    }

    fn transmit_in(&mut self, lane: Lane, to: NodeId, message: Message) {
        if to == self.node {
            self.loopback.push_back(message);
        } else if !self.dead.contains(to) && !self.cut_off {
            self.outbox.push_back((to, lane, message));
        }
    }

    /// Sends a message down the tree over `nodes`: to the node itself, when it is one of them, and to its
    /// children, each with the set of nodes below it.
    fn descend(&mut self, nodes: &NodeSet, message: impl Fn(NodeSet) -> Message) -> Children {
        self.descend_in(Lane::Control, nodes, message)
    }

    fn descend_in(&mut self, lane: Lane, nodes: &NodeSet, message: impl Fn(NodeSet) -> Message) -> Children {
        let mut children = Children::new();
        let mut below = nodes.clone();
        if below.remove(self.node) {
            children.push(self.node);
            self.transmit_in(lane, self.node, message(NodeSet::new()));
        }
        for (child, rest) in topology::children(&below, self.fanout) {
            children.push(child);
            self.transmit_in(lane, child, message(rest));
        }
        children
    }

    fn learn_death(&mut self, node: NodeId) {
        if node == self.node {
            self.cut_off();
        } else if self.members.contains(node) && self.dead.insert(node) {
            self.abandon_dead(node);
            self.recover();
        }
    }

    /// The others hold this node for dead: everything that it has begun fails, and it falls silent.
    fn cut_off(&mut self) {
        self.cut_off = true;
        self.outbox.clear();
        self.receipts.clear();
        self.loopback.clear();
        self.abandon_all();
    }
}

fn highest_stamp(commits: &[Commit]) -> Stamp {
    let stamp = |commit: &Commit| match commit.verdict {
        Verdict::Order(stamp) => stamp,
        Verdict::Abort | Verdict::Conclude(_) => 0,
    };
    commits.iter().map(stamp).max().unwrap_or(0)
}

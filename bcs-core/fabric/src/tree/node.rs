//! One node's end of the protocol: what it knows, and which way messages go.

use super::agreement::Recovery;
use super::children::Children;
use super::error::{ProtocolError, STAMP_LIMIT};
use super::initiator::Initiator;
use super::lane::Lane;
use super::message::{Commit, Message, OperationId, Stamp, Verdict};
use super::order::OrderQueue;
use super::participation::{Header, Participation};
use super::receipt::Receipt;
use super::topology;
use crate::{FabricError, Operation, check_nodes};
use bcs_core::event::EventTable;
use bcs_core::global_memory::GlobalMemory;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// One node's end of the tree protocol. Call [`TreeNode::poll_transmit`] until it is empty after every other
/// call.
#[derive(Debug)]
pub struct TreeNode<M> {
    pub(super) node: NodeId,
    pub(super) members: Arc<NodeSet>,
    /// The members that this node knows to be dead.
    pub(super) dead: NodeSet,
    /// The others hold this node for dead.
    pub(super) cut_off: bool,
    pub(super) fanout: usize,
    pub(super) memory: M,
    pub(super) events: EventTable,
    pub(super) order: OrderQueue,
    pub(super) participations: BTreeMap<OperationId, Participation>,
    /// By initiator: its operations below this number are over, everywhere.
    pub(super) settled_below: BTreeMap<NodeId, u64>,
    pub(super) initiator: Initiator,
    pub(super) recovery: Recovery,
    pub(super) outbox: VecDeque<(NodeId, Lane, Message)>,
    /// To the initiators of operations with a sole node.
    pub(super) receipts: VecDeque<Receipt>,
    /// Messages to itself: a node of a set that it started an operation on is a participant like any other.
    pub(super) loopback: VecDeque<Message>,
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

    /// A message from another node.
    ///
    /// # Errors
    /// The sender does not keep the protocol; the message has had no effect.
    pub fn handle_message(&mut self, from: NodeId, message: Message) -> Result<(), ProtocolError> {
        if !self.members.contains(from) {
            return Err(ProtocolError::Stranger);
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
        self.check_message(&message)?;
        let handled = self.dispatch(from, message);
        self.handle_loopback();
        handled
    }

    /// A failure detector's verdict. Telling it again does no harm.
    pub fn handle_death(&mut self, node: NodeId) {
        self.learn_death(node);
        self.handle_loopback();
    }

    /// The next message to send: to whom, and in which lane. What [`TreeNode::poll_prompt`] gives, and then
    /// what [`TreeNode::poll_receipt`] gives.
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
    pub(super) fn check_message(&self, message: &Message) -> Result<(), ProtocolError> {
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
            return Err(ProtocolError::Stamp(stamp));
        }
        match below {
            Some(below) if !below.is_subset(&self.members) || below.contains(self.node) => {
                Err(ProtocolError::Misrouted(below.clone()))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn dispatch(&mut self, from: NodeId, message: Message) -> Result<(), ProtocolError> {
        match message {
            Message::Prepare { operation, work, base, settled_below, sole, awaited, below, payload } => {
                let header = Header { operation, work, base, sole, awaited };
                self.handle_prepare(from, header, settled_below, &below, payload)
            }
            Message::Fragment { operation, payload } => self.handle_fragment(operation, payload),
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
            Message::Resolve { round, commits, below } => {
                self.handle_resolve(round, commits, &below);
                Ok(())
            }
        }
    }

    /// Handles what the node has sent to itself.
    pub(super) fn handle_loopback(&mut self) {
        while let Some(message) = self.loopback.pop_front() {
            let handled = self.dispatch(self.node, message);
            debug_assert_eq!(handled, Ok(()), "a node keeps the protocol with itself");
        }
    }

    pub(super) fn transmit(&mut self, to: NodeId, message: Message) {
        let lane = match message {
            Message::Fragment { .. } => Lane::Bulk,
            _ => Lane::Control,
        };
        self.transmit_in(lane, to, message);
    }

    pub(super) fn transmit_in(&mut self, lane: Lane, to: NodeId, message: Message) {
        if to == self.node {
            self.loopback.push_back(message);
        } else if !self.dead.contains(to) && !self.cut_off {
            self.outbox.push_back((to, lane, message));
        }
    }

    /// Sends a message down the tree over `nodes`: to the node itself, when it is one of them, and to its
    /// children, each with the set of nodes below it.
    pub(super) fn descend(&mut self, nodes: &NodeSet, message: impl Fn(NodeSet) -> Message) -> Children {
        self.descend_in(Lane::Control, nodes, message)
    }

    pub(super) fn descend_in(
        &mut self,
        lane: Lane,
        nodes: &NodeSet,
        message: impl Fn(NodeSet) -> Message,
    ) -> Children {
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

    pub(super) fn learn_death(&mut self, node: NodeId) {
        if node == self.node {
            self.cut_off();
        } else if self.members.contains(node) && self.dead.insert(node) {
            self.abandon_dead(node);
            self.recover();
        }
    }

    /// The others hold this node for dead: everything that it has begun fails, and it falls silent.
    pub(super) fn cut_off(&mut self) {
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

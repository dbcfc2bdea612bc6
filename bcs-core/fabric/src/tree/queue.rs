//! What waits to go over a link to one other node, by lane, and how much of it there may be.

use super::initiator::OPERATIONS_LIMIT;
use super::lane::{Lane, LaneSender};
use super::message::Message;
use bcs_core::ids::NodeId;
use std::collections::VecDeque;

/// How many answers may wait for the other end, for each member of the network; more, and it asks without end
/// and hears nothing. It hands us the operations of all members, of each at most [`OPERATIONS_LIMIT`] at a
/// time, and asks about one again (a new wave) when it has our answer, or when a node has died: so this
/// allows for seven deaths while it stands still.
const ANSWERS_LIMIT: usize = 8 * OPERATIONS_LIMIT;

/// Payload bytes that wait in links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Of this node's own operations.
    pub own: usize,
    /// Of others', on their way down a tree.
    pub relayed: usize,
}

impl Backlog {
    fn account(&mut self, node: NodeId, message: &Message) -> (&mut usize, usize) {
        match message {
            Message::Prepare { operation, payload, .. } | Message::Fragment { operation, payload } => {
                let side = if operation.initiator == node { &mut self.own } else { &mut self.relayed };
                (side, payload.len())
            }
            _ => (&mut self.own, 0),
        }
    }
}

/// The messages that wait to go over a link, each with the stamp of its lane.
#[derive(Debug)]
pub struct LinkQueue {
    lanes: LaneSender,
    /// By lane.
    queues: [VecDeque<(u64, Message)>; 2],
    /// How many of those that wait answer something.
    answers: usize,
    answers_limit: usize,
}

impl LinkQueue {
    /// The queue of a link in a network of so many members.
    pub fn new(members: usize) -> Self {
        Self {
            lanes: LaneSender::default(),
            queues: Default::default(),
            answers: 0,
            answers_limit: ANSWERS_LIMIT.saturating_mul(members),
        }
    }

    /// Takes a message to send, of the node whose queue it is.
    pub fn push(&mut self, node: NodeId, lane: Lane, message: Message, backlog: &mut Backlog) {
        let (side, bytes) = backlog.account(node, &message);
        *side += bytes;
        self.answers += usize::from(is_answer(&message));
        let stamp = self.lanes.stamp(lane);
        self.queues[lane as usize].push_back((stamp, message));
    }

    /// The next message of a lane, and its stamp.
    pub fn pop(&mut self, node: NodeId, lane: Lane, backlog: &mut Backlog) -> Option<(u64, Message)> {
        let (stamp, message) = self.queues[lane as usize].pop_front()?;
        let (side, bytes) = backlog.account(node, &message);
        *side -= bytes;
        self.answers -= usize::from(is_answer(&message));
        Some((stamp, message))
    }

    /// Whether nothing waits.
    pub fn is_clear(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// How many answers wait that the other end asked for and does not take; none as long as they are no more
    /// than a node may ask for that keeps the protocol.
    pub fn untaken_answers(&self) -> Option<usize> {
        Some(self.answers).filter(|answers| *answers > self.answers_limit)
    }

    /// Forgets what waits. True when a node that has left would have needed some of it.
    pub fn discard(&mut self, node: NodeId, backlog: &mut Backlog) -> bool {
        let mut needed = false;
        for (_, message) in self.queues.iter_mut().flat_map(|queue| queue.drain(..)) {
            let (side, bytes) = backlog.account(node, &message);
            *side -= bytes;
            needed |= !is_answer(&message);
        }
        self.answers = 0;
        needed
    }
}

/// Whether a message answers something. One that does not shows that a node which has left in order is still
/// needed; whoever waits for an answer either was the node itself, or has the node in its operation.
pub fn is_answer(message: &Message) -> bool {
    matches!(message, Message::Acknowledge { .. } | Message::Testify { .. })
}

//! The link to one other node: where it stands, and what waits to go over it.
//!
//! ```text
//!            needed: dial              the other end says hello
//!  Idle ───────────────────► Dialling ─────────────────────────► Up ── it leaves in order ──► Departed
//!   │                         │     │ both dialled, its dial counts ▲ │                          │ still needed
//!   │ it dials                │     └──────────► Awaiting ─────────┤ │ anything else            ▼
//!   └─────────────────────────┼────────────────────────────────────┘ └──────────────────────► Broken
//!                             └── no answer in time, or a wrong one ──────────────────────────►┘
//! ```
//!
//! Invariants: at most one connection carries a link's messages, from its first to its last, so none is lost
//! or doubled; a broken link stays broken, and its node is dead. When both ends dial, the dial of the
//! lower-numbered counts.

use super::frame::FrameBatch;
use bcs_core::ids::NodeId;
use bcs_core::wire::WireError;
use bcs_fabric::tree::{Lane, LaneSender, Message, OPERATIONS_LIMIT};
use std::collections::VecDeque;
use std::time::Instant;

/// How many bytes of frames are put together for one write, at least if there are as many.
const BATCH_BYTES: usize = 64 * 1024;

/// How many answers may wait for the other end, for each member of the network; more, and it asks without end
/// and hears nothing. It hands us the operations of all members, of each at most [`OPERATIONS_LIMIT`] at a
/// time, and asks about one again (a new wave) when it has our answer, or when a node has died: so this
/// allows for seven deaths while it stands still.
const ANSWERS_LIMIT: usize = 8 * OPERATIONS_LIMIT;

/// Where a link stands. Connections are named by their handles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// Nobody needed it yet.
    Idle,
    /// This end dials, until a time.
    Dialling(usize, Instant),
    /// The other end dials, until a time.
    Awaiting(Instant),
    /// It carries messages.
    Up(usize),
    /// The other end has left in order.
    Departed,
    /// It carries no more; why.
    Broken(String),
}

/// What has gone over a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Messages of the tree protocol that were handed to the link.
    pub sent: u64,
    /// Messages that came out of it.
    pub received: u64,
}

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

/// A link.
#[derive(Debug)]
pub struct Link {
    pub state: LinkState,
    pub statistics: LinkStatistics,
    /// Something waits that is not to wait any longer.
    pub is_urgent: bool,
    /// Until when what waits may wait at most, if it is not urgent.
    pub due: Option<Instant>,
    lanes: LaneSender,
    /// By lane.
    queues: [VecDeque<(u64, Message)>; 2],
    /// How many of those that wait answer something.
    answers: usize,
    answers_limit: usize,
}

impl Link {
    /// A link in a network of so many members.
    pub fn new(members: usize) -> Self {
        Self {
            state: LinkState::Idle,
            statistics: LinkStatistics::default(),
            is_urgent: false,
            due: None,
            lanes: LaneSender::default(),
            queues: Default::default(),
            answers: 0,
            answers_limit: ANSWERS_LIMIT.saturating_mul(members),
        }
    }

    /// Takes a message to send.
    pub fn push(&mut self, node: NodeId, lane: Lane, message: Message, backlog: &mut Backlog) {
        self.is_urgent = true;
        self.queue(node, lane, message, backlog);
    }

    /// Takes a message to send along with the next one, or at this time by itself.
    pub fn push_patient(
        &mut self,
        node: NodeId,
        lane: Lane,
        message: Message,
        backlog: &mut Backlog,
        due: Instant,
    ) {
        self.queue(node, lane, message, backlog);
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    fn queue(&mut self, node: NodeId, lane: Lane, message: Message, backlog: &mut Backlog) {
        let (side, bytes) = backlog.account(node, &message);
        *side += bytes;
        self.statistics.sent += 1;
        self.answers += usize::from(is_answer(&message));
        let stamp = self.lanes.stamp(lane);
        self.queues[lane as usize].push_back((stamp, message));
    }

    /// The next frames of a lane, put together; nothing when there are none.
    ///
    /// # Errors
    /// A message is too long to travel.
    pub fn pop_frames(
        &mut self,
        node: NodeId,
        lane: Lane,
        backlog: &mut Backlog,
        frames: &mut FrameBatch,
    ) -> Result<(), WireError> {
        while frames.bytes() < BATCH_BYTES
            && let Some((stamp, message)) = self.queues[lane as usize].pop_front()
        {
            let (side, bytes) = backlog.account(node, &message);
            *side -= bytes;
            self.answers -= usize::from(is_answer(&message));
            frames.push(stamp, message)?;
        }
        Ok(())
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

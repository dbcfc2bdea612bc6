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
use bcs_fabric::tree::{Backlog, Lane, LinkQueue, Message};
use std::time::Instant;

/// How many bytes of frames are put together for one write, at least if there are as many.
const BATCH_BYTES: usize = 64 * 1024;

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

/// A link.
#[derive(Debug)]
pub struct Link {
    pub state: LinkState,
    pub statistics: LinkStatistics,
    /// Something waits that is not to wait any longer.
    pub is_urgent: bool,
    /// Until when what waits may wait at most, if it is not urgent.
    pub due: Option<Instant>,
    queue: LinkQueue,
}

impl Link {
    /// A link in a network of so many members.
    pub fn new(members: usize) -> Self {
        Self {
            state: LinkState::Idle,
            statistics: LinkStatistics::default(),
            is_urgent: false,
            due: None,
            queue: LinkQueue::new(members),
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
        self.statistics.sent += 1;
        self.queue.push(node, lane, message, backlog);
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
            && let Some((stamp, message)) = self.queue.pop(node, lane, backlog)
        {
            frames.push(stamp, message)?;
        }
        Ok(())
    }

    /// Whether nothing waits.
    pub fn is_clear(&self) -> bool {
        self.queue.is_clear()
    }

    /// How many answers wait that the other end asked for and does not take; none as long as they are no more
    /// than a node may ask for that keeps the protocol.
    pub fn untaken_answers(&self) -> Option<usize> {
        self.queue.untaken_answers()
    }

    /// Forgets what waits. True when a node that has left would have needed some of it.
    pub fn discard(&mut self, node: NodeId, backlog: &mut Backlog) -> bool {
        self.queue.discard(node, backlog)
    }
}

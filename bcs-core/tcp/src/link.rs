//! The link to one other node: where it stands, and what waits to go over it.
//!
//! ```text
//!            needed: dial              TLS is complete            the other end greets
//!  Idle ───────────────────► Dialling ──────────────────► Greeting ───────────────────► Up ─ it leaves ─► Departed
//!   │                         │     │ both dialled, the other dial counts │             ▲ │ in order       │ still needed
//!   │ it dials                │     └──────────► Awaiting ◄───────────────┘             │ │ anything else  ▼
//!   └─────────────────────────┼────────────────────┴──────── it has dialled ────────────┘ └─────────────► Broken
//!                             └── no answer in time, or a wrong one ────────────────────────────────────────►┘
//! ```
//!
//! Invariants: at most one connection carries a link's messages, from its first to its last, so none is lost
//! or doubled; a broken link stays broken, and its node is dead. When both ends dial, the dial of the
//! lower-numbered counts.

use super::handshake::Handshake;
use super::memory::OwnedEnd;
use super::message::Assembly;
use super::outbox::Outbox;
use bcs_core::ids::NodeId;
use bcs_fabric::tree::{Backlog, Lane, Message};
use std::net::TcpStream;
use std::time::Instant;

/// Where a link stands.
#[derive(Debug)]
pub(crate) enum LinkState {
    /// Nobody needed it yet.
    Idle,
    /// This end dials, until a time; without a handshake it is about to try again.
    Dialling(Option<Box<Handshake>>, Instant),
    /// This end has dialled, and waits to be greeted, until a time.
    Greeting(Instant),
    /// The other end dials, until a time.
    Awaiting(Instant),
    /// It carries messages.
    Up,
    /// The other end has left in order.
    Departed,
    /// It carries no more; why.
    Broken(String),
}

/// Messages of the tree protocol that have gone over a link, and records of the road.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Messages that were handed to the link.
    pub sent: u64,
    /// Messages that came out of it.
    pub received: u64,
    /// Records of the road that were handed to the link.
    pub records_sent: u64,
    /// Records of the road that came out of it.
    pub records_received: u64,
}

/// What a counter of frames showed when it last changed, and when that was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    frames: u64,
    pub at: Instant,
}

impl Seen {
    pub fn look(&mut self, frames: u64, now: Instant) {
        if self.frames != frames {
            *self = Self { frames, at: now };
        }
    }
}

/// The connection of a link.
#[derive(Debug)]
pub(crate) struct Wire {
    pub owned: OwnedEnd,
    pub stream: TcpStream,
    pub assembly: Assembly,
    /// When the other end was heard last, and when this end has spoken last.
    pub heard: Seen,
    pub spoken: Seen,
    /// The other end says nothing, and its host answers.
    pub is_stopped: bool,
    /// The poller watches for room in the socket.
    pub watches_writes: bool,
}

impl Wire {
    pub fn new(owned: OwnedEnd, stream: TcpStream, now: Instant) -> Self {
        let seen = Seen { frames: 0, at: now };
        let assembly = Assembly::default();
        Self { owned, stream, assembly, heard: seen, spoken: seen, is_stopped: false, watches_writes: false }
    }
}

/// A link.
#[derive(Debug)]
pub(crate) struct Link {
    pub state: LinkState,
    pub wire: Option<Box<Wire>>,
    pub statistics: LinkStatistics,
    /// When a dial that failed is tried again.
    pub retry_at: Option<Instant>,
    /// It is in the driver's list of links that have something to say.
    pub is_marked: bool,
    /// Bytes of records that have come by the road and were not polled.
    pub unpolled: usize,
    /// What waits to go over it.
    pub outbox: Outbox,
}

impl Link {
    /// A link in a network of so many members.
    pub fn new(members: usize) -> Self {
        Self {
            state: LinkState::Idle,
            wire: None,
            statistics: LinkStatistics::default(),
            retry_at: None,
            is_marked: false,
            unpolled: 0,
            outbox: Outbox::new(members),
        }
    }

    /// Takes a message to send.
    pub fn push(&mut self, node: NodeId, lane: Lane, message: Message, backlog: &mut Backlog) {
        self.statistics.sent += 1;
        self.outbox.push(node, lane, message, backlog);
    }

    /// Takes a message to send along with the next one, or at this time by itself.
    pub fn push_patient(&mut self, node: NodeId, message: Message, backlog: &mut Backlog, due: Instant) {
        self.statistics.sent += 1;
        self.outbox.push_patient(node, message, backlog, due);
    }

    /// Whether it is up.
    pub fn is_up(&self) -> bool {
        matches!(self.state, LinkState::Up)
    }

    /// Whether it will carry nothing more.
    pub fn is_over(&self) -> bool {
        matches!(self.state, LinkState::Departed | LinkState::Broken(_))
    }
}

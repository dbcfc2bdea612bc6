//! The link to one other node: where it stands, what waits to go over it, and the rings that carry it.
//!
//! ```text
//!            its greeting has come            it leaves in order
//!  Silent ──────────────────────────► Up ───────────────────────► Departed ── it is still needed ──┐
//!    │                                │                                                           ▼
//!    └────────── declared dead, or it does not keep the protocol ───────────────────────────► Broken
//! ```
//!
//! Invariant: a broken link stays broken, and its node is dead.

use crate::card::{Card, CardError, Transfer};
use crate::far::Windows;
use crate::frame::{Assembly, Parcel};
use crate::ring::{ReceiveRing, SendRing, frame_bytes};
use crate::window::{RINGS, ROAD_RING, Word};
use bcs_core::ids::NodeId;
use bcs_core::wire::WireError;
use bcs_fabric::tree::{Backlog, Lane, LaneReceiver, LinkQueue, Message};
use std::collections::VecDeque;

const LANES: [Lane; 2] = [Lane::Control, Lane::Bulk];

/// Where a link stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// The other node has not greeted. Messages can go to it all the same: its window is there.
    Silent,
    /// It has greeted.
    Up,
    /// It has left in order.
    Departed,
    /// It carries no more; why.
    Broken(String),
}

/// Why what waits does not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error(transparent)]
    Card(#[from] CardError),
    /// The node cannot be sent what it needs.
    #[error("a message to it cannot be encoded: {0}")]
    Wire(#[from] WireError),
}

/// A message that is not in its ring as a whole.
#[derive(Debug)]
struct Waiting {
    parcel: Parcel,
    after: u64,
    stamp: u64,
}

/// A link.
#[derive(Debug)]
pub(crate) struct Link {
    pub state: LinkState,
    queue: LinkQueue,
    /// By lane, beside the queue: the last broadcast to the node before each message.
    afters: [VecDeque<u64>; 2],
    waiting: [Option<Waiting>; 2],
    /// By lane: how many messages were ever pushed.
    pushed: [u64; 2],
    pub send: [SendRing; RINGS],
    pub receive: [ReceiveRing; RINGS],
    /// By lane: messages that have come in part.
    pub assemblies: [Assembly; 2],
    pub broadcast_assembly: Assembly,
    pub lanes: LaneReceiver,
    /// The number of the last broadcast to the node, and of the last that has come from it.
    pub last_broadcast: u64,
    pub taken_broadcast: u64,
    /// What this node says to the other of itself, what of it was put, and is being put.
    pub greeting: u64,
    said: u64,
    saying: Option<Transfer>,
}

impl Link {
    /// A link in a network of so many members.
    pub fn new(members: usize) -> Self {
        Self {
            state: LinkState::Silent,
            queue: LinkQueue::new(members),
            afters: Default::default(),
            waiting: [None, None],
            pushed: [0; 2],
            send: Default::default(),
            receive: Default::default(),
            assemblies: Default::default(),
            broadcast_assembly: Assembly::default(),
            lanes: LaneReceiver::default(),
            last_broadcast: 0,
            taken_broadcast: 0,
            greeting: 0,
            said: 0,
            saying: None,
        }
    }

    /// Says what this node is to the other one, whatever the link stands at: one word after another, so that
    /// the last one stays. True when something has moved.
    ///
    /// # Errors
    /// The card does not begin a put.
    pub fn greet(&mut self, card: &Card, windows: &Windows, to: NodeId) -> Result<bool, CardError> {
        let has_ended = self.saying.is_some() && card.has_ended(&mut self.saying);
        if self.saying.is_some() || self.said == self.greeting {
            return Ok(has_ended);
        }
        let (layout, far) = (windows.own.layout(), &windows.far[to.index()]);
        let word = layout.word(to, Word::Greeting);
        windows.own.store(word, self.greeting);
        self.said = self.greeting;
        let destination = far.at(layout.line(windows.node, Word::Greeting));
        // SAFETY: words of windows; the source is not written again while this is under way.
        self.saying = Some(unsafe { card.put(windows.own.at(word, 8), destination, 8, far.process) }?);
        Ok(true)
    }

    /// Whether the other node has been told all that this one says of itself.
    pub fn has_greeted(&self) -> bool {
        self.saying.is_none() && self.said == self.greeting
    }

    /// Whether messages go over it, and come.
    pub fn is_open(&self) -> bool {
        matches!(self.state, LinkState::Silent | LinkState::Up)
    }

    /// Takes a message to send.
    pub fn push(&mut self, own: NodeId, lane: Lane, message: Message, backlog: &mut Backlog) {
        self.pushed[lane as usize] += 1;
        self.afters[lane as usize].push_back(self.last_broadcast);
        self.queue.push(own, lane, message, backlog);
    }

    /// How many messages were pushed, by lane.
    pub fn pushed(&self) -> [u64; 2] {
        self.pushed
    }

    /// Whether the other node knows of so many messages of each lane.
    pub fn has_delivered(&self, pushed: [u64; 2]) -> bool {
        LANES.iter().all(|lane| self.send[*lane as usize].arrived >= pushed[*lane as usize])
    }

    /// Brings what waits into the rings, and the rings to the other node. True when something has moved.
    ///
    /// # Errors
    /// The card does not begin a put, or a message cannot be encoded.
    pub fn advance(
        &mut self,
        card: &Card,
        windows: &Windows,
        to: NodeId,
        backlog: &mut Backlog,
    ) -> Result<bool, SendError> {
        let mut moved = self.fill(windows, to, backlog)?;
        for ring in 0..RINGS {
            moved |= self.send[ring].advance(card, windows, (to, ring))?;
            moved |= self.receive[ring].tell(card, windows, (to, ring))?;
        }
        Ok(moved)
    }

    fn fill(&mut self, windows: &Windows, to: NodeId, backlog: &mut Backlog) -> Result<bool, WireError> {
        let (own, limit) = (windows.node, frame_bytes(windows.own.layout().ring_bytes));
        let mut moved = false;
        for lane in LANES {
            let ring = lane as usize;
            loop {
                if self.waiting[ring].is_none() {
                    let Some((stamp, message)) = self.queue.pop(own, lane, backlog) else { break };
                    let after = self.afters[ring].pop_front().unwrap_or_default();
                    self.waiting[ring] = Some(Waiting { parcel: Parcel::new(message)?, after, stamp });
                }
                let Some(Waiting { parcel, after, stamp }) = &mut self.waiting[ring] else { break };
                let piece = parcel.piece(limit);
                let (words, bytes) = ([piece.lengths.to_word(), *after, *stamp], piece.lengths.bytes);
                let is_last = !piece.lengths.more;
                if !self.send[ring].append(windows, (to, ring), words, &piece.parts, is_last) {
                    break;
                }
                moved = true;
                if parcel.advance(bytes) {
                    self.waiting[ring] = None;
                }
            }
        }
        Ok(moved)
    }

    /// Whether the other node knows of all that was sent, and of all that was read as far as it is told.
    pub fn is_idle(&self) -> bool {
        self.queue.is_clear()
            && self.waiting.iter().all(Option::is_none)
            && self.send.iter().all(SendRing::is_idle)
            && !self.receive.iter().any(ReceiveRing::is_telling)
    }

    /// Whether all messages have been read that are known to have come. Records of the road may wait for who
    /// polls.
    pub fn is_heard(&self, windows: &Windows, from: NodeId) -> bool {
        (0..ROAD_RING).all(|ring| self.receive[ring].is_empty(windows, (from, ring)))
    }

    /// How many answers wait that the other node asked for and does not take, if that is more than can be.
    pub fn untaken_answers(&self) -> Option<usize> {
        self.queue.untaken_answers()
    }

    /// Forgets what waits. True when a node that has left would have needed some of it.
    pub fn discard(&mut self, own: NodeId, backlog: &mut Backlog) -> bool {
        let is_cut = self.waiting.iter().any(Option::is_some);
        self.waiting = [None, None];
        self.afters.iter_mut().for_each(VecDeque::clear);
        self.queue.discard(own, backlog) || is_cut
    }
}

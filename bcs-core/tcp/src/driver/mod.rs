//! The driver: moves bytes between sockets and links, and messages between links and the tree protocol.
//!
//! It has no thread: whoever polls the fabric drives it, and between polls nothing moves. A round hears first
//! (what has come, link by link) and then speaks (what the protocol has to say, in as few frames as
//! possible). Receipts of puts that were for this node alone wait for the next round, because whoever polls
//! may have an answer to send that takes them along; and those that nobody waits for wait longer. Invariants:
//! what a stranger sends costs a bounded amount of memory and never reaches the protocol; a peer that breaks
//! the protocol loses its link, and nobody else loses anything. Who is let in, and how links end, is told in
//! `lifecycle`.

mod lifecycle;

use super::connection::{CloseCode, Guest, Lingering};
use super::link::{Link, LinkState, Wire};
use super::memory::LinkMemory;
use super::message::{Arrival, MessageError};
use super::options::TcpOptions;
use super::outbox::OutboxError;
use super::poller::{Poller, Token};
use super::tls::Configs;
use bcs_core::global_memory::{GlobalMemory, SparseMemory};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_fabric::tree::{Backlog, Lane, ProtocolError, Receipt, TreeNode, is_answer};
use bcs_fabric::{FabricError, Member, MemberNames};
use bcs_link::{CloseWhen, LinkFault};
use rkyv::util::AlignedVec;
use std::collections::{BTreeSet, VecDeque};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How many bytes of others' payload may wait here on their way down a tree before no more is taken. Payload
/// goes down to nodes of higher numbers only, so the highest always takes and no circle of nodes waits for
/// itself.
const RELAY_LIMIT_BYTES: usize = 16 << 20;

/// How many bytes of records of the road are kept of each node for who does not poll.
const UNPOLLED_LIMIT_BYTES: usize = 1 << 20;

/// What a record counts beside its bytes.
const RECORD_COST_BYTES: usize = 64;

/// With so many other nodes every round looks at each link; with more it asks which of them have something.
const LOOKED_AT_LINKS: usize = 4;

/// How often a round that looks at each link asks for everything else: connections that begin.
const ASKS_EVERY: Duration = Duration::from_micros(500);

/// How many frames a round sends over one link, if as many wait; and how often it fills its ring.
const FRAMES_A_ROUND: usize = 4;

/// A node's port to a network over TCP.
#[derive(Debug)]
pub struct TcpFabric<M: GlobalMemory = SparseMemory> {
    pub(super) node: NodeId,
    pub(super) options: TcpOptions,
    pub(super) tree: TreeNode<M>,
    pub(super) links: Vec<Link>,
    pub(super) backlog: Backlog,
    /// Connections of ends that are no members, or were not wanted.
    pub(super) refused_connections: u64,
    /// Other processes may drive the links, too: records of the road that nobody polls stay in them.
    pub(super) is_shared: bool,
    /// All links end: each closes as soon as nothing waits for it.
    pub(super) is_leaving: bool,
    /// Records of the road that were not polled.
    pub(super) inbox: VecDeque<(NodeId, Vec<u8>)>,
    pub(super) poller: Poller,
    pub(super) listener: TcpListener,
    /// The time of this round, or of the call that is being made.
    now: Instant,
    roster: Vec<Member>,
    names: MemberNames,
    configs: Configs,
    pub(super) memory: LinkMemory,
    /// Connections whose other end has not proved who it is.
    guests: Vec<Option<Guest>>,
    /// Connections that are over, but whose other end is to hear why.
    lingering: Vec<Lingering>,
    /// When somebody's time is up, or a link wants to be looked at.
    look_at: Instant,
    ask_at: Instant,
    /// Links that have something to say.
    marked: Vec<NodeId>,
    /// The dead whose links have been closed.
    buried: NodeSet,
    is_cut_off: bool,
    /// Nodes to whom receipts wait. They go with the next message, or else when they are due.
    owed: BTreeSet<NodeId>,
    /// Where heads are encoded, and where records are shown.
    room: AlignedVec,
    shown: Vec<u8>,
}

/// What a `TcpFabric` is made of.
pub(super) struct Parts<M> {
    pub options: TcpOptions,
    pub tree: TreeNode<M>,
    pub listener: TcpListener,
    pub poller: Poller,
    pub configs: Configs,
    pub memory: LinkMemory,
    pub roster: Vec<Member>,
    pub names: MemberNames,
}

/// Where records of the road go that come now.
pub(super) enum Records<'a> {
    /// They are kept until somebody polls.
    Kept,
    /// Somebody polls; how many there were.
    Polled(&'a mut dyn FnMut(NodeId, &[u8]), usize),
}

/// Why the other end of a link is not to be talked to any more.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeerFault {
    #[error(transparent)]
    Link(#[from] LinkFault),
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

/// The clock. Nothing else here reads it.
#[allow(clippy::disallowed_methods)]
pub(super) fn now() -> Instant {
    let now = Instant::now();
    #[cfg(test)]
    let now = now + AHEAD.get();
    now
}

#[cfg(test)]
thread_local! {
    /// By how much a test has put its clock forward, so that timeouts need not be waited for.
    pub(super) static AHEAD: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

impl<M: GlobalMemory> TcpFabric<M> {
    pub(super) fn new(parts: Parts<M>) -> Self {
        let Parts { options, tree, listener, poller, configs, memory, roster, names } = parts;
        let now = now();
        Self {
            node: tree.node(),
            options,
            tree,
            links: roster.iter().map(|_| Link::new(roster.len())).collect(),
            backlog: Backlog::default(),
            refused_connections: 0,
            is_shared: false,
            is_leaving: false,
            inbox: VecDeque::new(),
            poller,
            listener,
            now,
            roster,
            names,
            configs,
            memory,
            guests: Vec::new(),
            lingering: Vec::new(),
            look_at: now,
            ask_at: now,
            marked: Vec::new(),
            buried: NodeSet::new(),
            is_cut_off: false,
            owed: BTreeSet::new(),
            room: AlignedVec::new(),
            shown: Vec::new(),
        }
    }

    /// When [`bcs_fabric::Fabric::progress`] should be called at the latest, whether or not anything
    /// arrives.
    pub fn next_timeout(&self) -> Option<Instant> {
        let owed = self.owed.iter().filter_map(|node| self.links[node.index()].outbox.due).min();
        Some(owed.map_or(self.look_at, |owed| owed.min(self.look_at)))
    }

    /// How many frames have come over the link to a node since it came up, signs of life included: a node
    /// that is driven sends at least one in each [`TcpOptions::keep_alive`], whatever it has to say.
    pub fn frames_from(&self, node: NodeId) -> u64 {
        let wire = self.links.get(node.index()).and_then(|link| link.wire.as_ref());
        wire.map_or(0, |wire| wire.owned.end.frames_received())
    }

    /// The next round asks which sockets are ready.
    pub(super) fn ask_at_once(&mut self) {
        self.ask_at = self.now;
    }

    /// Overwrites the secrets of all links.
    pub(super) fn wipe(&mut self) {
        for index in 0..self.links.len() {
            self.memory.attach(index).end.wipe();
        }
    }

    /// A round. True when something has moved.
    pub(super) fn drive(&mut self, records: &mut Records<'_>) -> Result<bool, FabricError> {
        self.now = now();
        let mut moved = !self.marked.is_empty();
        self.pay();
        self.take_in();
        moved |= self.speak_all();
        moved |= self.hear_all(records)?;
        self.take_in();
        moved |= self.speak_all();
        if self.now >= self.look_at {
            self.look();
            self.take_in();
            moved |= self.speak_all();
        }
        Ok(moved)
    }

    /// Receipts that no other message has taken along in time go by themselves.
    fn pay(&mut self) {
        if self.owed.is_empty() {
            return;
        }
        let mut owed = std::mem::take(&mut self.owed);
        owed.retain(|node| {
            let link = &mut self.links[node.index()];
            match link.outbox.due {
                Some(due) if due > self.now => return true,
                Some(_) if !link.outbox.is_clear() => link.outbox.is_urgent = true,
                _ => {}
            }
            link.outbox.due = None;
            self.mark(*node);
            false
        });
        self.owed = owed;
    }

    /// The link to a node has something to say.
    pub(super) fn mark(&mut self, node: NodeId) {
        if !std::mem::replace(&mut self.links[node.index()].is_marked, true) {
            self.marked.push(node);
        }
    }

    /// Looks for what has come: at each link, or at those that have something.
    fn hear_all(&mut self, records: &mut Records<'_>) -> Result<bool, FabricError> {
        let looks_at_each = self.links.len() <= LOOKED_AT_LINKS + 1;
        let mut moved = false;
        if !looks_at_each || self.now >= self.ask_at {
            self.ask_at = self.now + ASKS_EVERY;
            let mut ready = Vec::new();
            let waited = self.poller.wait(Some(Duration::ZERO), &mut ready);
            waited.map_err(|error| self.network_error(&error))?;
            for token in ready {
                moved = true;
                match token {
                    Token::Listener => self.accept()?,
                    Token::Guest(index) => self.advance_guest(index as usize),
                    Token::Link(node) => {
                        self.advance_dial(node);
                        self.mark(node);
                        if !looks_at_each {
                            self.hear(node, records);
                        }
                    }
                }
            }
        }
        for node in (0..self.links.len() as u32).map(NodeId) {
            let Some(wire) = self.links[node.index()].wire.as_deref() else { continue };
            let is_full = looks_at_each && wire.watches_writes;
            let is_heard = looks_at_each || wire.owned.end.has_records();
            if is_full || self.is_shared && wire.owned.end.has_to_send() {
                self.mark(node);
            }
            if is_heard {
                moved |= self.hear(node, records);
            }
        }
        Ok(moved)
    }

    /// Hears what has come over a link. True when something has.
    fn hear(&mut self, node: NodeId, records: &mut Records<'_>) -> bool {
        let Some(mut wire) = self.links[node.index()].wire.take() else { return false };
        let received = wire.owned.end.drive_receiving(wire.stream.as_fd());
        let is_up = self.greet(node, &wire);
        // What came before the end is heard.
        let taken = if is_up { self.take(node, &mut wire, records) } else { Ok(false) };
        let has_records = wire.owned.end.has_records();
        let closed = wire.owned.end.closed_by_peer();
        if self.links[node.index()].is_over() {
            // What came has made it known that the node is dead, or this one.
            let is_cut_off = self.tree.is_cut_off();
            self.linger(*wire, if is_cut_off { CloseCode::Resigned } else { CloseCode::DeclaredDead });
            return true;
        }
        self.links[node.index()].wire = Some(wire);
        // Credit may have come: what waits for it goes on.
        if matches!(received, Ok(true)) {
            self.mark(node);
        }
        match (received, taken, closed) {
            (_, Err(fault), _) => self.reject(node, &fault),
            (_, _, Some(code)) if !has_records => self.handle_close(node, code),
            (Err(fault), ..) => self.handle_fault(node, fault),
            (Ok(received), Ok(taken), _) => return received || taken,
        }
        true
    }

    /// Takes the records that have come over a link. True when there were any.
    fn take(&mut self, node: NodeId, wire: &mut Wire, records: &mut Records<'_>) -> Result<bool, PeerFault> {
        let (mut moved, mut shown) = (false, std::mem::take(&mut self.shown));
        let end = &wire.owned.end;
        let result = loop {
            let link = &mut self.links[node.index()];
            let is_full = matches!(records, Records::Kept) && link.unpolled >= UNPOLLED_LIMIT_BYTES;
            if is_full || self.backlog.relayed >= RELAY_LIMIT_BYTES || !link.is_up() {
                break Ok(moved);
            }
            let Some(mut taker) = end.taker() else { break Ok(moved) };
            // Ranks may take what is of the road, and in its order: nothing of it may lie elsewhere
            // meanwhile. To look at a record and to take it is one act: what has come in part may be whole a
            // moment later.
            let stays = self.is_shared && !self.is_leaving && matches!(records, Records::Kept);
            let next = taker.take_if(|record| {
                if stays && super::message::is_of_road(&record) {
                    return None;
                }
                let arrival = wire.assembly.take(&record);
                if let Ok(Arrival::Road) = arrival {
                    shown.clear();
                    record.append_to(super::message::HEADER_BYTES, &mut shown);
                }
                Some(arrival)
            });
            drop(taker);
            let arrival = match next {
                Ok(Some(Ok(arrival))) => arrival,
                Ok(None) => break Ok(moved),
                Ok(Some(Err(fault))) => break Err(fault.into()),
                Err(fault) => break Err(fault.into()),
            };
            moved = true;
            match arrival {
                Arrival::Part => {}
                Arrival::Road => {
                    link.statistics.records_received += 1;
                    match records {
                        Records::Kept => {
                            link.unpolled += shown.len() + RECORD_COST_BYTES;
                            self.inbox.push_back((node, shown.clone()));
                        }
                        Records::Polled(handle, count) => {
                            handle(node, &shown);
                            *count += 1;
                        }
                    }
                }
                Arrival::Message(message) => {
                    link.statistics.received += 1;
                    if let Err(fault) = self.tree.handle_message(node, message) {
                        break Err(fault.into());
                    }
                    // What is to be passed on counts before more is taken.
                    self.take_in();
                }
            }
        };
        self.shown = shown;
        result
    }

    /// Takes what the protocol has to say after a call into the links, where the next round finds it.
    pub(super) fn collect(&mut self) {
        self.now = now();
        self.take_in();
    }

    /// Takes what the protocol has to say into the links, and dials those that were not needed before.
    pub(super) fn take_in(&mut self) {
        loop {
            while let Some((to, lane, message)) = self.tree.poll_prompt() {
                let link = &mut self.links[to.index()];
                match link.state {
                    LinkState::Broken(_) => {}
                    LinkState::Departed => {
                        if !is_answer(&message) {
                            self.break_link(to, "it has left, but was still needed".into());
                        }
                    }
                    LinkState::Idle => {
                        link.push(self.node, lane, message, &mut self.backlog);
                        self.dial(to, self.now + self.options.connect_timeout);
                    }
                    LinkState::Dialling(..)
                    | LinkState::Greeting(_)
                    | LinkState::Awaiting(_)
                    | LinkState::Up => {
                        link.push(self.node, lane, message, &mut self.backlog);
                        self.mark(to);
                    }
                }
            }
            while let Some(Receipt { to, message, awaited }) = self.tree.poll_receipt() {
                let link = &mut self.links[to.index()];
                if link.is_up() {
                    let due = self.now + if awaited { Duration::ZERO } else { self.options.receipt_patience };
                    link.push_patient(self.node, message, &mut self.backlog, due);
                    self.owed.insert(to);
                } else if !link.is_over() {
                    link.push(self.node, Lane::Control, message, &mut self.backlog);
                }
            }
            if *self.tree.dead() == self.buried && self.tree.is_cut_off() == self.is_cut_off {
                return;
            }
            self.bury();
        }
    }

    /// Speaks over all links that have something to say. True when something has moved.
    fn speak_all(&mut self) -> bool {
        let mut moved = false;
        for node in std::mem::take(&mut self.marked) {
            self.links[node.index()].is_marked = false;
            moved |= self.speak(node);
        }
        moved
    }

    /// Puts what waits for a link into its ring, and sends of that what the socket takes. True when something
    /// has moved; then there may be more for the next round.
    pub(super) fn speak(&mut self, node: NodeId) -> bool {
        let link = &mut self.links[node.index()];
        let Some(mut wire) = link.wire.take() else { return false };
        let (mut moved, mut fault) = (false, None);
        for _ in 0..FRAMES_A_ROUND {
            if link.is_up() {
                let (end, leaves) = (&wire.owned.end, self.is_leaving);
                match link.outbox.fill(self.node, end, &mut self.backlog, &mut self.room, leaves) {
                    Ok(filled) => moved |= filled,
                    Err(fault_of_peer) => fault = Some(fault_of_peer),
                }
            }
            // A link that has ended shows it again when it is heard, and what came before is heard first.
            match wire.owned.end.drive_sending(wire.stream.as_fd()) {
                Ok(true) => moved = true,
                Ok(false) | Err(_) => break,
            }
        }
        if self.is_leaving && link.is_up() && link.outbox.is_clear() {
            wire.owned.end.close(CloseCode::Orderly as u8, CloseWhen::Sent);
            moved |= wire.owned.end.drive_sending(wire.stream.as_fd()).unwrap_or(false);
        }
        let wants_write = wire.owned.end.has_to_send();
        if wants_write != wire.watches_writes
            && self.poller.modify(&wire.stream, Token::Link(node), wants_write).is_ok()
        {
            wire.watches_writes = wants_write;
        }
        let has_more = moved && (wants_write || (link.outbox.is_urgent && !link.outbox.is_clear()));
        link.wire = Some(wire);
        if has_more {
            self.mark(node);
        }
        match fault {
            None | Some(OutboxError::Link(_)) => {}
            Some(fault) => self.reject(node, &fault.into()),
        }
        moved
    }
}

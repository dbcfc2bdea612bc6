//! The driver: moves bytes between rings by remote writes, and messages between rings and the tree protocol.
//!
//! It has no thread: whoever polls the fabric drives it, and between polls nothing moves but what a network
//! card moves by itself. A round speaks (what the protocol has to say goes into rings, and rings are written
//! to the other ends), takes completions, hears (signals, then the records that they are for), and speaks
//! again. Receipts of puts that nobody waits for wait for a message with which they can travel. Links come up
//! and end in `lifecycle`.

mod lifecycle;

use super::link::{Link, LinkState, Wire, WireFault};
use super::operation::Operation;
use super::options::OfiOptions;
use super::poller::Poller;
use bcs_core::global_memory::{GlobalMemory, SparseMemory};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_fabric::tree::{Backlog, Lane, ProtocolError, Receipt, TreeNode, is_answer};
use bcs_fabric::{Carried, Driven, FabricError};
use bcs_libfabric::{Completion, Endpoint};
use bcs_link::{LinkFault, LinkLayout};
use bcs_tcp::TcpFabric;
use bcs_tcp::memory::LinkMemory;
use bcs_tcp::message::{self, Arrival, MessageError};
use bcs_tcp::outbox::OutboxError;
use rkyv::util::AlignedVec;
use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// How many bytes of others' payload may wait here on their way down a tree before no more is taken. Payload
/// goes down to nodes of higher numbers only, so the highest always takes and no circle of nodes waits for
/// itself.
const RELAY_LIMIT_BYTES: usize = 16 << 20;

/// How many bytes of records of the road are kept of each node for who does not poll.
const UNPOLLED_LIMIT_BYTES: usize = 1 << 20;

/// What a record counts beside its bytes.
const RECORD_COST_BYTES: usize = 64;

/// How often rounds ask the links over which nodes prove who they are: their sockets cost system calls.
const ASKS_EVERY: Duration = Duration::from_millis(1);

/// How often a round looks at what has a time.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// A sleeper whom no remote write wakes looks after so long: while something has moved lately, and else.
const NAP: Duration = Duration::from_micros(50);
const LONG_NAP: Duration = Duration::from_millis(1);

/// How long ago "lately" is.
const LATELY: Duration = Duration::from_millis(10);

/// A node's port to a network over libfabric.
#[derive(Debug)]
pub struct OfiFabric<M: GlobalMemory = SparseMemory> {
    pub(super) node: NodeId,
    pub(super) options: OfiOptions,
    pub(super) tree: TreeNode<M>,
    /// They end before the endpoint, and that before the memory.
    pub(super) links: Vec<Link>,
    pub(super) endpoint: Endpoint<Operation>,
    pub(super) memory: LinkMemory,
    /// The links over which nodes prove who they are, greet each other, and find out who is dead.
    pub(super) proven: TcpFabric<SparseMemory>,
    pub(super) backlog: Backlog,
    /// Records of the road that were not polled.
    pub(super) inbox: VecDeque<(NodeId, Vec<u8>)>,
    pub(super) is_leaving: bool,
    /// Other processes use the links, too: records of the road stay there until somebody polls.
    pub(super) is_shared: bool,
    pub(super) poller: Poller,
    /// What users should know, and does not keep the network from working.
    pub(super) remark: Option<String>,
    has_remarked: bool,
    /// The time of this round, or of the call that is being made.
    now: Instant,
    look_at: Instant,
    ask_at: Instant,
    moved_at: Instant,
    /// The dead whose links have been closed, of this network and of the links below.
    buried: NodeSet,
    known_dead: NodeSet,
    is_cut_off: bool,
    /// Nodes to whom receipts wait. They go with the next message, or else when they are due.
    owed: BTreeSet<NodeId>,
    /// Where heads are encoded, where records are shown, and completions that were just taken.
    room: AlignedVec,
    shown: Vec<u8>,
    completions: Vec<Completion<Operation>>,
}

/// What an `OfiFabric` is made of.
pub(super) struct Parts<M: GlobalMemory> {
    pub options: OfiOptions,
    pub tree: TreeNode<M>,
    pub endpoint: Endpoint<Operation>,
    pub memory: LinkMemory,
    pub proven: TcpFabric<SparseMemory>,
    pub poller: Poller,
    pub nodes: usize,
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
    Wire(#[from] WireFault),
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

impl<M: GlobalMemory> OfiFabric<M> {
    pub(super) fn new(parts: Parts<M>) -> Self {
        let Parts { options, tree, endpoint, memory, proven, poller, nodes } = parts;
        let now = now();
        Self {
            node: tree.node(),
            options,
            tree,
            links: (0..nodes).map(|_| Link::new(nodes)).collect(),
            endpoint,
            memory,
            proven,
            backlog: Backlog::default(),
            inbox: VecDeque::new(),
            is_leaving: false,
            is_shared: false,
            poller,
            remark: None,
            has_remarked: false,
            now,
            look_at: now,
            ask_at: now,
            moved_at: now,
            buried: NodeSet::new(),
            known_dead: NodeSet::new(),
            is_cut_off: false,
            owed: BTreeSet::new(),
            room: AlignedVec::new(),
            shown: Vec::new(),
            completions: Vec::new(),
        }
    }

    /// When [`bcs_fabric::Fabric::progress`] should be called at the latest, whether or not anything arrives.
    pub fn next_timeout(&self) -> Option<Instant> {
        let now = now();
        let owed = self.owed.iter().filter_map(|node| self.links[node.index()].outbox.due).min();
        let below = self.proven.timeout().map(|below| now + below);
        let due = [owed, below, self.nap(now).map(|nap| now + nap)].into_iter().flatten().min();
        let has_links = self.links.iter().any(|link| !link.is_over() && link.state != LinkState::Idle);
        let look = has_links.then_some(self.look_at);
        [due, look].into_iter().flatten().min()
    }

    /// How long a sleeper may sleep whom nothing may wake; none when the descriptor tells everything.
    fn nap(&self, now: Instant) -> Option<Duration> {
        if !self.links.iter().any(|link| link.wire.is_some()) {
            return None;
        }
        if self.endpoint.promises().wakes && self.endpoint.descriptor().is_some() {
            if !self.endpoint.may_sleep() {
                return Some(Duration::ZERO);
            }
            // What the provider did not take is tried again.
            let is_held_up = |wire: &Wire| wire.has_work() && !wire.is_under_way();
            let mut wires = self.links.iter().filter_map(|link| link.wire.as_deref());
            return wires.any(is_held_up).then_some(LONG_NAP);
        }
        let is_lively = now.saturating_duration_since(self.moved_at) < LATELY;
        Some(if is_lively { NAP } else { LONG_NAP })
    }

    /// The layout of links.
    pub(super) fn layout(&self) -> LinkLayout {
        self.memory.layout()
    }

    /// A link is needed, outside of a round.
    pub(super) fn greet_now(&mut self, node: NodeId) {
        self.now = now();
        self.greet(node);
    }

    /// The next round asks the links below.
    pub(super) fn ask_at_once(&mut self) {
        self.ask_at = self.now;
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> + use<M> {
        (0..self.links.len() as u32).map(NodeId)
    }

    /// A round. True when something has moved.
    pub(super) fn drive(&mut self, records: &mut Records<'_>) -> Result<bool, FabricError> {
        self.now = now();
        self.pay();
        let mut moved = false;
        if self.now >= self.ask_at {
            moved |= self.ask()?;
        }
        self.take_in();
        moved |= self.speak_all();
        moved |= self.complete()?;
        for node in self.nodes() {
            moved |= self.hear(node, records);
        }
        self.take_in();
        moved |= self.speak_all();
        if self.now >= self.look_at {
            self.look_at = self.now + LOOKS_EVERY;
            self.look();
            self.take_in();
        }
        if moved {
            self.moved_at = self.now;
        }
        Ok(moved)
    }

    /// A round that moves bytes alone: of all that has come, nothing is taken.
    pub(super) fn drive_bytes(&mut self) -> Result<Carried, FabricError> {
        self.now = now();
        let (mut moved, mut has_come) = (self.speak_all(), false);
        moved |= self.complete()?;
        for node in self.nodes() {
            let link = &mut self.links[node.index()];
            let (Some(window), Some(wire)) = (&link.window, &mut link.wire) else { continue };
            let before = wire.owned.end.received_to();
            match wire.look(window) {
                Ok(looked) => moved |= looked,
                Err(fault) => {
                    self.reject(node, &fault.into());
                    continue;
                }
            }
            has_come |= wire.owned.end.received_to() != before;
        }
        if moved {
            self.moved_at = self.now;
        }
        Ok(Carried { moved, has_come })
    }

    /// Receipts that no other message has taken along in time go by themselves.
    fn pay(&mut self) {
        if self.owed.is_empty() {
            return;
        }
        let mut owed = std::mem::take(&mut self.owed);
        owed.retain(|node| {
            let outbox = &mut self.links[node.index()].outbox;
            match outbox.due {
                Some(due) if due > self.now => return true,
                Some(_) if !outbox.is_clear() => outbox.is_urgent = true,
                _ => {}
            }
            outbox.due = None;
            false
        });
        self.owed = owed;
    }

    /// Takes completions of writes. True when there were any.
    fn complete(&mut self) -> Result<bool, FabricError> {
        let mut completions = std::mem::take(&mut self.completions);
        let polled = self.endpoint.poll(|completion| completions.push(completion));
        let moved = !completions.is_empty();
        for completion in completions.drain(..) {
            match completion {
                Completion::Done(operation) => {
                    let wire = self.links[operation.to.index()].wire.as_mut();
                    let result = wire.map_or(Ok(()), |wire| wire.handle_complete(operation.purpose));
                    if let Err(fault) = result {
                        self.reject(operation.to, &fault.into());
                    }
                }
                Completion::Failed(operation, reason) => {
                    let link = &mut self.links[operation.to.index()];
                    if !link.is_over() && link.failure.is_none() {
                        // The other end may have left in order, which the links below say.
                        link.failure = Some((reason, self.now));
                        self.ask_at = self.now;
                    }
                }
            }
        }
        self.completions = completions;
        match polled {
            Ok(_) => Ok(moved),
            Err(error) => Err(FabricError::Network { node: self.node, reason: error.to_string() }),
        }
    }

    /// Hears what has come over a link. True when something has.
    fn hear(&mut self, node: NodeId, records: &mut Records<'_>) -> bool {
        let link = &mut self.links[node.index()];
        let (Some(window), Some(mut wire)) = (&link.window, link.wire.take()) else { return false };
        let looked = wire.look(window);
        let taken = self.take(node, &mut wire, records);
        let link = &mut self.links[node.index()];
        if link.is_over() {
            // What came has made it known that the node is dead, or this one.
            wire.owned.end.wipe();
            return true;
        }
        let position = wire.owned.end.taken_to();
        link.wire = Some(wire);
        match (looked, taken) {
            (_, Err(fault)) => self.reject(node, &fault),
            (Err(fault), _) => self.reject(node, &fault.into()),
            (Ok(looked), Ok(taken)) => {
                if self.links[node.index()].farewell.is_some_and(|farewell| position >= farewell) {
                    self.depart(node);
                }
                return looked || taken;
            }
        }
        true
    }

    /// Takes the records that have come over a link. True when there were any.
    fn take(&mut self, node: NodeId, wire: &mut Wire, records: &mut Records<'_>) -> Result<bool, PeerFault> {
        if !wire.owned.end.has_records() {
            return Ok(false);
        }
        let (mut moved, mut shown) = (false, std::mem::take(&mut self.shown));
        let end = &wire.owned.end;
        let result = loop {
            let link = &mut self.links[node.index()];
            let is_full = matches!(records, Records::Kept) && link.unpolled >= UNPOLLED_LIMIT_BYTES;
            if is_full || self.backlog.relayed >= RELAY_LIMIT_BYTES || !link.is_up() {
                break Ok(moved);
            }
            let Some(mut taker) = end.taker() else { break Ok(moved) };
            // As over TCP: what others may take stays where it is until somebody polls.
            let stays = self.is_shared && !self.is_leaving && matches!(records, Records::Kept);
            let next = taker.take_if(|record| {
                if stays && message::is_of_road(&record) {
                    return None;
                }
                let arrival = wire.assembly.take(&record);
                if let Ok(Arrival::Road) = arrival {
                    shown.clear();
                    record.append_to(message::HEADER_BYTES, &mut shown);
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

    /// Takes what the protocol has to say into the links, and greets those that were not needed before.
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
                    LinkState::Idle | LinkState::Greeting | LinkState::Up => {
                        link.statistics.sent += 1;
                        link.outbox.push(self.node, lane, message, &mut self.backlog);
                        self.greet(to);
                    }
                }
            }
            while let Some(Receipt { to, message, awaited }) = self.tree.poll_receipt() {
                let link = &mut self.links[to.index()];
                if link.is_over() {
                    continue;
                }
                link.statistics.sent += 1;
                if link.is_up() {
                    let patience = if awaited { Duration::ZERO } else { self.options.links.receipt_patience };
                    link.outbox.push_patient(self.node, message, &mut self.backlog, self.now + patience);
                    self.owed.insert(to);
                } else {
                    link.outbox.push(self.node, Lane::Control, message, &mut self.backlog);
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
        for node in self.nodes() {
            moved |= self.speak(node);
        }
        moved
    }

    /// Puts what waits for a link into its ring, and has the ring written to the other end. True when
    /// something has moved.
    fn speak(&mut self, node: NodeId) -> bool {
        let link = &mut self.links[node.index()];
        let (Some(wire), Some(window)) = (&mut link.wire, &link.window) else { return false };
        if link.failure.is_some() {
            return false;
        }
        let (end, leaves) = (&wire.owned.end, self.is_leaving);
        let filled = link.outbox.fill(self.node, end, &mut self.backlog, &mut self.room, leaves);
        let posted = wire.post(window, &mut self.endpoint);
        match (filled, posted) {
            (Err(fault), _) => self.reject(node, &fault.into()),
            (_, Err(fault)) => self.reject(node, &fault.into()),
            (Ok(_), Ok(posted)) => {
                link.statistics.writes += posted;
                return posted > 0;
            }
        }
        true
    }
}

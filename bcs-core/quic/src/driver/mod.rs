//! The driver: moves datagrams between the socket and QUIC, and messages between QUIC and the tree protocol.
//!
//! It has no thread: whoever polls the fabric drives it, and between polls nothing moves. A round hears first
//! (all that has arrived, connection by connection, so that the protocol knows as much as it can) and then
//! speaks (what the protocol has to say, acknowledgements along with it, in as few datagrams as possible).
//! Receipts of puts that were for this node alone wait for the next round, because whoever polls may have an
//! answer to send that takes them along; and those that nobody waits for wait longer. Invariants: what a
//! stranger sends costs a bounded amount of memory and never reaches the protocol; a peer that breaks the
//! protocol loses its connection, and nobody else loses anything. Who is let in, and how links end, is told
//! in `lifecycle`, and what silence means in `silence`.

mod lifecycle;
mod silence;

use super::connection::{CloseCode, Connection, PeerFault, Stage};
use super::link::{Link, LinkState};
use super::options::QuicOptions;
use super::socket::{Datagram, Socket};
use super::tls;
use super::transport::Transports;
use bcs_core::global_memory::{GlobalMemory, SparseMemory};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_fabric::tree::{Backlog, Lane, Receipt, TreeNode, is_answer};
use bcs_fabric::{FabricError, Member, MemberNames, Silence};
use quinn_proto::{
    ConnectionError, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Event, StreamEvent,
};
use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many connections may be under way whose other end has not proved who it is; more are ignored. It
/// bounds what strangers can make a node keep and compute.
const UNPROVED_LIMIT: usize = 256;

/// From this number on, every end must first show that it can be reached at its address; before, only
/// addresses that are not in the roster must.
const UNPROVED_UNVALIDATED_LIMIT: usize = 32;

/// How many bytes of others' payload may wait here on their way down a tree before no more is read. Payload
/// goes down to nodes of higher numbers only, so the highest always reads and no circle of nodes waits for
/// itself.
const RELAY_LIMIT_BYTES: usize = 16 << 20;

/// The largest batch of datagrams that one call can send, in bytes: that of a datagram.
const SEND_BATCH_BYTES: usize = 65_507;

/// How many receiving calls one round makes, so that a node in a flood of datagrams still speaks.
const RECEIVE_CALLS: usize = 16;

/// How long a node may take from its first datagram until its link is up.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// A node's port to a network over QUIC.
#[derive(Debug)]
pub struct QuicFabric<M: GlobalMemory = SparseMemory> {
    pub(super) node: NodeId,
    pub(super) options: QuicOptions,
    pub(super) tree: TreeNode<M>,
    pub(super) socket: Socket,
    pub(super) links: Vec<Link>,
    pub(super) backlog: Backlog,
    /// Connections of ends that are no members, or were not wanted.
    pub(super) refused_connections: u64,
    /// All links end: this end's streams are finished as soon as they are empty.
    pub(super) is_leaving: bool,
    /// The time of this round, or of the call that is being made.
    now: Instant,
    roster: Vec<Member>,
    names: MemberNames,
    addresses: HashSet<IpAddr>,
    endpoint: Endpoint,
    configs: tls::Configs,
    transports: Transports,
    /// By handle. Each is taken out while it is dealt with, which must not copy some kilobytes.
    connections: Vec<Option<Box<Connection>>>,
    /// When connections want to be driven.
    timers: BTreeSet<(Instant, usize)>,
    /// Until when links must be up; and when those that are up are looked at, where hosts are asked.
    link_timers: BTreeSet<(Instant, NodeId)>,
    marked: Vec<usize>,
    /// Connections that have bulk to read, but may not now.
    refused_bulk: BTreeSet<usize>,
    /// Connections that have more to send than the socket takes.
    unsent: BTreeSet<usize>,
    /// How many connections are under way whose other end has not proved who it is.
    pub(super) unproved: usize,
    /// The dead whose links have been closed.
    buried: NodeSet,
    is_cut_off: bool,
    /// What is being sent.
    buffer: Vec<u8>,
    /// What has just arrived.
    arrived: Vec<Datagram>,
    /// Nodes to whom receipts wait. They go with the next message, or else when they are due.
    owed: BTreeSet<NodeId>,
}

/// The clock. Nothing else here reads it.
#[allow(clippy::disallowed_methods)]
pub fn now() -> Instant {
    let now = Instant::now();
    #[cfg(test)]
    let now = now + AHEAD.get();
    now
}

#[cfg(test)]
thread_local! {
    /// By how much a test has put its clock forward, so that timeouts need not be waited for.
    pub static AHEAD: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

impl<M: GlobalMemory> QuicFabric<M> {
    pub(super) fn new(
        options: QuicOptions,
        tree: TreeNode<M>,
        socket: Socket,
        configs: tls::Configs,
        transports: Transports,
        roster: Vec<Member>,
        names: MemberNames,
    ) -> Self {
        let mut config = EndpointConfig::default();
        // It is at least QUIC's least size: the option was checked.
        let _ = config.max_udp_payload_size(options.datagram_bytes);
        let (config, server) = (Arc::new(config), Arc::new(configs.server.clone()));
        Self {
            node: tree.node(),
            options,
            tree,
            endpoint: Endpoint::new(config, Some(server), socket.may_probe_size(), None),
            socket,
            links: roster.iter().map(|_| Link::new(roster.len())).collect(),
            backlog: Backlog::default(),
            refused_connections: 0,
            is_leaving: false,
            now: now(),
            addresses: roster.iter().map(|member| member.address.ip()).collect(),
            roster,
            names,
            configs,
            transports,
            connections: Vec::new(),
            timers: BTreeSet::new(),
            link_timers: BTreeSet::new(),
            marked: Vec::new(),
            refused_bulk: BTreeSet::new(),
            unsent: BTreeSet::new(),
            unproved: 0,
            buried: NodeSet::new(),
            is_cut_off: false,
            buffer: Vec::new(),
            arrived: Vec::new(),
            owed: BTreeSet::new(),
        }
    }

    /// When [`bcs_fabric::Fabric::progress`] should be called at the latest, whether or not anything
    /// arrives.
    pub fn next_timeout(&self) -> Option<Instant> {
        let owed = self.owed.iter().filter_map(|node| self.links[node.index()].due).min();
        let timer = self.timers.first().map(|(at, _)| *at);
        let link = self.link_timers.first().map(|(at, _)| *at);
        timer.into_iter().chain(link).chain(owed).min()
    }

    /// How many datagrams have come over the link to a node since it came up, keep-alives and
    /// acknowledgements included: a node that is driven sends at least one in each
    /// [`QuicOptions::keep_alive`], whatever it has to say.
    pub fn datagrams_from(&self, node: NodeId) -> u64 {
        let Some(LinkState::Up(handle)) = self.links.get(node.index()).map(|link| &link.state) else {
            return 0;
        };
        let connection = self.connections.get(*handle).and_then(Option::as_ref);
        connection.map_or(0, |connection| connection.quic.stats().udp_rx.datagrams)
    }

    /// A round: hears and speaks until there is nothing more. True when something has moved.
    pub(super) fn drive(&mut self) -> Result<bool, FabricError> {
        self.now = now();
        let mut moved = !self.marked.is_empty();
        self.pay();
        self.remark();
        self.take_in();
        self.settle();
        for _ in 0..RECEIVE_CALLS {
            let mut arrived = std::mem::take(&mut self.arrived);
            let is_more = self.socket.receive(|datagram| arrived.push(datagram));
            moved |= !arrived.is_empty();
            for datagram in arrived.drain(..) {
                self.handle_datagram(datagram);
            }
            self.arrived = arrived;
            let is_more = is_more.map_err(|error| self.network_error(&error))?;
            self.settle();
            if !is_more {
                break;
            }
        }
        moved |= self.handle_timers();
        self.settle();
        Ok(moved)
    }

    /// Receipts that no other message has taken along in time go by themselves.
    fn pay(&mut self) {
        let mut owed = std::mem::take(&mut self.owed);
        owed.retain(|node| {
            let link = &mut self.links[node.index()];
            match link.due {
                Some(due) if due > self.now => return true,
                Some(_) if !link.is_clear() => link.is_urgent = true,
                _ => {}
            }
            link.due = None;
            if let LinkState::Up(handle) = link.state {
                self.mark(handle);
            }
            false
        });
        self.owed = owed;
    }

    /// Connections that could not go on for a reason that may be over.
    fn remark(&mut self) {
        if !self.unsent.is_empty() && self.socket.is_clear() {
            std::mem::take(&mut self.unsent).into_iter().for_each(|handle| self.mark(handle));
        }
        if !self.refused_bulk.is_empty() && self.backlog.relayed < RELAY_LIMIT_BYTES {
            std::mem::take(&mut self.refused_bulk).into_iter().for_each(|handle| self.mark(handle));
        }
    }

    fn mark(&mut self, handle: usize) {
        if let Some(connection) = self.connections.get_mut(handle).and_then(Option::as_mut)
            && !std::mem::replace(&mut connection.is_marked, true)
        {
            self.marked.push(handle);
        }
    }

    fn settle(&mut self) {
        while !self.marked.is_empty() {
            let mut round = std::mem::take(&mut self.marked);
            for handle in &round {
                self.hear(*handle);
            }
            self.take_in();
            round.append(&mut self.marked);
            for handle in round {
                self.speak(handle);
            }
            if self.backlog.relayed < RELAY_LIMIT_BYTES {
                self.remark();
            }
        }
    }

    fn handle_datagram(&mut self, datagram: Datagram) {
        let Datagram { from, local_ip, ecn, bytes } = datagram;
        self.buffer.clear();
        match self.endpoint.handle(self.now, from, local_ip, ecn, bytes, &mut self.buffer) {
            None => {}
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(handle), event)) => {
                if let Some(connection) = self.connections.get_mut(handle).and_then(Option::as_mut) {
                    connection.quic.handle_event(event);
                    self.mark(handle);
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.socket.send(transmit, &self.buffer),
            Some(DatagramEvent::NewConnection(incoming)) => self.handle_incoming(incoming),
        }
    }

    fn insert(&mut self, handle: usize, connection: Connection) {
        if self.connections.len() <= handle {
            self.connections.resize_with(handle + 1, || None);
        }
        self.connections[handle] = Some(Box::new(connection));
        self.mark(handle);
    }

    fn handle_timers(&mut self) -> bool {
        let mut moved = false;
        while let Some((at, handle)) = self.timers.first().copied()
            && at <= self.now
        {
            moved = true;
            self.timers.pop_first();
            let Some(mut connection) = self.connections[handle].take() else { continue };
            connection.timer = None;
            connection.quic.handle_timeout(self.now);
            if connection.deadline().is_some_and(|deadline| deadline <= self.now) {
                self.close(handle, &mut connection, CloseCode::Late, "the handshake took too long");
                self.handle_loss(handle, &connection, &ConnectionError::TimedOut);
                self.leave_unproved(&mut connection);
            }
            self.connections[handle] = Some(connection);
            self.mark(handle);
        }
        while let Some((at, node)) = self.link_timers.first().copied()
            && at <= self.now
        {
            moved = true;
            self.link_timers.pop_first();
            match self.links[node.index()].state {
                LinkState::Dialling(_, until) | LinkState::Awaiting(until) if until <= self.now => {
                    self.break_link(
                        node,
                        format!("it could not be reached within {:?}", self.options.connect_timeout),
                    );
                }
                LinkState::Up(handle) => self.watch(node, handle),
                _ => {}
            }
        }
        moved
    }

    /// What has happened on a connection.
    fn hear(&mut self, handle: usize) {
        let Some(mut connection) = self.connections[handle].take() else { return };
        connection.is_marked = false;
        if self.options.silence == Silence::Host {
            connection.note_heard(self.now);
        }
        let mut lost = None;
        loop {
            self.exchange_endpoint_events(handle, &mut connection);
            let Some(event) = connection.quic.poll() else { break };
            match event {
                Event::Connected => self.handle_connected(handle, &mut connection),
                Event::ConnectionLost { reason } => lost = Some(reason),
                Event::Stream(StreamEvent::Opened { .. }) => connection.accept_streams(),
                Event::Stream(StreamEvent::Finished { id }) => connection.count_acknowledged(id),
                Event::Stream(StreamEvent::Stopped { .. }) => {
                    self.reject(handle, &mut connection, &PeerFault::Stopped);
                }
                // Streams are read and written in every round anyway.
                Event::Stream(
                    StreamEvent::Readable { .. }
                    | StreamEvent::Writable { .. }
                    | StreamEvent::Available { .. },
                )
                | Event::HandshakeDataReady
                | Event::DatagramReceived
                | Event::DatagramsUnblocked => {}
            }
        }
        if let Stage::Greeting(_) = connection.stage {
            match connection.read_hello() {
                Ok(None) => {}
                Ok(Some(hello)) => self.handle_hello(handle, &mut connection, hello),
                Err(fault) => self.reject(handle, &mut connection, &fault),
            }
        }
        if let (Stage::Up, Some(peer)) = (connection.stage, connection.peer) {
            let received = &mut self.links[peer.index()].statistics.received;
            let relayed = self.backlog.relayed;
            let read = connection.read(
                |message, is_last| {
                    *received += u64::from(is_last);
                    self.tree.handle_message(peer, message)
                },
                || relayed < RELAY_LIMIT_BYTES,
            );
            match read {
                Ok(true) => {}
                Ok(false) => drop(self.refused_bulk.insert(handle)),
                Err(fault) => self.reject(handle, &mut connection, &fault),
            }
        }
        // What came before the end has been heard.
        if let Some(reason) = lost {
            self.handle_loss(handle, &connection, &reason);
            self.leave_unproved(&mut connection);
            connection.stage = Stage::Over;
        }
        self.connections[handle] = Some(connection);
    }

    fn exchange_endpoint_events(&mut self, handle: usize, connection: &mut Connection) {
        while let Some(event) = connection.quic.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(ConnectionHandle(handle), event) {
                connection.quic.handle_event(event);
            }
        }
    }

    /// Takes what the protocol has to say after a call into the links, where the next round finds it.
    pub(super) fn collect(&mut self) {
        self.now = now();
        self.take_in();
    }

    /// Takes what the protocol has to say into the links, and dials those that were not needed before.
    fn take_in(&mut self) {
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
                    LinkState::Dialling(..) | LinkState::Awaiting(_) => {
                        link.push(self.node, lane, message, &mut self.backlog);
                    }
                    LinkState::Up(handle) => {
                        link.push(self.node, lane, message, &mut self.backlog);
                        self.mark(handle);
                    }
                }
            }
            while let Some(Receipt { to, message, awaited }) = self.tree.poll_receipt() {
                let link = &mut self.links[to.index()];
                if let LinkState::Up(_) = link.state {
                    let due = self.now + if awaited { Duration::ZERO } else { self.options.receipt_patience };
                    link.push_patient(self.node, Lane::Control, message, &mut self.backlog, due);
                    self.owed.insert(to);
                } else if !matches!(link.state, LinkState::Broken(_) | LinkState::Departed) {
                    link.push(self.node, Lane::Control, message, &mut self.backlog);
                }
            }
            if *self.tree.dead() == self.buried && self.tree.is_cut_off() == self.is_cut_off {
                return;
            }
            self.bury();
        }
    }

    /// Writes what waits for a connection, and sends what it has to send.
    fn speak(&mut self, handle: usize) {
        let Some(mut connection) = self.connections[handle].take() else { return };
        connection.is_marked = false;
        if let (Stage::Up, Some(peer)) = (connection.stage, connection.peer) {
            let link = &mut self.links[peer.index()];
            let written = match link.is_urgent || self.is_leaving || connection.has_pending() {
                true => connection.write(self.node, link, &mut self.backlog),
                false => Ok(()),
            };
            link.is_urgent &= !link.is_clear();
            if link.is_clear() {
                link.due = None;
            }
            let written = match written {
                Ok(()) if self.is_leaving && link.is_clear() => connection.finish(),
                written => written,
            };
            if let Err(fault) = written {
                self.reject(handle, &mut connection, &fault);
            }
        }
        let segments = SEND_BATCH_BYTES / usize::from(connection.quic.current_mtu()).max(1);
        let segments = segments.clamp(1, self.socket.segments());
        loop {
            if !self.socket.is_clear() {
                self.unsent.insert(handle);
                break;
            }
            self.buffer.clear();
            let Some(transmit) = connection.quic.poll_transmit(self.now, segments, &mut self.buffer) else {
                break;
            };
            self.socket.send(transmit, &self.buffer);
        }
        self.exchange_endpoint_events(handle, &mut connection);
        let timer = connection.quic.poll_timeout().into_iter().chain(connection.deadline()).min();
        if timer != connection.timer {
            connection.timer.map(|at| self.timers.remove(&(at, handle)));
            timer.map(|at| self.timers.insert((at, handle)));
            connection.timer = timer;
        }
        if connection.quic.is_drained() {
            // QUIC has forgotten it, and may give its handle to another.
            connection.timer.map(|at| self.timers.remove(&(at, handle)));
            self.refused_bulk.remove(&handle);
            self.unsent.remove(&handle);
            return;
        }
        self.connections[handle] = Some(connection);
    }

    /// All connections are to be driven: what they may do has changed.
    pub(super) fn mark_all(&mut self) {
        (0..self.connections.len()).for_each(|handle| self.mark(handle));
    }
}

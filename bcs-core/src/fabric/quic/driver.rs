//! The driver: moves datagrams between the socket and QUIC, and messages between QUIC and the tree protocol.
//!
//! It has no thread: whoever polls the fabric drives it, and between polls nothing moves. A round hears first (all
//! that has arrived, connection by connection, so that the protocol knows as much as it can) and then speaks
//! (what the protocol has to say, acknowledgements along with it, in as few datagrams as possible).
//! Invariants: what a stranger sends costs a bounded amount of memory and never reaches the protocol; a peer that
//! breaks the protocol loses its connection, and nobody else loses anything.

use super::connection::{CloseCode, Connection, Hello, PeerFault, Stage};
use super::link::{Backlog, Link, LinkState, matters_to_departed};
use super::options::{Member, NetworkId};
use super::socket::{Datagram, Socket};
use super::tls;
use crate::fabric::tree::TreeNode;
use crate::global_memory::GlobalMemory;
use crate::ids::NodeId;
use crate::node_set::NodeSet;
use bytes::Bytes;
use quinn_proto::{
    ClientConfig, ConnectionError, ConnectionHandle, DatagramEvent, Endpoint, Event, Incoming, Side,
    StreamEvent, VarInt,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many connections may be under way whose other end has not proved who it is; more are ignored. It bounds what
/// strangers can make a node keep and compute.
const UNPROVED_LIMIT: usize = 256;

/// From this number on, every end must first show that it can be reached at its address; before, only addresses that
/// are not in the roster must.
const UNPROVED_UNVALIDATED_LIMIT: usize = 32;

/// How many bytes of others' payload may wait here on their way down a tree before no more is read. Payload goes down to
/// nodes of higher numbers only, so the highest always reads and no circle of nodes waits for itself.
const RELAY_LIMIT_BYTES: usize = 16 << 20;

/// The largest batch of datagrams that one call can send, in bytes: that of a datagram.
const SEND_BATCH_BYTES: usize = 65_507;

/// How many receiving calls one round makes, so that a node in a flood of datagrams still speaks.
const RECEIVE_CALLS: usize = 16;

/// How long a node may take from its first datagram until its link is up.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Driver {
    pub node: NodeId,
    pub socket: Socket,
    pub links: Vec<Link>,
    pub backlog: Backlog,
    pub connect_timeout: Duration,
    /// Connections of ends that are no members, or were not wanted.
    pub refused_connections: u64,
    /// All links end: this end's streams are finished as soon as they are empty.
    pub is_leaving: bool,
    roster: Arc<[Member]>,
    names: HashMap<String, NodeId>,
    addresses: HashSet<IpAddr>,
    network: NetworkId,
    endpoint: Endpoint,
    client: ClientConfig,
    /// By handle.
    connections: Vec<Option<Connection>>,
    /// When connections want to be driven.
    timers: BTreeSet<(Instant, usize)>,
    /// Until when links must be up.
    link_timers: BTreeSet<(Instant, NodeId)>,
    marked: Vec<usize>,
    /// Connections that have bulk to read, but may not now.
    refused_bulk: BTreeSet<usize>,
    /// Connections that have more to send than the socket takes.
    unsent: BTreeSet<usize>,
    unproved: usize,
    /// The dead whose links have been closed.
    buried: NodeSet,
    is_cut_off: bool,
    /// What is being sent.
    buffer: Vec<u8>,
}

/// The clock. Nothing else here reads it.
#[allow(clippy::disallowed_methods)]
pub fn now() -> Instant {
    Instant::now()
}

impl Driver {
    pub fn new(
        node: NodeId,
        socket: Socket,
        endpoint: Endpoint,
        client: ClientConfig,
        network: NetworkId,
        roster: Arc<[Member]>,
        names: HashMap<String, NodeId>,
        connect_timeout: Duration,
    ) -> Self {
        Self {
            node,
            socket,
            links: roster.iter().map(|_| Link::default()).collect(),
            backlog: Backlog::default(),
            connect_timeout,
            refused_connections: 0,
            is_leaving: false,
            addresses: roster.iter().map(|member| member.address.ip()).collect(),
            roster,
            names,
            network,
            endpoint,
            client,
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
        }
    }

    /// When something is due, whether or not anything arrives.
    pub fn next_timeout(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|(at, _)| *at);
        let link = self.link_timers.first().map(|(at, _)| *at);
        timer.into_iter().chain(link).min()
    }

    /// A round: hears and speaks until there is nothing more. True when something has moved.
    pub fn drive<M: GlobalMemory>(&mut self, tree: &mut TreeNode<M>) -> io::Result<bool> {
        let now = now();
        let mut moved = !self.marked.is_empty();
        self.remark();
        self.collect(tree, now);
        self.settle(tree, now);
        for _ in 0..RECEIVE_CALLS {
            let mut datagrams = Vec::new();
            if !self.socket.receive(|datagram| datagrams.push(datagram))? {
                break;
            }
            moved = true;
            for datagram in datagrams {
                self.handle_datagram(datagram, now);
            }
            self.settle(tree, now);
        }
        moved |= self.handle_timers(tree, now);
        self.settle(tree, now);
        Ok(moved)
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

    fn settle<M: GlobalMemory>(&mut self, tree: &mut TreeNode<M>, now: Instant) {
        while !self.marked.is_empty() {
            let mut round = std::mem::take(&mut self.marked);
            for handle in &round {
                self.hear(*handle, tree, now);
            }
            self.collect(tree, now);
            round.append(&mut self.marked);
            for handle in round {
                self.speak(handle, tree, now);
            }
            if self.backlog.relayed < RELAY_LIMIT_BYTES {
                self.remark();
            }
        }
    }

    fn handle_datagram(&mut self, datagram: Datagram, now: Instant) {
        let Datagram { from, local_ip, ecn, bytes } = datagram;
        self.buffer.clear();
        match self.endpoint.handle(now, from, local_ip, ecn, bytes, &mut self.buffer) {
            None => {}
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(handle), event)) => {
                if let Some(connection) = self.connections.get_mut(handle).and_then(Option::as_mut) {
                    connection.quic.handle_event(event);
                    self.mark(handle);
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.socket.send(transmit, &self.buffer),
            Some(DatagramEvent::NewConnection(incoming)) => self.handle_incoming(incoming, now),
        }
    }

    /// Somebody wants to connect, and has proved nothing.
    fn handle_incoming(&mut self, incoming: Incoming, now: Instant) {
        let is_known = self.addresses.contains(&incoming.remote_address().ip());
        self.buffer.clear();
        if self.unproved >= UNPROVED_LIMIT || self.is_leaving || self.is_cut_off {
            self.endpoint.ignore(incoming);
        } else if !incoming.remote_address_validated()
            && (!is_known || self.unproved >= UNPROVED_UNVALIDATED_LIMIT)
        {
            // An address that has not been validated may be asked to.
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut self.buffer) {
                self.socket.send(transmit, &self.buffer);
            }
        } else {
            match self.endpoint.accept(incoming, now, &mut self.buffer, None) {
                Ok((ConnectionHandle(handle), quic)) => {
                    self.unproved += 1;
                    self.insert(handle, Connection::new(quic, None, now + HANDSHAKE_TIMEOUT));
                }
                Err(error) => {
                    if let Some(transmit) = error.response {
                        self.socket.send(transmit, &self.buffer);
                    }
                }
            }
        }
    }

    fn insert(&mut self, handle: usize, connection: Connection) {
        if self.connections.len() <= handle {
            self.connections.resize_with(handle + 1, || None);
        }
        self.connections[handle] = Some(connection);
        self.mark(handle);
    }

    fn handle_timers<M: GlobalMemory>(&mut self, tree: &mut TreeNode<M>, now: Instant) -> bool {
        let mut moved = false;
        while let Some((at, handle)) = self.timers.first().copied()
            && at <= now
        {
            moved = true;
            self.timers.pop_first();
            let Some(mut connection) = self.connections[handle].take() else { continue };
            connection.timer = None;
            connection.quic.handle_timeout(now);
            if connection.deadline().is_some_and(|deadline| deadline <= now) {
                self.close(handle, &mut connection, CloseCode::Late, "the handshake took too long", now);
                self.handle_loss(handle, &connection, &ConnectionError::TimedOut, tree, now);
                self.leave_unproved(&mut connection);
            }
            self.connections[handle] = Some(connection);
            self.mark(handle);
        }
        while let Some((at, node)) = self.link_timers.first().copied()
            && at <= now
        {
            moved = true;
            self.link_timers.pop_first();
            if let LinkState::Dialling(_, until) | LinkState::Awaiting(until) = self.links[node.index()].state
                && until <= now
            {
                self.break_link(
                    node,
                    format!("it could not be reached within {:?}", self.connect_timeout),
                    tree,
                    now,
                );
            }
        }
        moved
    }

    /// What has happened on a connection.
    fn hear<M: GlobalMemory>(&mut self, handle: usize, tree: &mut TreeNode<M>, now: Instant) {
        let Some(mut connection) = self.connections[handle].take() else { return };
        connection.is_marked = false;
        let mut lost = None;
        loop {
            self.exchange_endpoint_events(handle, &mut connection);
            let Some(event) = connection.quic.poll() else { break };
            match event {
                Event::Connected => self.handle_connected(handle, &mut connection, tree, now),
                Event::ConnectionLost { reason } => lost = Some(reason),
                Event::Stream(StreamEvent::Opened { .. }) => connection.accept_streams(),
                Event::Stream(StreamEvent::Finished { id }) => connection.count_acknowledged(id),
                Event::Stream(StreamEvent::Stopped { .. }) => {
                    self.reject(handle, &mut connection, &PeerFault::Stopped, tree, now);
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
                Ok(Some(hello)) => self.handle_hello(handle, &mut connection, hello, tree, now),
                Err(fault) => self.reject(handle, &mut connection, &fault, tree, now),
            }
        }
        if let (Stage::Up, Some(peer)) = (connection.stage, connection.peer) {
            let received = &mut self.links[peer.index()].statistics.received;
            let relayed = self.backlog.relayed;
            let read = connection.read(
                |message| {
                    *received += 1;
                    tree.handle_message(peer, message)
                },
                || relayed < RELAY_LIMIT_BYTES,
            );
            match read {
                Ok(true) => {}
                Ok(false) => drop(self.refused_bulk.insert(handle)),
                Err(fault) => self.reject(handle, &mut connection, &fault, tree, now),
            }
        }
        // What came before the end has been heard.
        if let Some(reason) = lost {
            self.handle_loss(handle, &connection, &reason, tree, now);
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

    /// Both ends have proved that they have credentials of this network. The end that accepts looks whose.
    fn handle_connected<M: GlobalMemory>(
        &mut self,
        handle: usize,
        connection: &mut Connection,
        tree: &mut TreeNode<M>,
        now: Instant,
    ) {
        let Stage::Shaking(until) = connection.stage else { return };
        if connection.quic.side() == Side::Client {
            connection.stage = Stage::Greeting(until);
            return;
        }
        self.leave_unproved(connection);
        let name = tls::proved_name(connection.quic.crypto_session().peer_identity());
        let node = name.and_then(|name| self.names.get(&name.to_ascii_lowercase()).copied());
        let Some(node) = node.filter(|node| *node != self.node) else {
            self.refused_connections += 1;
            return self.close(handle, connection, CloseCode::Stranger, "not a member of this network", now);
        };
        if tree.dead().contains(node) {
            self.refused_connections += 1;
            return self.close(handle, connection, CloseCode::DeclaredDead, "declared dead", now);
        }
        match self.links[node.index()].state {
            LinkState::Idle | LinkState::Awaiting(_) => {}
            LinkState::Dialling(own, _) if node < self.node => {
                if let Some(mut crossed) = self.connections[own].take() {
                    self.close(own, &mut crossed, CloseCode::Crossed, "both ends dialled", now);
                    self.connections[own] = Some(crossed);
                }
            }
            LinkState::Dialling(..) | LinkState::Up(_) | LinkState::Departed | LinkState::Broken(_) => {
                self.refused_connections += 1;
                return self.close(handle, connection, CloseCode::Crossed, "there is another link", now);
            }
        }
        connection.peer = Some(node);
        connection.open_streams();
        let hello = Hello { network: self.network.0, from: self.node, to: node };
        // A hello of fixed size is never too long.
        let _ = connection.greet(&hello);
        self.raise(handle, connection, node);
    }

    fn raise(&mut self, handle: usize, connection: &mut Connection, node: NodeId) {
        connection.stage = Stage::Up;
        self.links[node.index()].state = LinkState::Up(handle);
        self.link_timers.retain(|(_, other)| *other != node);
    }

    fn handle_hello<M: GlobalMemory>(
        &mut self,
        handle: usize,
        connection: &mut Connection,
        greeted: Hello,
        tree: &mut TreeNode<M>,
        now: Instant,
    ) {
        let Some(node) = connection.peer else { return };
        let expected = Hello { network: self.network.0, from: node, to: self.node };
        if greeted != expected {
            let fault = PeerFault::Greeting { greeted, expected };
            return self.reject(handle, connection, &fault, tree, now);
        }
        connection.open_streams();
        self.raise(handle, connection, node);
    }

    /// The peer does not keep the protocol: its connection is closed, and its node is dead.
    fn reject<M: GlobalMemory>(
        &mut self,
        handle: usize,
        connection: &mut Connection,
        fault: &PeerFault,
        tree: &mut TreeNode<M>,
        now: Instant,
    ) {
        self.close(handle, connection, CloseCode::Protocol, "protocol error", now);
        if let Some(node) = connection.peer
            && self.carries(handle, node)
        {
            self.break_link(node, format!("it does not keep the protocol: {fault}"), tree, now);
        }
    }

    /// Whether a connection is the one of a link.
    fn carries(&self, handle: usize, node: NodeId) -> bool {
        match self.links[node.index()].state {
            LinkState::Dialling(own, _) | LinkState::Up(own) => own == handle,
            _ => false,
        }
    }

    fn leave_unproved(&mut self, connection: &mut Connection) {
        if connection.quic.side() == Side::Server
            && connection.peer.is_none()
            && matches!(connection.stage, Stage::Shaking(_))
        {
            self.unproved -= 1;
            connection.stage = Stage::Over;
        }
    }

    /// A connection is lost. What that means for its link.
    fn handle_loss<M: GlobalMemory>(
        &mut self,
        handle: usize,
        connection: &Connection,
        reason: &ConnectionError,
        tree: &mut TreeNode<M>,
        now: Instant,
    ) {
        let Some(node) = connection.peer.filter(|node| self.carries(handle, *node)) else {
            self.refused_connections += u64::from(connection.peer.is_none());
            return;
        };
        let code = match reason {
            ConnectionError::ApplicationClosed(close) => Some(close.error_code),
            _ => None,
        };
        let was_told = |wanted: CloseCode| code.is_some_and(|code| wanted.is(code));
        let has_no_answer = matches!(reason, ConnectionError::TimedOut | ConnectionError::Reset);
        match self.links[node.index()].state {
            _ if was_told(CloseCode::DeclaredDead) => {
                self.break_link(node, "it holds this node for dead".into(), tree, now);
                self.resign(tree);
            }
            LinkState::Dialling(_, until) if was_told(CloseCode::Crossed) => {
                self.links[node.index()].state = LinkState::Awaiting(until);
            }
            LinkState::Dialling(_, until) if has_no_answer && now < until => {
                self.dial(node, until, tree, now)
            }
            _ if was_told(CloseCode::Orderly) || (connection.is_departing && has_no_answer) => {
                self.depart(node, tree, now);
            }
            _ => self.break_link(node, reason.to_string(), tree, now),
        }
    }

    /// The other end has left in order. If it is still needed, it is dead.
    fn depart<M: GlobalMemory>(&mut self, node: NodeId, tree: &mut TreeNode<M>, now: Instant) {
        let link = &mut self.links[node.index()];
        link.state = LinkState::Departed;
        if link.discard(self.node, &mut self.backlog) || tree.involves(node) {
            self.break_link(node, "it has left, but was still needed".into(), tree, now);
        }
    }

    fn break_link<M: GlobalMemory>(
        &mut self,
        node: NodeId,
        reason: String,
        tree: &mut TreeNode<M>,
        now: Instant,
    ) {
        let link = &mut self.links[node.index()];
        let state = std::mem::replace(&mut link.state, LinkState::Broken(reason));
        link.discard(self.node, &mut self.backlog);
        if let LinkState::Dialling(handle, _) | LinkState::Up(handle) = state
            && let Some(mut connection) = self.connections[handle].take()
        {
            self.close(handle, &mut connection, CloseCode::DeclaredDead, "declared dead", now);
            self.connections[handle] = Some(connection);
            self.mark(handle);
        }
        // The node is a member, or it would have no link.
        let _ = tree.declare_dead(node);
    }

    /// This node takes no further part.
    fn resign<M: GlobalMemory>(&mut self, tree: &mut TreeNode<M>) {
        // A node is a member of its own network.
        let _ = tree.declare_dead(self.node);
    }

    fn close(
        &mut self,
        handle: usize,
        connection: &mut Connection,
        code: CloseCode,
        reason: &'static str,
        now: Instant,
    ) {
        if connection.stage == Stage::Over && connection.quic.is_closed() {
            return;
        }
        self.leave_unproved(connection);
        connection.stage = Stage::Over;
        connection.quic.close(now, VarInt::from_u32(code as u32), Bytes::from_static(reason.as_bytes()));
        if !connection.is_marked {
            connection.is_marked = true;
            self.marked.push(handle);
        }
    }

    /// Takes what the protocol has to say into the links, and dials those that were not needed before.
    pub fn collect<M: GlobalMemory>(&mut self, tree: &mut TreeNode<M>, now: Instant) {
        loop {
            while let Some((to, lane, message)) = tree.poll_transmit() {
                let link = &mut self.links[to.index()];
                match link.state {
                    LinkState::Broken(_) => {}
                    LinkState::Departed => {
                        if matters_to_departed(&message) {
                            self.break_link(to, "it has left, but was still needed".into(), tree, now);
                        }
                    }
                    LinkState::Idle => {
                        link.push(self.node, lane, message, &mut self.backlog);
                        self.dial(to, now + self.connect_timeout, tree, now);
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
            if *tree.dead() == self.buried && tree.is_cut_off() == self.is_cut_off {
                return;
            }
            self.bury(tree, now);
        }
    }

    /// Closes the links of those that have become known to be dead, or all, if this node has.
    fn bury<M: GlobalMemory>(&mut self, tree: &mut TreeNode<M>, now: Instant) {
        for node in tree.dead().difference(&self.buried).iter() {
            if !matches!(self.links[node.index()].state, LinkState::Broken(_)) {
                self.break_link(node, "declared dead".into(), tree, now);
            }
        }
        self.buried = tree.dead().clone();
        if tree.is_cut_off() && !std::mem::replace(&mut self.is_cut_off, true) {
            self.close_all(CloseCode::Resigned, "takes no further part", now);
            for link in &mut self.links {
                link.discard(self.node, &mut self.backlog);
                link.state = LinkState::Broken("this node takes no further part".into());
            }
        }
    }

    pub fn close_all(&mut self, code: CloseCode, reason: &'static str, now: Instant) {
        for handle in 0..self.connections.len() {
            if let Some(mut connection) = self.connections[handle].take() {
                self.close(handle, &mut connection, code, reason, now);
                self.connections[handle] = Some(connection);
            }
        }
    }

    /// Dials a node, if it has not been.
    pub fn dial_idle<M: GlobalMemory>(&mut self, node: NodeId, tree: &mut TreeNode<M>, now: Instant) {
        if self.links[node.index()].state == LinkState::Idle {
            self.dial(node, now + self.connect_timeout, tree, now);
        }
    }

    fn dial<M: GlobalMemory>(&mut self, node: NodeId, until: Instant, tree: &mut TreeNode<M>, now: Instant) {
        let member = &self.roster[node.index()];
        match self.endpoint.connect(now, self.client.clone(), member.address, &member.name) {
            Ok((ConnectionHandle(handle), quic)) => {
                self.links[node.index()].state = LinkState::Dialling(handle, until);
                self.link_timers.insert((until, node));
                self.insert(handle, Connection::new(quic, Some(node), until.min(now + HANDSHAKE_TIMEOUT)));
            }
            Err(error) => self.break_link(node, format!("it cannot be dialled: {error}"), tree, now),
        }
    }

    /// Writes what waits for a connection, and sends what it has to send.
    fn speak<M: GlobalMemory>(&mut self, handle: usize, tree: &mut TreeNode<M>, now: Instant) {
        let Some(mut connection) = self.connections[handle].take() else { return };
        connection.is_marked = false;
        if let (Stage::Up, Some(peer)) = (connection.stage, connection.peer) {
            let link = &mut self.links[peer.index()];
            let written = connection.write(self.node, link, &mut self.backlog);
            let written = match written {
                Ok(()) if self.is_leaving && link.is_clear() => connection.finish(),
                written => written,
            };
            if let Err(fault) = written {
                self.reject(handle, &mut connection, &fault, tree, now);
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
            let Some(transmit) = connection.quic.poll_transmit(now, segments, &mut self.buffer) else {
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

    /// The nodes whose links are up and have not acknowledged everything to its end.
    pub fn unacknowledged(&self) -> NodeSet {
        let links = self.links.iter().zip(0..);
        links
            .filter(|(link, _)| match link.state {
                LinkState::Up(handle) => {
                    self.connections[handle].as_ref().is_some_and(|connection| !connection.is_acknowledged())
                }
                LinkState::Dialling(..) | LinkState::Awaiting(_) => !link.is_clear(),
                LinkState::Idle | LinkState::Departed | LinkState::Broken(_) => false,
            })
            .map(|(_, node)| NodeId(node))
            .collect()
    }

    /// All connections are to be driven: what they may do has changed.
    pub fn mark_all(&mut self) {
        (0..self.connections.len()).for_each(|handle| self.mark(handle));
    }
}

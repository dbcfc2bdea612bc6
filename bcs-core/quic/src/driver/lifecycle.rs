//! Links come up, and end: who is let in, whose dial counts, and what the end of a connection says about its
//! node.
//!
//! Invariants: a connection becomes a link's only when its other end has proved to be the member that the
//! roster names; a link that breaks makes its node dead, once, and one that ends in order does not, unless it
//! was needed.

use super::super::connection::{CloseCode, Connection, Hello, PeerFault, Stage};
use super::super::link::LinkState;
use super::super::tls;
use super::{HANDSHAKE_TIMEOUT, QuicFabric, UNPROVED_LIMIT, UNPROVED_UNVALIDATED_LIMIT, now};
use bcs_core::global_memory::GlobalMemory;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_fabric::{Member, Silence};
use bytes::Bytes;
use quinn_proto::{ConnectionError, ConnectionHandle, Incoming, Side, VarInt};
use std::time::Instant;

impl<M: GlobalMemory> QuicFabric<M> {
    /// Somebody wants to connect, and has proved nothing.
    pub(super) fn handle_incoming(&mut self, incoming: Incoming) {
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
            let transport = match is_known {
                true => self.transports.for_member(incoming.remote_address()),
                false => self.transports.for_stranger(),
            };
            let server = self.configs.server_over(transport);
            match self.endpoint.accept(incoming, self.now, &mut self.buffer, Some(server)) {
                Ok((ConnectionHandle(handle), quic)) => {
                    self.unproved += 1;
                    self.insert(handle, Connection::new(quic, None, self.now, self.now + HANDSHAKE_TIMEOUT));
                }
                Err(error) => {
                    if let Some(transmit) = error.response {
                        self.socket.send(transmit, &self.buffer);
                    }
                }
            }
        }
    }

    /// Both ends have proved that they have credentials of this network. The end that accepts looks whose.
    pub(super) fn handle_connected(&mut self, handle: usize, connection: &mut Connection) {
        let Stage::Shaking(until) = connection.stage else { return };
        if connection.quic.side() == Side::Client {
            connection.stage = Stage::Greeting(until);
            return;
        }
        self.leave_unproved(connection);
        let name = tls::proved_name(connection.quic.crypto_session().peer_identity());
        let node = name.and_then(|name| self.names.find(&name));
        let Some(node) = node.filter(|node| *node != self.node) else {
            self.refused_connections += 1;
            return self.close(handle, connection, CloseCode::Stranger, "not a member of this network");
        };
        if self.tree.dead().contains(node) {
            self.refused_connections += 1;
            return self.close(handle, connection, CloseCode::DeclaredDead, "declared dead");
        }
        match self.links[node.index()].state {
            LinkState::Idle | LinkState::Awaiting(_) => {}
            LinkState::Dialling(own, _) if node < self.node => {
                self.close_at(own, CloseCode::Crossed, "both ends dialled");
            }
            LinkState::Dialling(..) | LinkState::Up(_) | LinkState::Departed | LinkState::Broken(_) => {
                return self.close(handle, connection, CloseCode::Crossed, "there is another link");
            }
        }
        connection.peer = Some(node);
        connection.open_streams();
        let hello = Hello { network: self.options.network.0, from: self.node, to: node };
        // A hello of fixed size is never too long.
        let _ = connection.greet(&hello);
        self.raise(handle, connection, node);
    }

    pub(super) fn raise(&mut self, handle: usize, connection: &mut Connection, node: NodeId) {
        connection.stage = Stage::Up;
        self.links[node.index()].state = LinkState::Up(handle);
        self.link_timers.retain(|(_, other)| *other != node);
        if self.options.silence == Silence::Host {
            connection.note_heard(self.now);
            self.watch_from(node, self.now);
        }
    }

    pub(super) fn handle_hello(&mut self, handle: usize, connection: &mut Connection, greeted: Hello) {
        let Some(node) = connection.peer else { return };
        let expected = Hello { network: self.options.network.0, from: node, to: self.node };
        if greeted != expected {
            let fault = PeerFault::Greeting { greeted, expected };
            return self.reject(handle, connection, &fault);
        }
        connection.open_streams();
        self.raise(handle, connection, node);
    }

    /// The peer does not keep the protocol: its connection is closed, and its node is dead.
    pub(super) fn reject(&mut self, handle: usize, connection: &mut Connection, fault: &PeerFault) {
        self.close(handle, connection, CloseCode::Protocol, "protocol error");
        if let Some(node) = connection.peer
            && self.carries(handle, node)
        {
            self.break_link(node, format!("it does not keep the protocol: {fault}"));
        }
    }

    /// Whether a connection is the one of a link.
    pub(super) fn carries(&self, handle: usize, node: NodeId) -> bool {
        match self.links[node.index()].state {
            LinkState::Dialling(own, _) | LinkState::Up(own) => own == handle,
            _ => false,
        }
    }

    pub(super) fn leave_unproved(&mut self, connection: &mut Connection) {
        if connection.quic.side() == Side::Server
            && connection.peer.is_none()
            && matches!(connection.stage, Stage::Shaking(_))
        {
            self.unproved -= 1;
            connection.stage = Stage::Over;
        }
    }

    /// A connection is lost. What that means for its link.
    pub(super) fn handle_loss(&mut self, handle: usize, connection: &Connection, reason: &ConnectionError) {
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
                self.break_link(node, "it holds this node for dead".into());
                self.resign();
            }
            LinkState::Dialling(_, until) if was_told(CloseCode::Crossed) => {
                self.links[node.index()].state = LinkState::Awaiting(until);
            }
            LinkState::Dialling(_, until) if has_no_answer && self.now < until => self.dial(node, until),
            _ if was_told(CloseCode::Orderly) || (connection.is_departing && has_no_answer) => {
                self.depart(node);
            }
            _ => self.break_link(node, reason.to_string()),
        }
    }

    /// The other end has left in order. If it is still needed, it is dead.
    pub(super) fn depart(&mut self, node: NodeId) {
        let link = &mut self.links[node.index()];
        link.state = LinkState::Departed;
        if link.discard(self.node, &mut self.backlog) || self.tree.involves(node) {
            self.break_link(node, "it has left, but was still needed".into());
        }
    }

    pub(super) fn break_link(&mut self, node: NodeId, reason: String) {
        let link = &mut self.links[node.index()];
        let state = std::mem::replace(&mut link.state, LinkState::Broken(reason));
        link.discard(self.node, &mut self.backlog);
        if let LinkState::Dialling(handle, _) | LinkState::Up(handle) = state {
            self.close_at(handle, CloseCode::DeclaredDead, "declared dead");
        }
        // The node is a member, or it would have no link.
        let _ = self.tree.declare_dead(node);
    }

    /// This node takes no further part.
    pub(super) fn resign(&mut self) {
        // A node is a member of its own network.
        let _ = self.tree.declare_dead(self.node);
    }

    pub(super) fn close(
        &mut self,
        handle: usize,
        connection: &mut Connection,
        code: CloseCode,
        reason: &'static str,
    ) {
        if connection.stage == Stage::Over && connection.quic.is_closed() {
            return;
        }
        self.leave_unproved(connection);
        connection.stage = Stage::Over;
        connection.quic.close(self.now, VarInt::from_u32(code as u32), Bytes::from_static(reason.as_bytes()));
        if !connection.is_marked {
            connection.is_marked = true;
            self.marked.push(handle);
        }
    }

    /// Closes the links of those that have become known to be dead, or all, if this node has.
    pub(super) fn bury(&mut self) {
        for node in self.tree.dead().difference(&self.buried).iter() {
            if !matches!(self.links[node.index()].state, LinkState::Broken(_)) {
                self.break_link(node, "declared dead".into());
            }
        }
        self.buried = self.tree.dead().clone();
        if self.tree.is_cut_off() && !std::mem::replace(&mut self.is_cut_off, true) {
            self.close_all(CloseCode::Resigned, "takes no further part");
            for link in &mut self.links {
                link.discard(self.node, &mut self.backlog);
                link.state = LinkState::Broken("this node takes no further part".into());
            }
        }
    }

    /// Closes all links, and sends so, once.
    pub(crate) fn abandon(&mut self) {
        self.now = now();
        self.close_all(CloseCode::Resigned, "takes no further part");
        for connection in self.connections.iter_mut().flatten() {
            self.buffer.clear();
            if let Some(transmit) = connection.quic.poll_transmit(self.now, 1, &mut self.buffer) {
                self.socket.send(transmit, &self.buffer);
            }
        }
    }

    pub(crate) fn close_all(&mut self, code: CloseCode, reason: &'static str) {
        for handle in 0..self.connections.len() {
            self.close_at(handle, code, reason);
        }
    }

    pub(super) fn close_at(&mut self, handle: usize, code: CloseCode, reason: &'static str) {
        if let Some(mut connection) = self.connections[handle].take() {
            self.close(handle, &mut connection, code, reason);
            self.connections[handle] = Some(connection);
        }
    }

    /// Dials a node, if it has not been.
    pub(crate) fn dial_idle(&mut self, node: NodeId) {
        self.now = now();
        if self.links[node.index()].state == LinkState::Idle {
            self.dial(node, self.now + self.options.connect_timeout);
        }
    }

    pub(super) fn dial(&mut self, node: NodeId, until: Instant) {
        let Member { name, address } = &self.roster[node.index()];
        let client = self.configs.client_over(self.transports.for_member(*address));
        match self.endpoint.connect(self.now, client, *address, name) {
            Ok((ConnectionHandle(handle), quic)) => {
                self.links[node.index()].state = LinkState::Dialling(handle, until);
                self.link_timers.insert((until, node));
                let until = until.min(self.now + HANDSHAKE_TIMEOUT);
                self.insert(handle, Connection::new(quic, Some(node), self.now, until));
            }
            Err(error) => self.break_link(node, format!("it cannot be dialled: {error}")),
        }
    }

    /// The nodes whose links are up and have not acknowledged everything to its end.
    pub(crate) fn unacknowledged(&self) -> NodeSet {
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
}

//! Links come up, and end: who is let in, whose dial counts, and what the end of a connection says about its
//! node.
//!
//! Invariants: a connection becomes a link's only when its other end has proved to be the member that the
//! roster names; a link that breaks makes its node dead, once, and one that ends in order does not, unless it
//! was needed.

use super::super::connection::{CloseCode, Connection, Hello, PeerFault, Stage};
use super::super::link::LinkState;
use super::super::options::Member;
use super::super::tls;
use super::{Driver, HANDSHAKE_TIMEOUT, UNPROVED_LIMIT, UNPROVED_UNVALIDATED_LIMIT, now};
use bcs_core::global_memory::GlobalMemory;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_fabric::tree::TreeNode;
use bytes::Bytes;
use quinn_proto::{ConnectionError, ConnectionHandle, Incoming, Side, VarInt};
use std::time::Instant;

impl Driver {
    /// Somebody wants to connect, and has proved nothing.
    pub(super) fn handle_incoming(&mut self, incoming: Incoming, now: Instant) {
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
            match self.endpoint.accept(incoming, now, &mut self.buffer, Some(server)) {
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

    /// Both ends have proved that they have credentials of this network. The end that accepts looks whose.
    pub(super) fn handle_connected<M: GlobalMemory>(
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

    pub(super) fn raise(&mut self, handle: usize, connection: &mut Connection, node: NodeId) {
        connection.stage = Stage::Up;
        self.links[node.index()].state = LinkState::Up(handle);
        self.link_timers.retain(|(_, other)| *other != node);
    }

    pub(super) fn handle_hello<M: GlobalMemory>(
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
    pub(super) fn reject<M: GlobalMemory>(
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
    pub(super) fn handle_loss<M: GlobalMemory>(
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
    pub(super) fn depart<M: GlobalMemory>(&mut self, node: NodeId, tree: &mut TreeNode<M>, now: Instant) {
        let link = &mut self.links[node.index()];
        link.state = LinkState::Departed;
        if link.discard(self.node, &mut self.backlog) || tree.involves(node) {
            self.break_link(node, "it has left, but was still needed".into(), tree, now);
        }
    }

    pub(super) fn break_link<M: GlobalMemory>(
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
    pub(super) fn resign<M: GlobalMemory>(&mut self, tree: &mut TreeNode<M>) {
        // A node is a member of its own network.
        let _ = tree.declare_dead(self.node);
    }

    pub(super) fn close(
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

    /// Closes the links of those that have become known to be dead, or all, if this node has.
    pub(super) fn bury<M: GlobalMemory>(&mut self, tree: &mut TreeNode<M>, now: Instant) {
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

    /// Closes all links, and sends so, once.
    pub fn abandon(&mut self) {
        let now = now();
        self.close_all(CloseCode::Resigned, "takes no further part", now);
        for connection in self.connections.iter_mut().flatten() {
            self.buffer.clear();
            if let Some(transmit) = connection.quic.poll_transmit(now, 1, &mut self.buffer) {
                self.socket.send(transmit, &self.buffer);
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

    pub(super) fn dial<M: GlobalMemory>(
        &mut self,
        node: NodeId,
        until: Instant,
        tree: &mut TreeNode<M>,
        now: Instant,
    ) {
        let Member { name, address } = &self.roster[node.index()];
        let client = self.configs.client_over(self.transports.for_member(*address));
        match self.endpoint.connect(now, client, *address, name) {
            Ok((ConnectionHandle(handle), quic)) => {
                self.links[node.index()].state = LinkState::Dialling(handle, until);
                self.link_timers.insert((until, node));
                self.insert(handle, Connection::new(quic, Some(node), until.min(now + HANDSHAKE_TIMEOUT)));
            }
            Err(error) => self.break_link(node, format!("it cannot be dialled: {error}"), tree, now),
        }
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
}

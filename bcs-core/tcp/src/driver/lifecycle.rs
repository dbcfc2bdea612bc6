//! Links come up, and end: who is let in, whose dial counts, and what the end of a connection says about its
//! node.
//!
//! Invariants: a connection becomes a link's only when its other end has proved to be the member that the
//! roster names; a link that breaks makes its node dead, once, and one that ends in order does not, unless it
//! was needed.

use super::super::connection::{ACCEPTS_A_ROUND, CloseCode, GUESTS_LIMIT, Guest, HANDSHAKE_TIMEOUT};
use super::super::connection::{LINGERING, Lingering, RETRY, begin_connect, prepare};
use super::super::handshake::{Handshake, HandshakeError, LinkContext, Session};
use super::super::host::is_lost;
use super::super::link::{LinkState, Wire};
use super::super::poller::Token;
use super::{PeerFault, TcpFabric, now};
use bcs_core::global_memory::GlobalMemory;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_credentials::name_in;
use bcs_fabric::{FabricError, Member, Silence};
use bcs_link::{CloseWhen, FaultKind, LinkFault, LinkSecrets, Protection, Side};
use rustls::pki_types::ServerName;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// When nothing is due: far away.
const NEVER: Duration = Duration::from_secs(3600);

impl<M: GlobalMemory> TcpFabric<M> {
    /// Somebody's time is up by then.
    fn look_by(&mut self, at: Instant) {
        self.look_at = self.look_at.min(at);
    }

    /// Others have dialled, and have proved nothing.
    pub(super) fn accept(&mut self) -> Result<(), FabricError> {
        for _ in 0..ACCEPTS_A_ROUND {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // It has hung up already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(self.network_error(&error)),
            };
            let guests = self.guests.iter().flatten().count();
            if guests >= GUESTS_LIMIT || self.is_leaving || self.is_cut_off {
                self.refused_connections += 1;
                continue;
            }
            let handshake = prepare(&stream).map_err(HandshakeError::Socket);
            let handshake = handshake.and_then(|()| Handshake::accept(stream, self.configs.server.clone()));
            let Ok(handshake) = handshake else {
                self.refused_connections += 1;
                continue;
            };
            let free = self.guests.iter().position(Option::is_none);
            let index = free.unwrap_or_else(|| {
                self.guests.push(None);
                self.guests.len() - 1
            });
            let added = self.poller.add(&handshake, Token::Guest(index as u32), false);
            added.map_err(|error| self.network_error(&error))?;
            let until = self.now + HANDSHAKE_TIMEOUT;
            self.guests[index] = Some(Guest { handshake, until });
            self.look_by(until);
            self.advance_guest(index);
        }
        Ok(())
    }

    /// Goes on with the handshake of somebody who has dialled.
    pub(super) fn advance_guest(&mut self, index: usize) {
        let Some(mut guest) = self.guests.get_mut(index).and_then(Option::take) else { return };
        match guest.handshake.advance() {
            Ok(false) => {
                let writes = guest.handshake.wants_write();
                let watched = self.poller.modify(&guest.handshake, Token::Guest(index as u32), writes);
                if watched.is_ok() {
                    self.guests[index] = Some(guest);
                }
            }
            Ok(true) => self.admit(guest.handshake.finish()),
            Err(_) => self.refused_connections += 1,
        }
    }

    /// Somebody has proved to have a credential of this network. Looks whose, and whether it is wanted.
    fn admit(&mut self, session: Session) {
        let name = session.peer_certificate().and_then(name_in);
        let node = name.and_then(|name| self.names.find(&name));
        let Some(node) = node.filter(|node| *node != self.node) else {
            self.refused_connections += 1;
            return;
        };
        let context = LinkContext { network: self.options.network.0, dialler: node.0, acceptor: self.node.0 };
        let refused = match self.links[node.index()].state {
            _ if self.is_leaving || self.is_cut_off => Some(CloseCode::Resigned),
            _ if self.tree.dead().contains(node) => Some(CloseCode::DeclaredDead),
            LinkState::Idle | LinkState::Awaiting(_) => None,
            LinkState::Dialling(..) | LinkState::Greeting(_) if node < self.node => None,
            LinkState::Dialling(..)
            | LinkState::Greeting(_)
            | LinkState::Up
            | LinkState::Departed
            | LinkState::Broken(_) => Some(CloseCode::Crossed),
        };
        let secrets = self.options.seal.then(|| session.secrets(&context)).transpose();
        let Ok(secrets) = secrets else {
            self.refused_connections += 1;
            return;
        };
        if let Some(code) = refused {
            self.refused_connections += 1;
            // Who is not there to hear it is told nothing.
            let _ = session.refuse(secrets.as_ref(), code as u8);
            return;
        }
        // A dial of this end does not count.
        self.links[node.index()].wire = None;
        match self.connect(node, session, secrets) {
            Ok(()) => self.raise(node),
            Err(error) => self.break_link(node, error.to_string()),
        }
    }

    /// Opens the link over a session.
    fn connect(
        &mut self,
        node: NodeId,
        session: Session,
        secrets: Option<LinkSecrets>,
    ) -> Result<(), io::Error> {
        let mut owned = self.memory.attach(node.index());
        owned.end.reset();
        let protection = secrets.map_or(Protection::Plain, Protection::Sealed);
        let side = session.side();
        owned.end.open(side, protection).map_err(io::Error::other)?;
        let stream = session.into_stream();
        match side {
            // It was watched as a guest.
            Side::Acceptor => self.poller.modify(&stream, Token::Link(node), true)?,
            Side::Dialler => self.poller.modify(&stream, Token::Link(node), false)?,
        }
        let mut wire = Wire::new(owned, stream, self.now);
        wire.watches_writes = side == Side::Acceptor;
        self.links[node.index()].wire = Some(Box::new(wire));
        self.mark(node);
        let first = self.now + self.options.keep_alive;
        self.look_by(first);
        Ok(())
    }

    fn raise(&mut self, node: NodeId) {
        self.links[node.index()].state = LinkState::Up;
        self.mark(node);
    }

    /// Goes on with a dial.
    pub(super) fn advance_dial(&mut self, node: NodeId) {
        let LinkState::Dialling(handshake, until) = &mut self.links[node.index()].state else { return };
        let (until, Some(mut handshake)) = (*until, handshake.take()) else { return };
        match handshake.advance() {
            Ok(false) => {
                let watched = self.poller.modify(&*handshake, Token::Link(node), handshake.wants_write());
                self.links[node.index()].state = LinkState::Dialling(Some(handshake), until);
                if let Err(error) = watched {
                    self.break_link(node, error.to_string());
                }
            }
            Ok(true) => {
                let session = handshake.finish();
                let context =
                    LinkContext { network: self.options.network.0, dialler: self.node.0, acceptor: node.0 };
                let secrets = self.options.seal.then(|| session.secrets(&context)).transpose();
                let connected = match secrets {
                    Ok(secrets) => self.connect(node, session, secrets).map_err(|error| error.to_string()),
                    Err(error) => Err(error.to_string()),
                };
                match connected {
                    Ok(()) => self.links[node.index()].state = LinkState::Greeting(until),
                    Err(reason) => self.break_link(node, reason),
                }
            }
            Err(HandshakeError::Socket(_) | HandshakeError::Ended) => self.retry(node, until),
            Err(error) => self.break_link(node, error.to_string()),
        }
    }

    /// A dial has failed in a way that may pass.
    fn retry(&mut self, node: NodeId, until: Instant) {
        let link = &mut self.links[node.index()];
        (link.wire, link.state) = (None, LinkState::Dialling(None, until));
        let at = self.now + RETRY;
        link.retry_at = Some(at);
        self.look_by(at);
    }

    /// Whether a link is up; one that has been greeted is from now on.
    pub(super) fn greet(&mut self, node: NodeId, wire: &Wire) -> bool {
        if let LinkState::Greeting(_) = self.links[node.index()].state
            && wire.owned.end.is_up()
        {
            self.raise(node);
        }
        self.links[node.index()].is_up()
    }

    /// The other end has closed the link, and all that it had sent has been heard.
    pub(super) fn handle_close(&mut self, node: NodeId, code: u8) {
        match self.links[node.index()].state {
            _ if CloseCode::DeclaredDead.is(code) => {
                self.break_link(node, "it holds this node for dead".into());
                self.resign();
            }
            LinkState::Greeting(until) if CloseCode::Crossed.is(code) => {
                self.links[node.index()].wire = None;
                self.links[node.index()].state = LinkState::Awaiting(until);
                self.look_by(until);
            }
            _ if CloseCode::Orderly.is(code) => self.depart(node),
            _ if CloseCode::Resigned.is(code) => self.break_link(node, "it takes no further part".into()),
            _ if CloseCode::Protocol.is(code) => {
                self.break_link(node, "it says that this node does not keep the protocol".into());
            }
            _ => self.break_link(node, format!("it has closed the link with code {code}")),
        }
    }

    /// A link has ended. What that means for its node.
    pub(super) fn handle_fault(&mut self, node: NodeId, fault: LinkFault) {
        let link = &mut self.links[node.index()];
        let is_gone = matches!(fault.kind, FaultKind::Ended | FaultKind::Socket);
        let is_close_sent = link.wire.as_ref().is_some_and(|wire| wire.owned.end.is_close_sent());
        match link.state {
            LinkState::Greeting(until) if is_gone && self.now < until => self.retry(node, until),
            // It has had all that this end had to say, and has hung up.
            _ if self.is_leaving && is_gone && is_close_sent => {
                (link.wire, link.state) = (None, LinkState::Departed);
            }
            _ => self.break_link(node, fault.to_string()),
        }
    }

    /// The peer does not keep the protocol: its connection is closed, and its node is dead.
    pub(super) fn reject(&mut self, node: NodeId, fault: &PeerFault) {
        self.sever(node, format!("it does not keep the protocol: {fault}"), CloseCode::Protocol);
    }

    /// The other end has left in order. If it is still needed, it is dead.
    fn depart(&mut self, node: NodeId) {
        let link = &mut self.links[node.index()];
        (link.wire, link.state) = (None, LinkState::Departed);
        if link.outbox.discard(self.node, &mut self.backlog) || self.tree.involves(node) {
            self.break_link(node, "it has left, but was still needed".into());
        }
    }

    pub(super) fn break_link(&mut self, node: NodeId, reason: String) {
        self.sever(node, reason, CloseCode::DeclaredDead);
    }

    fn sever(&mut self, node: NodeId, reason: String, code: CloseCode) {
        let link = &mut self.links[node.index()];
        link.state = LinkState::Broken(reason);
        link.outbox.discard(self.node, &mut self.backlog);
        if let Some(wire) = link.wire.take() {
            self.linger(*wire, code);
        }
        // The node is a member, or it would have no link.
        let _ = self.tree.declare_dead(node);
    }

    /// Closes a connection at once, as far as the other end is there to hear why.
    pub(super) fn linger(&mut self, wire: Wire, code: CloseCode) {
        let Wire { owned, stream, .. } = wire;
        if owned.end.fault().is_some() || owned.end.closed_by_peer().is_some() {
            return;
        }
        owned.end.close(code as u8, CloseWhen::AtOnce);
        // It is gone on with from time to time, whatever its socket says.
        let _ = self.poller.remove(&stream);
        let mut lingering = Lingering { owned, stream, until: self.now + LINGERING };
        if lingering.advance(self.now) {
            self.lingering.push(lingering);
            let again = self.now + RETRY;
            self.look_by(again);
        }
    }

    /// This node takes no further part.
    fn resign(&mut self) {
        // A node is a member of its own network.
        let _ = self.tree.declare_dead(self.node);
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
            self.close_all(CloseCode::Resigned);
            for link in &mut self.links {
                link.outbox.discard(self.node, &mut self.backlog);
                link.state = LinkState::Broken("this node takes no further part".into());
            }
        }
    }

    /// Closes all connections, as far as that can be told without waiting.
    pub(crate) fn close_all(&mut self, code: CloseCode) {
        self.guests.clear();
        for index in 0..self.links.len() {
            if let Some(wire) = self.links[index].wire.take() {
                self.linger(*wire, code);
            }
        }
    }

    /// Looks at everything that has a time.
    pub(super) fn look(&mut self) {
        let now = self.now;
        self.look_at = now + NEVER;
        for index in 0..self.guests.len() {
            let Some(until) = self.guests[index].as_ref().map(|guest| guest.until) else { continue };
            if until <= now {
                self.guests[index] = None;
                self.refused_connections += 1;
            } else {
                self.look_by(until);
            }
        }
        let mut lingering = std::mem::take(&mut self.lingering);
        lingering.retain_mut(|lingering| lingering.advance(now));
        if !lingering.is_empty() {
            self.look_by(now + RETRY);
        }
        self.lingering = lingering;
        for node in (0..self.links.len() as u32).map(NodeId) {
            self.look_at_link(node);
        }
    }

    fn look_at_link(&mut self, node: NodeId) {
        let (now, options) = (self.now, &self.options);
        let late = || format!("it could not be reached within {:?}", options.connect_timeout);
        let link = &mut self.links[node.index()];
        match (&link.state, &mut link.wire) {
            (LinkState::Dialling(_, until) | LinkState::Greeting(until) | LinkState::Awaiting(until), _)
                if *until <= now =>
            {
                let reason = late();
                self.break_link(node, reason);
            }
            (LinkState::Dialling(None, until), _) => {
                let until = *until;
                match link.retry_at {
                    Some(at) if at > now => self.look_by(at),
                    _ => self.dial(node, until),
                }
            }
            (LinkState::Dialling(_, until) | LinkState::Greeting(until) | LinkState::Awaiting(until), _) => {
                let until = *until;
                self.look_by(until);
            }
            (LinkState::Up, Some(wire)) => {
                wire.heard.look(wire.owned.end.frames_received(), now);
                wire.spoken.look(wire.owned.end.frames_sent(), now);
                let (silent_at, speak_at) =
                    (wire.heard.at + options.idle_timeout, wire.spoken.at + options.keep_alive);
                // Other processes of the node may drive the link, too.
                if let Some(holder) = wire.owned.end.dead_holder() {
                    return self.break_link(node, crate::half_done(holder));
                }
                let is_silent = silent_at <= now;
                let host_answers = || {
                    options.silence == Silence::Host
                        && !is_lost(wire.stream.as_fd(), options.idle_timeout).unwrap_or(true)
                };
                if is_silent && !host_answers() {
                    let reason = format!("nothing has come from it for {:?}", options.idle_timeout);
                    return self.break_link(node, reason);
                }
                wire.is_stopped = is_silent;
                let mut next = speak_at;
                if speak_at <= now {
                    wire.owned.end.want_frame();
                    next = now + options.keep_alive;
                    self.mark(node);
                }
                self.look_by(if is_silent { next } else { next.min(silent_at) });
            }
            (LinkState::Up | LinkState::Idle | LinkState::Departed | LinkState::Broken(_), _) => {}
        }
    }

    /// Dials a node, if it has not been.
    pub(crate) fn dial_idle(&mut self, node: NodeId) {
        self.now = now();
        if let LinkState::Idle = self.links[node.index()].state {
            self.dial(node, self.now + self.options.connect_timeout);
        }
    }

    pub(super) fn dial(&mut self, node: NodeId, until: Instant) {
        let Member { name, address } = &self.roster[node.index()];
        let begun = ServerName::try_from(name.clone()).map_err(io::Error::other).and_then(|name| {
            let stream = begin_connect(*address)?;
            Handshake::dial(stream, self.configs.client.clone(), name).map_err(io::Error::other)
        });
        let begun = begun.and_then(|handshake| {
            self.poller.add(&handshake, Token::Link(node), true)?;
            Ok(handshake)
        });
        match begun {
            Ok(handshake) => {
                self.links[node.index()].state = LinkState::Dialling(Some(Box::new(handshake)), until);
                self.look_by(until);
                self.ask_at = self.now;
            }
            Err(error) => self.break_link(node, format!("it cannot be dialled: {error}")),
        }
    }

    /// The nodes whose links are up and have not acknowledged everything to its end.
    pub(crate) fn unacknowledged(&self) -> NodeSet {
        let links = self.links.iter().zip(0..);
        links
            .filter(|(link, _)| match link.state {
                LinkState::Up => true,
                LinkState::Dialling(..) | LinkState::Greeting(_) | LinkState::Awaiting(_) => {
                    !link.outbox.is_clear()
                }
                LinkState::Idle | LinkState::Departed | LinkState::Broken(_) => false,
            })
            .map(|(_, node)| NodeId(node))
            .collect()
    }
}

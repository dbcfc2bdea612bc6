//! Links come up, and end: greetings and farewells, failed writes, and what the links below say.
//!
//! Who is at the other end, the links of `bcs-tcp` have proved: a greeting comes over them, and only who has
//! it can write here. They also find out who is dead. Invariants: a link that breaks makes its node dead,
//! once, and one that ends in order does not, unless it was needed.

use super::super::letter::{Greeting, Letter};
use super::super::link::{LinkState, Wire};
use super::super::window::Window;
use super::{ASKS_EVERY, OfiFabric, PeerFault};
use bcs_core::global_memory::GlobalMemory;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_fabric::{Fabric, FabricError, Road};
use std::time::Duration;

/// How long a failed write waits for the links below to say that its node has left in order.
const FAREWELL_PATIENCE: Duration = Duration::from_millis(300);

/// The smallest window that another node may offer.
const LEAST_WINDOW_BYTES: u64 = 4 << 10;

/// The form of addresses that are strings (`FI_ADDR_STR`), which differ in length.
const TEXT_ADDRESSES: u32 = 9;

impl<M: GlobalMemory> OfiFabric<M> {
    /// A link is needed: this end greets, once.
    pub(crate) fn greet(&mut self, node: NodeId) {
        let link = &mut self.links[node.index()];
        if link.state != LinkState::Idle {
            return;
        }
        link.state = LinkState::Greeting;
        self.ask_at = self.now;
        let (memory, limit) = (&self.memory, self.options.registered_bytes);
        let mut refusal = None;
        let window = match Window::open(&self.endpoint, memory, node.index(), limit, &mut refusal) {
            Ok(window) => window,
            Err(error) => {
                let reason = format!("no memory can be registered for it: {error}; {}", memory_limit());
                return self.break_link(node, reason);
            }
        };
        if let Some(refusal) = refusal
            && !std::mem::replace(&mut self.has_remarked, true)
        {
            self.remark = Some(format!(
                "{refusal}; what goes to other nodes is copied through {} registered bytes a link instead, which is slower; {}",
                window.bytes(),
                memory_limit()
            ));
        }
        let (signals_at, window_at) = window.targets();
        let greeting = Greeting {
            ring_bytes: memory.layout().ring_bytes() as u64,
            window_bytes: window.bytes() as u64,
            signals_at,
            window_at,
            key: window.key(),
            address_format: self.endpoint.promises().address_format,
            provider: self.endpoint.promises().provider.clone(),
            address: self.endpoint.name().to_vec(),
        };
        let link = &mut self.links[node.index()];
        link.window = Some(window);
        link.letters.push_back(Letter::Greeting(Box::new(greeting)).encode());
    }

    /// Asks the links below: takes letters, sends those that wait, and hears of deaths. True when something
    /// has moved.
    pub(super) fn ask(&mut self) -> Result<bool, FabricError> {
        let mut letters = Vec::new();
        self.proven.poll(&mut |from, letter| letters.push((from, letter.to_vec())))?;
        let mut moved = !letters.is_empty();
        for (from, letter) in letters {
            self.handle_letter(from, &letter);
        }
        let mut waits = false;
        for node in self.nodes() {
            while let Some(letter) = self.links[node.index()].letters.front() {
                match self.proven.send(node, &[letter]) {
                    Ok(()) => moved = self.links[node.index()].letters.pop_front().is_some(),
                    Err(FabricError::Busy { .. }) => {
                        waits = true;
                        break;
                    }
                    // Why it cannot be reached any more is told below.
                    Err(_) => self.links[node.index()].letters.clear(),
                }
            }
            let link = &self.links[node.index()];
            waits |= link.state == LinkState::Greeting || link.failure.is_some();
            if self.proven.has_left(node) {
                match link.state {
                    LinkState::Idle | LinkState::Greeting => self.depart(node),
                    LinkState::Up if link.farewell.is_none() => {
                        self.break_link(node, "it has left without a farewell".into());
                    }
                    LinkState::Up | LinkState::Departed | LinkState::Broken(_) => {}
                }
            }
        }
        for node in self.proven.dead().difference(&self.known_dead).iter() {
            self.known_dead.insert(node);
            let reason = self.proven.broken_link(node).unwrap_or("declared dead").to_owned();
            self.break_link(node, reason);
            moved = true;
        }
        if self.proven.is_cut_off() && !self.tree.is_cut_off() {
            // A node is a member of its own network.
            let _ = self.tree.declare_dead(self.node);
        }
        self.judge_failures();
        self.ask_at = if waits { self.now } else { self.now + ASKS_EVERY };
        Ok(moved)
    }

    /// Writes that failed: their nodes are dead, unless they have left in order.
    fn judge_failures(&mut self) {
        for node in self.nodes() {
            let link = &mut self.links[node.index()];
            let Some((reason, at)) = &link.failure else { continue };
            if link.is_over() {
                link.failure = None;
            } else if link.farewell.is_some() {
                self.depart(node);
            } else if self.now.saturating_duration_since(*at) >= FAREWELL_PATIENCE {
                let reason = format!("a write to it failed: {reason}");
                self.break_link(node, reason);
            }
        }
    }

    fn handle_letter(&mut self, from: NodeId, letter: &[u8]) {
        if self.links[from.index()].is_over() {
            return;
        }
        match Letter::decode(letter) {
            Ok(Letter::Greeting(greeting)) => {
                self.greet(from);
                if self.links[from.index()].state == LinkState::Greeting {
                    match self.check(&greeting) {
                        Ok(()) => self.raise(from, *greeting),
                        Err(reason) => self.break_link(from, reason),
                    }
                } else if self.links[from.index()].is_up() {
                    self.break_link(from, "it greets twice".into());
                }
            }
            Ok(Letter::Farewell(position)) => {
                let link = &mut self.links[from.index()];
                link.farewell = Some(position);
                if !link.is_up() {
                    self.depart(from);
                }
            }
            Ok(Letter::Answer) => self.links[from.index()].is_answered = true,
            Err(error) => self.break_link(from, error.to_string()),
        }
    }

    /// Whether the other end's greeting fits this one's.
    fn check(&self, greeting: &Greeting) -> Result<(), String> {
        let (own, ring) = (self.endpoint.promises(), self.memory.layout().ring_bytes() as u64);
        let Greeting { ring_bytes, window_bytes, address_format, provider, address, .. } = greeting;
        if *provider != own.provider || *address_format != own.address_format {
            return Err(format!(
                "it uses the provider {provider}, and this node {}; name one that all nodes have",
                own.provider
            ));
        }
        if *ring_bytes != ring {
            return Err(format!("its links have rings of {ring_bytes} bytes, and those of this node {ring}"));
        }
        if !window_bytes.is_power_of_two() || !(LEAST_WINDOW_BYTES..=ring).contains(window_bytes) {
            return Err(format!("it offers a window of {window_bytes} bytes, which cannot be"));
        }
        let is_as_long = address.len() == self.endpoint.name().len();
        if !is_as_long && *address_format != TEXT_ADDRESSES {
            return Err(format!("its address has {} bytes, which none of {provider} has", address.len()));
        }
        Ok(())
    }

    /// The ends have greeted each other.
    fn raise(&mut self, node: NodeId, greeting: Greeting) {
        let address = match self.endpoint.insert(&greeting.address) {
            Ok(address) => address,
            Err(error) => return self.break_link(node, error.to_string()),
        };
        let Some(window) = &self.links[node.index()].window else { return };
        let is_signalled = window.slab.is_none();
        let mut owned = self.memory.attach(node.index());
        if let Err(fault) = owned.end.open_remote(is_signalled) {
            return self.break_link(node, fault.to_string());
        }
        let link = &mut self.links[node.index()];
        let Some(window) = &link.window else { return };
        link.wire = Some(Box::new(Wire::new(owned, node, address, greeting, window, &self.endpoint)));
        link.state = LinkState::Up;
    }

    /// The other end does not keep the protocol, or cannot be reached: its node is dead.
    pub(super) fn reject(&mut self, node: NodeId, fault: &PeerFault) {
        self.break_link(node, fault.to_string());
    }

    /// The other end leaves, and all that it sent was taken. If it is still needed, it is dead.
    pub(super) fn depart(&mut self, node: NodeId) {
        let link = &mut self.links[node.index()];
        link.take_down(LinkState::Departed);
        link.letters.push_back(Letter::Answer.encode());
        self.ask_at = self.now;
        if link.outbox.discard(self.node, &mut self.backlog) || self.tree.involves(node) {
            self.break_link(node, "it has left, but was still needed".into());
        }
    }

    pub(super) fn break_link(&mut self, node: NodeId, reason: String) {
        let link = &mut self.links[node.index()];
        if matches!(link.state, LinkState::Broken(_)) {
            return;
        }
        link.take_down(LinkState::Broken(reason));
        link.outbox.discard(self.node, &mut self.backlog);
        link.letters.clear();
        // The node is a member of both networks, or it would have no link. What is known is told again.
        let _ = self.tree.declare_dead(node);
        if self.known_dead.insert(node) {
            let _ = self.proven.declare_dead(node);
        }
    }

    /// Closes the links of those that have become known to be dead, or all, if this node has.
    pub(super) fn bury(&mut self) {
        for node in self.tree.dead().difference(&self.buried).iter() {
            self.break_link(node, "declared dead".into());
        }
        self.buried = self.tree.dead().clone();
        if self.tree.is_cut_off() && !std::mem::replace(&mut self.is_cut_off, true) {
            for link in &mut self.links {
                link.outbox.discard(self.node, &mut self.backlog);
                if !matches!(link.state, LinkState::Broken(_)) {
                    link.take_down(LinkState::Broken("this node takes no further part".into()));
                }
            }
            if !self.is_leaving {
                let own = self.node;
                let _ = self.proven.declare_dead(own);
            }
        }
    }

    /// Looks at writes that do not complete.
    pub(super) fn look(&mut self) {
        let patience = self.options.links.connect_timeout.max(self.options.links.idle_timeout);
        for node in self.nodes() {
            let Some(wire) = &mut self.links[node.index()].wire else { continue };
            if let Some(holder) = wire.owned.end.dead_holder() {
                self.break_link(node, bcs_tcp::half_done(holder));
                continue;
            }
            if !wire.has_work() {
                wire.waits_since = None;
                continue;
            }
            let since = *wire.waits_since.get_or_insert(self.now);
            if self.now.saturating_duration_since(since) >= patience {
                self.break_link(node, format!("writes to it have not completed for {patience:?}"));
            }
        }
    }

    /// Tells all ends of links that this node leaves, as far as what was sent to them is there. Who has not
    /// answered.
    pub(crate) fn take_leave(&mut self) -> NodeSet {
        let mut waited_for = NodeSet::new();
        for node in self.nodes() {
            let link = &mut self.links[node.index()];
            match (&link.state, &link.wire) {
                (LinkState::Greeting, _) if !link.outbox.is_clear() => {}
                (LinkState::Up, Some(wire)) => {
                    if link.outbox.is_clear() && wire.is_sent() && !link.is_leaving {
                        link.is_leaving = true;
                        let farewell = Letter::Farewell(wire.owned.end.appended_to());
                        link.letters.push_back(farewell.encode());
                        self.ask_at = self.now;
                    }
                    if link.is_answered {
                        link.take_down(LinkState::Departed);
                        continue;
                    }
                }
                _ => continue,
            }
            waited_for.insert(node);
        }
        waited_for
    }
}

/// What to do about memory that cannot be registered.
fn memory_limit() -> String {
    match rustix::process::getrlimit(rustix::process::Resource::Memlock).current {
        Some(bytes) => format!("raise the limit on locked memory (ulimit -l), which is {} KB", bytes >> 10),
        None => "locked memory is not limited (ulimit -l), so the network card or its driver refuses".into(),
    }
}

//! The driver: moves messages between the card and the tree protocol.
//!
//! It has no thread: whoever polls the fabric drives it. Between polls the card goes on by itself, but
//! nothing new begins. A round hears first (what lies in rings and slots, node by node) and then speaks (what
//! the protocol has to say).
//!
//! A message of the protocol that is the same for several nodes is one broadcast, if the network has
//! broadcasts; the tree is flat then, and the acknowledgements are gathered. Else the tree has few children a
//! node, and all messages go to one node each.

use crate::broadcast::{self, Broadcaster};
use crate::card::{Card, CardError};
use crate::far::Windows;
use crate::gather::{Answers, Gatherer};
use crate::link::{Link, LinkState, SendError};
use crate::options::ElanOptions;
use crate::window::{Cell, ROAD_RING, Word};
use bcs_core::global_memory::{GlobalMemory, SparseMemory};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_fabric::tree::{Backlog, Lane, Message, Receipt, TreeNode, is_answer};
use bcs_fabric::{FabricError, NetworkId};
use std::os::fd::OwnedFd;

/// How many bytes of others' payload may wait here on their way down a tree before no more is taken. Payload
/// goes down to nodes of higher numbers only, so the highest always takes and no circle of nodes waits for
/// itself.
const RELAY_LIMIT_BYTES: usize = 16 << 20;

/// What stands in place of a greeting when a node has left in order.
const DEPARTED: u64 = u64::MAX - 1;
/// What a node puts in place of its greeting to one that it holds for dead.
const DECLARED_DEAD: u64 = u64::MAX;

/// A node's port to a network over QsNet.
#[derive(Debug)]
pub struct ElanFabric<M: GlobalMemory = SparseMemory> {
    pub(super) options: ElanOptions,
    pub(super) tree: TreeNode<M>,
    pub(super) card: Card,
    pub(super) windows: Windows,
    pub(super) links: Vec<Link>,
    pub(super) backlog: Backlog,
    pub(super) has_broadcasts: bool,
    /// Never readable: nothing wakes whoever waits for a card. It is what an event loop waits for.
    pub(super) silence: OwnedFd,
    broadcaster: Broadcaster,
    gatherer: Gatherer,
    answers: Answers,
    /// The dead whose links have been closed.
    buried: NodeSet,
    is_cut_off: bool,
    shown: Vec<u8>,
}

/// What an `ElanFabric` is made of.
pub(super) struct Parts<M> {
    pub options: ElanOptions,
    pub tree: TreeNode<M>,
    pub card: Card,
    pub windows: Windows,
    pub has_broadcasts: bool,
    pub silence: OwnedFd,
}

/// Where records of the road go that come now.
pub(super) enum Records<'a> {
    /// They stay in their rings.
    Kept,
    /// Somebody polls; how many there were.
    Polled(&'a mut dyn FnMut(NodeId, &[u8]), usize),
}

/// What a node says to another to be known as a member of the same network, with windows of the same layout.
fn greeting(network: NetworkId, windows: &Windows, from: NodeId, to: NodeId) -> u64 {
    let layout = windows.own.layout();
    let layout = [layout.nodes as u64, layout.ring_bytes as u64, layout.slot_bytes as u64];
    let words = [network.0 as u64, (network.0 >> 64) as u64, u64::from(from.0), u64::from(to.0)];
    let bytes = words.into_iter().chain(layout).flat_map(u64::to_le_bytes);
    // FNV-1a; it tells mistakes, not attacks.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // Neither nothing, nor what stands in its place.
    hash >> 1 | 1
}

impl<M: GlobalMemory> ElanFabric<M> {
    pub(super) fn new(parts: Parts<M>) -> Self {
        let Parts { options, tree, card, windows, has_broadcasts, silence } = parts;
        let members = windows.far.len();
        let mut fabric = Self {
            options,
            tree,
            card,
            windows,
            links: (0..members).map(|_| Link::new(members)).collect(),
            backlog: Backlog::default(),
            has_broadcasts,
            silence,
            broadcaster: Broadcaster::new(),
            gatherer: Gatherer::default(),
            answers: Answers::default(),
            buried: NodeSet::new(),
            is_cut_off: false,
            shown: Vec::new(),
        };
        for node in (0..members as u32).map(NodeId).filter(|node| *node != fabric.windows.node) {
            let hello = greeting(fabric.options.network, &fabric.windows, fabric.windows.node, node);
            fabric.links[node.index()].greeting = hello;
        }
        fabric
    }

    /// This node.
    pub(super) fn own(&self) -> NodeId {
        self.windows.node
    }

    pub(super) fn card_error(&self, error: &CardError) -> FabricError {
        FabricError::Network { node: self.own(), reason: error.to_string() }
    }

    /// Bytes of own operations that wait to be sent.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.backlog.own + self.broadcaster.payload_bytes()
    }

    /// A round. True when something has moved.
    pub(super) fn drive(&mut self, records: &mut Records<'_>) -> Result<bool, FabricError> {
        let moved = self.round(records);
        moved.map_err(|error| self.card_error(&error))
    }

    fn round(&mut self, records: &mut Records<'_>) -> Result<bool, CardError> {
        self.take_in()?;
        let mut moved = false;
        for node in (0..self.links.len() as u32).map(NodeId) {
            if node != self.own() && self.links[node.index()].is_open() {
                moved |= self.hear(node, records)?;
            }
        }
        let acknowledgements = self.gatherer.advance(&self.card, &self.windows, self.broadcaster.sent)?;
        for (from, message) in acknowledgements {
            moved = true;
            if let Err(fault) = self.tree.handle_message(from, message) {
                self.reject(from, &fault)?;
            }
        }
        self.take_in()?;
        moved |= self.speak()?;
        Ok(moved)
    }

    fn speak(&mut self) -> Result<bool, CardError> {
        let mut moved = false;
        for node in (0..self.links.len() as u32).map(NodeId) {
            let own = self.windows.node;
            let link = &mut self.links[node.index()];
            moved |= link.greet(&self.card, &self.windows, node)?;
            if node == own || !link.is_open() {
                continue;
            }
            match link.advance(&self.card, &self.windows, node, &mut self.backlog) {
                Ok(has_moved) => moved |= has_moved,
                Err(SendError::Card(error)) => return Err(error),
                Err(SendError::Wire(error)) => {
                    self.break_link(node, SendError::Wire(error).to_string())?;
                    continue;
                }
            }
            let link = &self.links[node.index()];
            if let Some(answers) = link.untaken_answers() {
                self.reject(
                    node,
                    &format!("it does not take the answers that it asks for, of which {answers} wait"),
                )?;
            }
        }
        let links = &self.links;
        let has_delivered =
            |node: NodeId, pushed| links.get(node.index()).is_none_or(|link| link.has_delivered(pushed));
        moved |= self.broadcaster.advance(&self.card, &self.windows, has_delivered)?;
        Ok(moved)
    }

    /// Hears what has come from a node. True when something has.
    fn hear(&mut self, node: NodeId, records: &mut Records<'_>) -> Result<bool, CardError> {
        let mut moved = false;
        while self.links[node.index()].is_open() {
            match self.hear_one(node) {
                Ok(true) => moved = true,
                Ok(false) => break,
                Err(fault) => self.reject(node, &fault)?,
            }
            self.take_in()?;
        }
        moved |= self.hear_records(node, records)?;
        let link = &mut self.links[node.index()];
        if !link.is_open() {
            return Ok(true);
        }
        let expected = greeting(self.options.network, &self.windows, node, self.windows.node);
        match self.windows.own.load(self.windows.own.layout().line(node, Word::Greeting)) {
            0 => {}
            DECLARED_DEAD => {
                link.state = LinkState::Broken("it holds this node for dead".into());
                // A node is a member of its own network.
                let _ = self.tree.declare_dead(self.windows.node);
                self.take_in()?;
            }
            // All that it has sent came before.
            DEPARTED if !link.is_heard(&self.windows, node) => {}
            DEPARTED => self.depart(node)?,
            word if word == expected => {
                moved |= link.state == LinkState::Silent;
                link.state = LinkState::Up;
            }
            word => {
                let process = self.windows.far[node.index()].process;
                let fault = format!(
                    "process {process} greets with {word:#x}, and {node} of this network would with {expected:#x}; \
                     all nodes need the same roster, in the order of virtual process numbers, and the same options"
                );
                self.reject(node, &fault)?;
            }
        }
        Ok(moved)
    }

    /// Hears the next message of a node. False when none can be taken.
    fn hear_one(&mut self, node: NodeId) -> Result<bool, String> {
        if self.backlog.relayed >= RELAY_LIMIT_BYTES {
            return Ok(false);
        }
        let link = &mut self.links[node.index()];
        for lane in [Lane::Control, Lane::Bulk] {
            let ring = lane as usize;
            let next = link.receive[ring].next(&self.windows, (node, ring));
            let Some(frame) = next.map_err(|fault| fault.to_string())? else { continue };
            let may_come = frame.after <= link.taken_broadcast
                && (lane == Lane::Control || link.lanes.may_deliver(frame.stamp));
            if !may_come {
                continue;
            }
            let taken = link.assemblies[ring].take(&self.windows.own, frame.place, frame.lengths);
            link.receive[ring].take(&frame);
            if let Some(message) = taken.map_err(|error| error.to_string())? {
                if lane == Lane::Control {
                    link.lanes.count_control();
                }
                self.tree.handle_message(node, message).map_err(|error| error.to_string())?;
            }
            return Ok(true);
        }
        let next = broadcast::next(&self.windows, node, link.taken_broadcast);
        let Some(arrived) = next.map_err(|fault| fault.to_string())? else { return Ok(false) };
        let taken = link.broadcast_assembly.take(&self.windows.own, arrived.place, arrived.lengths);
        link.taken_broadcast = arrived.number;
        let cell = self.windows.own.layout().cell(node, Cell::Taken);
        self.windows.own.store(cell, arrived.number);
        if let Some(message) = taken.map_err(|error| error.to_string())? {
            if arrived.is_gathered {
                self.answers.note(&message);
            }
            self.tree.handle_message(node, message).map_err(|error| error.to_string())?;
        }
        Ok(true)
    }

    /// Hands the records of a node to who polls. True when there were any.
    fn hear_records(&mut self, node: NodeId, records: &mut Records<'_>) -> Result<bool, CardError> {
        let Records::Polled(handle, count) = records else { return Ok(false) };
        let mut moved = false;
        while self.links[node.index()].is_open() {
            let ring = &mut self.links[node.index()].receive[ROAD_RING];
            match ring.next(&self.windows, (node, ROAD_RING)) {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    self.shown.clear();
                    self.windows.own.append_to(frame.place, frame.lengths.bytes, &mut self.shown);
                    ring.take(&frame);
                    handle(node, &self.shown);
                    *count += 1;
                    moved = true;
                }
                Err(fault) => self.reject(node, &fault)?,
            }
        }
        Ok(moved)
    }

    /// Takes what the protocol has to say after a call, where the next round finds it.
    pub(super) fn collect(&mut self) -> Result<(), FabricError> {
        let taken = self.take_in();
        taken.map_err(|error| self.card_error(&error))
    }

    fn take_in(&mut self) -> Result<(), CardError> {
        loop {
            // What is the same for several nodes comes one behind the other.
            let mut group: Option<(Lane, Message, Vec<NodeId>)> = None;
            while let Some((to, lane, message)) = self.tree.poll_prompt() {
                if !self.may_send(to, &message)? || self.answers.answer(&self.windows, to, &message) {
                    continue;
                }
                match &mut group {
                    Some((of, what, nodes)) if self.has_broadcasts && *of == lane && *what == message => {
                        nodes.push(to);
                    }
                    _ => {
                        let before = group.replace((lane, message, vec![to]));
                        self.send_group(before)?;
                    }
                }
            }
            self.send_group(group)?;
            while let Some(Receipt { to, message, .. }) = self.tree.poll_receipt() {
                if self.may_send(to, &message)? {
                    self.links[to.index()].push(self.windows.node, Lane::Control, message, &mut self.backlog);
                }
            }
            if *self.tree.dead() == self.buried && self.tree.is_cut_off() == self.is_cut_off {
                return Ok(());
            }
            self.bury()?;
        }
    }

    /// Whether a message goes to a node. One that has left, and is needed, is dead.
    fn may_send(&mut self, to: NodeId, message: &Message) -> Result<bool, CardError> {
        let link = &self.links[to.index()];
        if link.state == LinkState::Departed && !is_answer(message) {
            self.break_link(to, "it has left, but was still needed".into())?;
            return Ok(false);
        }
        Ok(link.is_open())
    }

    fn send_group(&mut self, group: Option<(Lane, Message, Vec<NodeId>)>) -> Result<(), CardError> {
        let Some((lane, message, mut nodes)) = group else { return Ok(()) };
        // A node may have died since.
        nodes.retain(|node| self.links[node.index()].is_open());
        let is_broadcast = nodes.len() > 1;
        let is_gathered = is_broadcast && self.gatherer.gathers(self.windows.node, &message);
        if let Message::Decide { operation, wave, .. } = &message
            && operation.initiator == self.windows.node
        {
            self.gatherer.supersede(*operation, *wave);
        }
        if !is_broadcast {
            for node in nodes {
                let own = self.windows.node;
                self.links[node.index()].push(own, lane, message.clone(), &mut self.backlog);
            }
            return Ok(());
        }
        let before = nodes.iter().map(|node| (*node, self.links[node.index()].pushed())).collect();
        match self.broadcaster.push(&self.windows, message.clone(), is_gathered, before) {
            Ok(number) => {
                for node in &nodes {
                    self.links[node.index()].last_broadcast = number;
                }
                self.gatherer.note(&message, is_gathered, &nodes.into_iter().collect(), number);
            }
            Err(error) => {
                let reason = SendError::Wire(error).to_string();
                for node in nodes {
                    self.break_link(node, reason.clone())?;
                }
            }
        }
        Ok(())
    }

    /// The other end does not keep the protocol: its node is dead.
    fn reject(&mut self, node: NodeId, fault: &dyn std::fmt::Display) -> Result<(), CardError> {
        self.break_link(node, format!("it does not keep the protocol: {fault}"))
    }

    /// The other end has left in order. If it is still needed, it is dead.
    fn depart(&mut self, node: NodeId) -> Result<(), CardError> {
        let link = &mut self.links[node.index()];
        link.state = LinkState::Departed;
        // It takes no more broadcasts, and its card may be gone.
        self.broadcaster.forget(&self.card, &self.windows, node)?;
        if link.discard(self.windows.node, &mut self.backlog) || self.tree.involves(node) {
            self.break_link(node, "it has left, but was still needed".into())?;
        }
        Ok(())
    }

    pub(super) fn break_link(&mut self, node: NodeId, reason: String) -> Result<(), CardError> {
        let link = &mut self.links[node.index()];
        if matches!(link.state, LinkState::Broken(_)) {
            return Ok(());
        }
        link.state = LinkState::Broken(reason);
        link.discard(self.windows.node, &mut self.backlog);
        self.broadcaster.forget(&self.card, &self.windows, node)?;
        self.gatherer.forget(node);
        // If it lives after all, it gets to know.
        self.links[node.index()].greeting = DECLARED_DEAD;
        // The node is a member, or it would have no link.
        let _ = self.tree.declare_dead(node);
        Ok(())
    }

    /// Closes the links of those that have become known to be dead, or all, if this node has.
    fn bury(&mut self) -> Result<(), CardError> {
        for node in self.tree.dead().difference(&self.buried).iter() {
            self.break_link(node, "declared dead".into())?;
        }
        self.buried = self.tree.dead().clone();
        if self.tree.is_cut_off() && !std::mem::replace(&mut self.is_cut_off, true) {
            self.broadcaster.clear();
            self.gatherer.clear();
            for link in &mut self.links {
                link.discard(self.windows.node, &mut self.backlog);
                if link.is_open() {
                    link.state = LinkState::Broken("this node takes no further part".into());
                }
            }
        }
        Ok(())
    }

    /// Whether all that was sent has arrived, and all has been heard that has come.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        let mut links = self.links.iter().zip((0..).map(NodeId));
        let is_quiet = |(link, node): (&Link, NodeId)| {
            let has_come = broadcast::next(&self.windows, node, link.taken_broadcast);
            node == self.windows.node
                || !link.is_open()
                || link.has_greeted()
                    && link.is_idle()
                    && link.is_heard(&self.windows, node)
                    && matches!(has_come, Ok(None))
        };
        self.broadcaster.is_idle() && self.gatherer.is_idle() && links.all(is_quiet)
    }

    /// The nodes that have not had all that was sent to them.
    pub(super) fn unacknowledged(&self) -> NodeSet {
        let links = self.links.iter().zip((0..).map(NodeId));
        let open = links.filter(|(link, node)| *node != self.windows.node && link.is_open());
        let late = open.filter(|(link, _)| !link.is_idle() || !self.broadcaster.is_idle());
        late.map(|(_, node)| node).collect()
    }

    /// Tells the others that this node leaves, without being dead. True when all have been told that live.
    pub(super) fn say_farewell(&mut self) -> Result<bool, FabricError> {
        let mut is_told = true;
        for node in (0..self.links.len() as u32).map(NodeId) {
            let link = &mut self.links[node.index()];
            if node == self.windows.node || !link.is_open() {
                continue;
            }
            link.greeting = DEPARTED;
            let greeted = link.greet(&self.card, &self.windows, node);
            is_told &= link.has_greeted();
            greeted.map_err(|error| self.card_error(&error))?;
        }
        Ok(is_told)
    }
}

//! The simulated world: nodes that run the real tree protocol, a network between them, and virtual time.
//!
//! Invariant: everything that happens is an event in one queue, ordered by virtual time and, at the same time, by
//! the order in which events were made. So a run is a function of its options and the calls made on it.

use super::SimOptions;
use super::link::{LinkReceiver, LinkSender, Packet};
use super::network::Network;
use crate::event::EventTable;
use crate::fabric::tree::{Message, TreeNode};
use crate::global_memory::SparseMemory;
use crate::ids::NodeId;
use crate::node_set::NodeSet;
use crate::wire;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// The bytes that a packet takes on the wire beyond its message.
const HEADER_BYTES: usize = 64;

/// A message on its way: as it is, or as its encoding when the options ask for it.
#[derive(Clone, Debug)]
enum Parcel {
    Message(Message),
    Encoded(Arc<[u8]>),
}

/// Something that will happen.
#[derive(Debug)]
enum Event {
    /// A packet arrives, if its sender lived until it had left.
    Arrival { from: NodeId, to: NodeId, departs_ns: u64, packet: Packet<Parcel> },
    /// A sender looks for missing acknowledgements.
    Timeout { from: NodeId, to: NodeId },
    /// A node dies.
    Death { node: NodeId },
    /// A survivor is told of a death.
    Obituary { to: NodeId, dead: NodeId },
    /// The network falls apart, or heals.
    Partition { nodes: NodeSet },
    /// A driver asked to be woken.
    Wake { node: NodeId },
}

/// An event in the queue: compared by time, then by number.
#[derive(Debug)]
struct Scheduled {
    at_ns: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Scheduled {}
impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.number).cmp(&(other.at_ns, other.number))
    }
}

/// The sending end of a link, and when it next looks for acknowledgements.
#[derive(Debug, Default)]
struct Outgoing {
    sender: LinkSender<Parcel>,
    /// The last time that something was sent or acknowledged.
    last_moved_ns: u64,
    is_timer_set: bool,
}

/// What has travelled, for tests of cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Messages that were sent, each counted once.
    pub messages: u64,
    /// Packets that were sent, acknowledgements and repetitions included.
    pub packets: u64,
    /// Packets that were lost.
    pub lost_packets: u64,
}

#[derive(Debug)]
pub(super) struct World {
    pub options: SimOptions,
    pub now_ns: u64,
    pub nodes: Vec<TreeNode<SparseMemory>>,
    pub statistics: Statistics,
    died_ns: BTreeMap<NodeId, u64>,
    network: Network,
    outgoing: BTreeMap<(NodeId, NodeId), Outgoing>,
    incoming: BTreeMap<(NodeId, NodeId), LinkReceiver<Parcel>>,
    events: BinaryHeap<Reverse<Scheduled>>,
    last_number: u64,
}

impl World {
    pub fn new(options: SimOptions) -> Self {
        let members = Arc::new(NodeSet::all(options.nodes));
        let node = |node| {
            let memory = SparseMemory::new(options.memory_bytes);
            TreeNode::new(
                NodeId(node),
                members.clone(),
                options.fanout,
                memory,
                EventTable::new(options.events),
            )
        };
        Self {
            now_ns: 0,
            nodes: (0..options.nodes).map(node).collect(),
            statistics: Statistics::default(),
            died_ns: BTreeMap::new(),
            network: Network::new(options.network.clone(), options.nodes, options.seed),
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            events: BinaryHeap::new(),
            last_number: 0,
            options,
        }
    }

    pub fn is_alive(&self, node: NodeId) -> bool {
        !self.died_ns.contains_key(&node)
    }

    /// Lets the next thing happen. The node that it happened to, `Some(None)` for what concerns all; `None` when nothing
    /// will ever happen again, or not within the time limit.
    pub fn step(&mut self) -> Option<Option<NodeId>> {
        let limit_ns = super::network::nanoseconds(self.options.time_limit);
        if self.events.peek()?.0.at_ns > limit_ns {
            return None;
        }
        let Reverse(Scheduled { at_ns, event, .. }) = self.events.pop()?;
        self.now_ns = at_ns;
        Some(match event {
            Event::Arrival { from, to, departs_ns, packet } => {
                let sender_died = self.died_ns.get(&from).is_some_and(|died_ns| *died_ns < departs_ns);
                if !sender_died && self.is_alive(to) {
                    self.arrive(from, to, packet);
                }
                Some(to)
            }
            Event::Timeout { from, to } => {
                self.look_for_acknowledgements(from, to);
                Some(from)
            }
            Event::Death { node } => {
                self.kill(node, true);
                None
            }
            Event::Obituary { to, dead } => {
                if self.is_alive(to) {
                    self.nodes[to.index()].handle_death(dead);
                    self.flush(to);
                }
                Some(to)
            }
            Event::Partition { nodes } => {
                self.network.set_partition(nodes);
                None
            }
            Event::Wake { node } => Some(node),
        })
    }

    /// Sends what a node wants to send.
    pub fn flush(&mut self, from: NodeId) {
        while let Some((to, message)) = self.nodes[from.index()].poll_transmit() {
            self.statistics.messages += 1;
            let parcel = match self.options.encode {
                false => Parcel::Message(message),
                true => match wire::encode(&message) {
                    Ok(bytes) => Parcel::Encoded(bytes.as_slice().into()),
                    Err(error) => panic!("{from} made a message that cannot travel: {error}"),
                },
            };
            let packet = self.outgoing.entry((from, to)).or_default().sender.handle_send(parcel);
            self.send(from, to, packet);
        }
    }

    /// A node dies now. Its survivors are told one by one, if `detected`; otherwise somebody else tells them.
    pub fn kill(&mut self, node: NodeId, detected: bool) {
        if !self.is_alive(node) {
            return;
        }
        self.died_ns.insert(node, self.now_ns);
        self.outgoing.retain(|(from, _), _| *from != node);
        self.incoming.retain(|(_, to), _| *to != node);
        if !detected {
            return;
        }
        for survivor in (0..self.options.nodes).map(NodeId) {
            if self.is_alive(survivor) {
                let at_ns = self.now_ns + self.network.draw_detection_ns();
                self.schedule(at_ns, Event::Obituary { to: survivor, dead: node });
            }
        }
    }

    pub fn kill_at(&mut self, at_ns: u64, node: NodeId) {
        self.schedule(at_ns, Event::Death { node });
    }

    pub fn partition_at(&mut self, at_ns: u64, nodes: NodeSet) {
        self.schedule(at_ns, Event::Partition { nodes });
    }

    pub fn wake_at(&mut self, at_ns: u64, node: NodeId) {
        self.schedule(at_ns, Event::Wake { node });
    }

    fn schedule(&mut self, at_ns: u64, event: Event) {
        self.last_number += 1;
        let at_ns = at_ns.max(self.now_ns);
        self.events.push(Reverse(Scheduled { at_ns, number: self.last_number, event }));
    }

    fn send(&mut self, from: NodeId, to: NodeId, packet: Packet<Parcel>) {
        let bytes = HEADER_BYTES
            + match &packet {
                Packet::Data(_, Parcel::Encoded(bytes)) => bytes.len(),
                Packet::Data(
                    _,
                    Parcel::Message(Message::Prepare { payload, .. } | Message::Fragment { payload, .. }),
                ) => payload.len(),
                Packet::Data(_, Parcel::Message(_)) | Packet::Acknowledge(_) => 0,
            };
        let is_data = matches!(packet, Packet::Data(..));
        let fate = self.network.send(self.now_ns, from, to, bytes);
        self.statistics.packets += 1;
        match fate.arrives_ns {
            Some(arrives_ns) => {
                let departs_ns = fate.departs_ns;
                self.schedule(arrives_ns, Event::Arrival { from, to, departs_ns, packet });
            }
            None => self.statistics.lost_packets += 1,
        }
        if is_data {
            self.set_timer(from, to, fate.departs_ns);
        }
    }

    fn set_timer(&mut self, from: NodeId, to: NodeId, moved_ns: u64) {
        let first_ns = self.network.model.retransmission_ns();
        let outgoing = self.outgoing.entry((from, to)).or_default();
        outgoing.last_moved_ns = outgoing.last_moved_ns.max(moved_ns);
        if !outgoing.is_timer_set {
            outgoing.is_timer_set = true;
            let at_ns = outgoing.last_moved_ns + first_ns * outgoing.sender.backoff();
            self.schedule(at_ns, Event::Timeout { from, to });
        }
    }

    fn look_for_acknowledgements(&mut self, from: NodeId, to: NodeId) {
        let first_ns = self.network.model.retransmission_ns();
        let Some(outgoing) = self.outgoing.get_mut(&(from, to)) else { return };
        outgoing.is_timer_set = false;
        if !outgoing.sender.is_waiting() {
            return;
        }
        if self.nodes[from.index()].dead().contains(to) {
            self.outgoing.remove(&(from, to));
            return;
        }
        if self.now_ns < outgoing.last_moved_ns + first_ns * outgoing.sender.backoff() {
            let moved_ns = outgoing.last_moved_ns;
            self.set_timer(from, to, moved_ns);
            return;
        }
        for packet in outgoing.sender.handle_timeout() {
            self.send(from, to, packet);
        }
    }

    fn arrive(&mut self, from: NodeId, to: NodeId, packet: Packet<Parcel>) {
        match packet {
            Packet::Acknowledge(below) => {
                if let Some(outgoing) = self.outgoing.get_mut(&(to, from)) {
                    outgoing.sender.handle_acknowledge(below);
                    outgoing.last_moved_ns = outgoing.last_moved_ns.max(self.now_ns);
                }
            }
            Packet::Data(number, parcel) => {
                let link = self.incoming.entry((from, to)).or_default();
                link.handle_data(number, parcel);
                let mut delivered = Vec::new();
                while let Some(parcel) = link.poll_deliver() {
                    delivered.push(parcel);
                }
                let below = link.acknowledgement();
                self.send(to, from, Packet::Acknowledge(below));
                for parcel in delivered {
                    self.deliver(from, to, parcel);
                }
                self.flush(to);
            }
        }
    }

    fn deliver(&mut self, from: NodeId, to: NodeId, parcel: Parcel) {
        let message = match parcel {
            Parcel::Message(message) => message,
            Parcel::Encoded(bytes) => match wire::decode(&bytes) {
                Ok(message) => message,
                Err(error) => panic!("{to} cannot read what {from} sent: {error}"),
            },
        };
        // All nodes here run the same code: one that breaks the protocol is a bug that a test must show.
        if let Err(error) = self.nodes[to.index()].handle_message(from, message) {
            panic!("at {} ns, {to}: {error}", self.now_ns);
        }
    }
}

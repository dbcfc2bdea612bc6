//! The simulated world: nodes that run the real tree protocol, a network between them, and virtual time.
//!
//! Invariant: everything that happens is an event in one queue, ordered by virtual time and, at the same
//! time, by the order in which events were made. So a run is a function of its options and the calls made on
//! it.

use super::link::{LinkReceiver, LinkSender, Packet};
use super::network::Network;
use super::options::SimOptions;
use crate::tree::{Lane, LaneReceiver, LaneSender, Message, TreeNode};
use bcs_core::event::EventTable;
use bcs_core::global_memory::SparseMemory;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_core::wire;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The bytes that a packet takes on the wire beyond its message.
const HEADER_BYTES: usize = 64;

/// What a record counts beside its bytes, so that empty ones are bounded, too.
const RECORD_HEAD_BYTES: usize = 8;

/// A message on its way, with the stamp of its lane.
#[derive(Clone, Debug)]
struct Parcel {
    stamp: u64,
    content: Content,
}

/// A message as it is, or as its encoding when the options ask for it.
#[derive(Clone, Debug)]
enum Content {
    Message(Message),
    Encoded(Arc<[u8]>),
    /// Not of the tree protocol: a record of the road.
    Record(Arc<[u8]>),
}

impl Content {
    /// What it takes on the wire beyond its header, in bytes.
    fn bytes(&self) -> usize {
        match self {
            Self::Encoded(bytes) | Self::Record(bytes) => bytes.len(),
            Self::Message(Message::Prepare { payload, .. } | Message::Fragment { payload, .. }) => {
                payload.len()
            }
            Self::Message(_) => 0,
        }
    }
}

/// Something that will happen.
#[derive(Debug)]
enum Event {
    /// A packet arrives, if its sender lived until it had left.
    Arrival { path: Path, departs_ns: u64, packet: Packet<Parcel> },
    /// A sender looks for missing acknowledgements.
    Timeout { path: Path },
    /// A node dies.
    Death { node: NodeId },
    /// A survivor is told of a death.
    Obituary { to: NodeId, dead: NodeId },
    /// The network falls apart, or heals.
    Partition { nodes: NodeSet },
    /// A driver asked to be woken.
    Wake { node: NodeId },
}

/// One lane of a link, in one direction. What it carries the other way are its acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Path {
    from: NodeId,
    to: NodeId,
    lane: Lane,
}

/// The receiving ends of a link's lanes. They keep no order beyond what the tree protocol is owed: a control
/// message that arrives is delivered, whatever bulk was sent before it.
#[derive(Debug, Default)]
struct Incoming {
    control: LinkReceiver<Parcel>,
    bulk: LinkReceiver<Parcel>,
    lanes: LaneReceiver,
    /// Bulk that has come in order, but waits for control messages.
    early: VecDeque<Parcel>,
}

impl Incoming {
    /// A data packet: what is to be delivered now, and the acknowledgement.
    fn handle_data(&mut self, lane: Lane, number: u64, parcel: Parcel) -> (Vec<Parcel>, u64) {
        let mut delivered = Vec::new();
        let link = match lane {
            Lane::Control => &mut self.control,
            Lane::Bulk => &mut self.bulk,
        };
        link.handle_data(number, parcel);
        while let Some(parcel) = link.poll_deliver() {
            match lane {
                Lane::Control => {
                    self.lanes.count_control();
                    delivered.push(parcel);
                }
                Lane::Bulk => self.early.push_back(parcel),
            }
        }
        let below = link.acknowledgement();
        let lanes = self.lanes;
        while let Some(parcel) = self.early.pop_front_if(|parcel| lanes.may_deliver(parcel.stamp)) {
            delivered.push(parcel);
        }
        (delivered, below)
    }
}

/// The sending end of a lane, and when it next looks for acknowledgements.
#[derive(Debug, Default)]
struct Outgoing {
    sender: LinkSender<Parcel>,
    /// The last time that something was sent or acknowledged.
    last_moved_ns: u64,
    is_timer_set: bool,
}

/// Records that have come to a node, with who sent them.
type Inbox = VecDeque<(NodeId, Arc<[u8]>)>;

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
    lanes: BTreeMap<(NodeId, NodeId), LaneSender>,
    /// Records that have come to a node, and that it has not polled.
    records: BTreeMap<NodeId, Inbox>,
    pub(super) road_bytes: usize,
    /// Bytes of records from one node to another that have not been polled, heads included.
    unpolled_bytes: BTreeMap<(NodeId, NodeId), usize>,
    outgoing: BTreeMap<Path, Outgoing>,
    incoming: BTreeMap<(NodeId, NodeId), Incoming>,
    /// What will happen, by its time and then by a number.
    events: BTreeMap<(u64, u64), Event>,
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
            lanes: BTreeMap::new(),
            records: BTreeMap::new(),
            road_bytes: options.road_bytes,
            unpolled_bytes: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            events: BTreeMap::new(),
            last_number: 0,
            options,
        }
    }

    pub fn is_alive(&self, node: NodeId) -> bool {
        !self.died_ns.contains_key(&node)
    }

    /// Lets the next thing happen. The node that it happened to, `Some(None)` for what concerns all; `None`
    /// when nothing will ever happen again, or not within the time limit.
    pub fn step(&mut self) -> Option<Option<NodeId>> {
        let limit_ns = super::network::nanoseconds(self.options.time_limit);
        let next = self.events.first_entry().filter(|next| next.key().0 <= limit_ns)?;
        let ((at_ns, _), event) = next.remove_entry();
        self.now_ns = at_ns;
        Some(match event {
            Event::Arrival { path, departs_ns, packet } => {
                let (from, to) = match packet {
                    Packet::Data(..) => (path.from, path.to),
                    Packet::Acknowledge(_) => (path.to, path.from),
                };
                let sender_died = self.died_ns.get(&from).is_some_and(|died_ns| *died_ns < departs_ns);
                if !sender_died && self.is_alive(to) {
                    self.arrive(path, packet);
                }
                Some(to)
            }
            Event::Timeout { path } => {
                self.look_for_acknowledgements(path);
                Some(path.from)
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
        while let Some((to, lane, message)) = self.nodes[from.index()].poll_transmit() {
            self.statistics.messages += 1;
            let content = match self.options.encode {
                false => Content::Message(message),
                true => match wire::encode(&message) {
                    Ok(bytes) => Content::Encoded(bytes.as_slice().into()),
                    Err(error) => panic!("{from} made a message that cannot travel: {error}"),
                },
            };
            let stamp = self.lanes.entry((from, to)).or_default().stamp(lane);
            let path = Path { from, to, lane };
            let parcel = Parcel { stamp, content };
            let packet = self.outgoing.entry(path).or_default().sender.handle_send(parcel);
            self.send(path, packet);
        }
    }

    /// Sends a record, behind the bulk of the tree protocol. False when too many bytes of records to that
    /// node wait.
    pub fn send_record(&mut self, from: NodeId, to: NodeId, record: Arc<[u8]>) -> bool {
        let bytes = RECORD_HEAD_BYTES + record.len();
        let unpolled = self.unpolled_bytes.entry((from, to)).or_default();
        if *unpolled + bytes > self.road_bytes {
            return false;
        }
        *unpolled += bytes;
        let stamp = self.lanes.entry((from, to)).or_default().stamp(Lane::Bulk);
        let path = Path { from, to, lane: Lane::Bulk };
        let parcel = Parcel { stamp, content: Content::Record(record) };
        let packet = self.outgoing.entry(path).or_default().sender.handle_send(parcel);
        self.send(path, packet);
        true
    }

    /// Takes the next record that has come to a node.
    pub fn take_record(&mut self, to: NodeId) -> Option<(NodeId, Arc<[u8]>)> {
        let (from, record) = self.records.get_mut(&to)?.pop_front()?;
        if let Some(unpolled) = self.unpolled_bytes.get_mut(&(from, to)) {
            *unpolled -= RECORD_HEAD_BYTES + record.len();
        }
        Some((from, record))
    }

    /// A node dies now. Its survivors are told one by one, if `detected`; otherwise somebody else tells them.
    pub fn kill(&mut self, node: NodeId, detected: bool) {
        if !self.is_alive(node) {
            return;
        }
        self.died_ns.insert(node, self.now_ns);
        self.outgoing.retain(|path, _| path.from != node);
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
        self.events.insert((at_ns, self.last_number), event);
    }

    fn send(&mut self, path: Path, packet: Packet<Parcel>) {
        let (bytes, is_data) = match &packet {
            Packet::Data(_, parcel) => (parcel.content.bytes(), true),
            Packet::Acknowledge(_) => (0, false),
        };
        let bytes = HEADER_BYTES + bytes;
        let (from, to) = if is_data { (path.from, path.to) } else { (path.to, path.from) };
        let fate = self.network.send(self.now_ns, from, to, bytes);
        self.statistics.packets += 1;
        match fate.arrives_ns {
            Some(arrives_ns) => {
                let departs_ns = fate.departs_ns;
                self.schedule(arrives_ns, Event::Arrival { path, departs_ns, packet });
            }
            None => self.statistics.lost_packets += 1,
        }
        if is_data {
            self.set_timer(path, fate.departs_ns);
        }
    }

    fn set_timer(&mut self, path: Path, moved_ns: u64) {
        let first_ns = self.network.model.retransmission_ns();
        let outgoing = self.outgoing.entry(path).or_default();
        outgoing.last_moved_ns = outgoing.last_moved_ns.max(moved_ns);
        if !outgoing.is_timer_set {
            outgoing.is_timer_set = true;
            let at_ns = outgoing.last_moved_ns + first_ns * outgoing.sender.backoff();
            self.schedule(at_ns, Event::Timeout { path });
        }
    }

    fn look_for_acknowledgements(&mut self, path: Path) {
        let first_ns = self.network.model.retransmission_ns();
        let Some(outgoing) = self.outgoing.get_mut(&path) else { return };
        outgoing.is_timer_set = false;
        if !outgoing.sender.is_waiting() {
            return;
        }
        if self.nodes[path.from.index()].dead().contains(path.to) {
            self.outgoing.remove(&path);
            return;
        }
        if self.now_ns < outgoing.last_moved_ns + first_ns * outgoing.sender.backoff() {
            let moved_ns = outgoing.last_moved_ns;
            self.set_timer(path, moved_ns);
            return;
        }
        for packet in outgoing.sender.handle_timeout() {
            self.send(path, packet);
        }
    }

    fn arrive(&mut self, path: Path, packet: Packet<Parcel>) {
        match packet {
            Packet::Acknowledge(below) => {
                if let Some(outgoing) = self.outgoing.get_mut(&path) {
                    outgoing.sender.handle_acknowledge(below);
                    outgoing.last_moved_ns = outgoing.last_moved_ns.max(self.now_ns);
                }
            }
            Packet::Data(number, parcel) => {
                let incoming = self.incoming.entry((path.from, path.to)).or_default();
                let (delivered, below) = incoming.handle_data(path.lane, number, parcel);
                self.send(path, Packet::Acknowledge(below));
                for parcel in delivered {
                    self.deliver(path.from, path.to, parcel.content);
                }
                self.flush(path.to);
            }
        }
    }

    fn deliver(&mut self, from: NodeId, to: NodeId, content: Content) {
        let message = match content {
            Content::Message(message) => message,
            Content::Record(record) => {
                return self.records.entry(to).or_default().push_back((from, record));
            }
            Content::Encoded(bytes) => match wire::decode(&bytes) {
                Ok(message) => message,
                Err(error) => panic!("{to} cannot read what {from} sent: {error}"),
            },
        };
        // All nodes here run the same code: one that breaks the protocol is a bug that a test must show.
        if let Err(error) = self.nodes[to.index()].handle_message(from, message) {
            panic!("at {} ns, {from} to {to}: {error}", self.now_ns);
        }
    }
}

//! The fabric over Quadrics QsNet: libelan by `dlopen`, hardware broadcast, network conditionals.
//!
//! QsNet is gone from the world: no hardware has run this. It is tested over a libelan made for tests
//! (`bcs-core/elan/library-for-tests`), which has the semantics that public sources tell of.
//!
//! | file | holds |
//! |---|---|
//! | `options` | who a node is, and which libraries |
//! | `library` | shared libraries, opened when they are needed |
//! | `libelan` | the functions of libelan, and of a NIC library, each with its source |
//! | `card` | this process on the network: puts, gets, broadcasts, conditionals, and their events |
//! | `window`, `far` | memory that the cards of all nodes reach; that of the other nodes |
//! | `frame` | how messages lie in rings and slots |
//! | `ring`, `link` | what goes to one other node, by puts |
//! | `broadcast` | what goes to several nodes, by the card's broadcast |
//! | `gather` | what several nodes answer, by the card's conditional |
//! | `driver` | who moves it all: whoever polls |
//!
//! **What the paper has of it.** Xfer-And-Signal to one node is puts. To several it is a broadcast for each
//! contiguous range, and the acknowledgements of all are one conditional; Compare-And-Write is a broadcast
//! that asks, a conditional that gathers the votes, and a broadcast that concludes, whatever the number of
//! nodes. The tree protocol ([`bcs_fabric::tree`]) sees to it that what the card does in one act for a range
//! is one act for any set, in one order with all others, also when nodes die.
//!
//! **When what moves.** Calls queue; [`Fabric::progress`], [`Fabric::wait`] and [`Road::poll`] send and
//! receive. Nothing wakes a process when a put has come: a driver with an event loop calls
//! [`Fabric::progress`] each [`Driven::timeout`].
//!
//! **Who is dead.** The card cannot tell: what a dead process should answer is tried again without end.
//! Quadrics' RMS, or Slurm, knew it and ended the job. Here whoever knows it, such as a job's control
//! network, tells the fabric of one node with [`Fabric::declare_dead`], and that one tells the others. A node
//! that does not keep the protocol is dead as well.
//!
//! **Who is on the network.** All processes that have the capability's key and context, which the kernel and
//! the resource manager give out: the card lets nobody else in, and those that it lets in may write each
//! other's windows. Nothing is sealed.

mod broadcast;
mod card;
mod driver;
mod far;
mod frame;
mod gather;
mod libelan;
mod library;
mod link;
mod options;
mod ring;
#[cfg(test)]
mod tests;
mod window;

pub use bcs_fabric::{LinkError, NetworkId, RosterError};
pub use card::CardError;
pub use driver::ElanFabric;
pub use library::LoadError;
pub use options::ElanOptions;

use bcs_core::event::{EventId, EventTable};
use bcs_core::global_memory::{GlobalAddress, GlobalMemory, GlobalVariable};
use bcs_core::ids::NodeId;
use bcs_core::node_set::{MAX_NODES, NodeSet};
use bcs_fabric::tree::TreeNode;
use bcs_fabric::{Assignment, Comparison, Driven, Fabric, FabricError, Operation, Road};
use bcs_fabric::{Source, Ticket, check_record};
use card::Card;
use driver::{Parts, Records};
use far::{Far, Windows};
use frame::Lengths;
use link::LinkState;
use ring::frame_bytes;
use rustix::event::{EventfdFlags, eventfd};
use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use window::{Layout, ROAD_RING, Window};

/// Where a node is on the network: what the others have to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct ElanAddress {
    /// Its virtual process number.
    pub process: u32,
    /// The card's address of its window.
    pub window: u64,
}

/// A node of a network, as all nodes of it know it. Its number is its place in the roster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct ElanMember {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: ElanAddress,
}

/// Why a port cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The card, or its libraries.
    #[error(transparent)]
    Card(#[from] CardError),
    /// An option that cannot be.
    #[error("the option {option} = {value} cannot be: {why}")]
    Option {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        why: &'static str,
    },
}

/// Why a node cannot join its network.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The roster.
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// The roster has another length than was said.
    #[error("the roster lists {found} nodes, and the port was opened for {expected}; open it for as many")]
    Nodes {
        /// For how many nodes memory was allocated.
        expected: u32,
        /// How many there are.
        found: usize,
    },
    /// The roster has another process for this node.
    #[error("the roster has {name} at {found:?}, but it is at {expected:?}")]
    Address {
        /// This node's name.
        name: String,
        /// Where it is.
        expected: ElanAddress,
        /// Where the roster has it.
        found: ElanAddress,
    },
    /// The descriptor for event loops.
    #[error("cannot make a descriptor for event loops: {0}; raise the limit on open files (ulimit -n)")]
    Descriptor(io::Error),
}

/// An open port, before the other nodes are known: its address goes into the roster.
#[derive(Debug)]
pub struct ElanPort {
    options: ElanOptions,
    card: Card,
    window: Window,
    address: ElanAddress,
}

impl ElanPort {
    /// Opens the card, and allocates the window for as many nodes as the options say.
    ///
    /// # Errors
    /// A library is missing or is not what is meant, the process has no capability, there is not so much
    /// memory for the card, or an option cannot be.
    pub fn bind(options: ElanOptions) -> Result<Self, BindError> {
        let layout = check(&options)?;
        let too_much = || BindError::Card(CardError::Memory { bytes: usize::MAX });
        let bytes = layout.bytes().ok_or_else(too_much)?;
        let (nic_library, capability) = (options.nic_library.as_deref(), options.capability.as_deref());
        let card = Card::open(&options.library, nic_library, capability)?;
        let base = card.allocate(bytes)?;
        let address = ElanAddress { process: options.process, window: card.address_of(base) };
        // SAFETY: just allocated, zeroed, at a multiple of 64; libelan keeps it as long as the process.
        let window = unsafe { Window::new(base, layout, bytes) };
        card.enable();
        Ok(Self { options, card, window, address })
    }

    /// Where it is.
    pub fn local_address(&self) -> ElanAddress {
        self.address
    }

    /// Joins the network: the roster lists all its nodes, this one included, in the same order everywhere,
    /// that of their virtual process numbers; a node's place is its number. The memory and the events are of
    /// the same size everywhere.
    ///
    /// Where there is a NIC library, broadcasts and conditionals are used if the roster allows it: processes
    /// are numbered one after another, and all windows are at the same address of the card
    /// ([`ElanFabric::has_broadcasts`]).
    ///
    /// # Errors
    /// The roster cannot be, or there is no descriptor for event loops.
    pub fn connect<M: GlobalMemory>(
        self,
        roster: Vec<ElanMember>,
        memory: M,
        events: EventTable,
    ) -> Result<ElanFabric<M>, JoinError> {
        let Self { options, card, window, address } = self;
        if roster.len() != options.nodes as usize {
            return Err(JoinError::Nodes { expected: options.nodes, found: roster.len() });
        }
        let node = place_in(&roster, &options.name)?;
        let found = roster[node.index()].address;
        if found != address {
            return Err(JoinError::Address { name: options.name, expected: address, found });
        }
        let first = roster[0].address;
        let is_uniform = roster.iter().zip(0..).all(|(member, place)| {
            member.address.window == first.window && member.address.process == first.process + place
        });
        let has_broadcasts = is_uniform && card.has_nic_library() && roster.len() > 1;
        let far =
            |member: &ElanMember| Far::new(member.address.process, card.stand_in(member.address.window));
        let windows = Windows { node, far: roster.iter().map(far).collect(), own: window };
        // A broadcast reaches all at once: nobody passes it on.
        let fanout = if has_broadcasts { roster.len() } else { options.fanout };
        let members = Arc::new(NodeSet::all(options.nodes));
        let tree = TreeNode::new(node, members, fanout, memory, events);
        let silence = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let silence = silence.map_err(|error| JoinError::Descriptor(error.into()))?;
        Ok(ElanFabric::new(Parts { options, tree, card, windows, has_broadcasts, silence }))
    }
}

/// What options must be.
fn check(options: &ElanOptions) -> Result<Layout, BindError> {
    let refused =
        |option, value: &dyn Debug, why| Err(BindError::Option { option, value: format!("{value:?}"), why });
    let is_size =
        |bytes: usize, least: usize, most: usize| bytes.is_power_of_two() && (least..=most).contains(&bytes);
    if options.nodes == 0 || options.nodes > MAX_NODES {
        return refused("nodes", &options.nodes, "at least 1, and no more than a node set holds");
    }
    if !is_size(options.ring_bytes, 8 << 10, 64 << 20) {
        return refused("ring_bytes", &options.ring_bytes, "a power of two from 8 KB to 64 MB");
    }
    if !is_size(options.slot_bytes, 1 << 10, 1 << 20) {
        return refused("slot_bytes", &options.slot_bytes, "a power of two from 1 KB to 1 MB");
    }
    Ok(Layout {
        nodes: options.nodes as usize,
        ring_bytes: options.ring_bytes,
        slot_bytes: options.slot_bytes,
    })
}

/// The place of the node of a name in a roster.
fn place_in(roster: &[ElanMember], name: &str) -> Result<NodeId, RosterError> {
    let mut seen = std::collections::HashMap::new();
    for (member, node) in roster.iter().zip((0..).map(NodeId)) {
        if let Some(first) = seen.insert(member.name.as_str(), node) {
            return Err(RosterError::Duplicate { name: member.name.clone(), first, second: node });
        }
    }
    let missing = || RosterError::Missing { name: name.to_owned(), members: roster.len() };
    seen.get(name).copied().ok_or_else(missing)
}

/// The clock. Nothing else here reads it.
#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

impl<M: GlobalMemory> ElanFabric<M> {
    /// Whether messages for several nodes are broadcasts of the card.
    pub fn has_broadcasts(&self) -> bool {
        self.has_broadcasts
    }

    /// The members that have not greeted, or take no further part, dead ones included.
    pub fn unconnected(&self) -> NodeSet {
        let links = self.links.iter().zip((0..).map(NodeId));
        let down = links.filter(|(link, node)| *node != self.own() && link.state != LinkState::Up);
        down.map(|(_, node)| node).collect()
    }

    /// Why the link to a node is broken; `None` while it is not.
    pub fn broken_link(&self, node: NodeId) -> Option<&str> {
        match &self.links.get(node.index())?.state {
            LinkState::Broken(reason) => Some(reason),
            LinkState::Silent | LinkState::Up | LinkState::Departed => None,
        }
    }

    /// This node's global memory.
    pub fn memory(&self) -> &M {
        self.tree.memory()
    }

    /// Leaves in order: waits until what was sent is in the memory of the others, and tells them. Afterwards
    /// this node takes no further part.
    ///
    /// # Errors
    /// Some have not had it in time. This node leaves all the same.
    pub fn shutdown(&mut self, within: Duration) -> Result<(), LinkError> {
        let until = now() + within;
        let nodes = loop {
            self.progress()?;
            let nodes = self.unacknowledged();
            if nodes.is_empty() || now() >= until {
                break nodes;
            }
            std::thread::sleep(self.options.poll_interval);
        };
        while !self.say_farewell()? && now() < until {
            std::thread::sleep(self.options.poll_interval);
        }
        // It closes its links first, so nobody hears of it.
        let own = self.own();
        self.tree.declare_dead(own)?;
        self.collect()?;
        match nodes.is_empty() {
            true => Ok(()),
            false => Err(LinkError::NotAcknowledged { nodes, within }),
        }
    }

    /// Before an operation: whether what waits to be sent allows it.
    fn check_backlog(&self, operation: Operation) -> Result<(), FabricError> {
        let limit = self.options.queue_bytes;
        match self.waiting_bytes() <= limit {
            true => Ok(()),
            false => Err(FabricError::Busy { operation, limit, unit: "bytes to send" }),
        }
    }
}

impl<M: GlobalMemory> Fabric for ElanFabric<M> {
    fn xfer_and_signal(
        &mut self,
        source: Source<'_>,
        destinations: &NodeSet,
        at: GlobalAddress,
        local_event: Option<EventId>,
        remote_event: Option<EventId>,
    ) -> Result<(), FabricError> {
        self.check_backlog(Operation::XferAndSignal)?;
        self.tree.xfer_and_signal(source, destinations, at, local_event, remote_event)?;
        self.collect()
    }

    fn test_event(&mut self, event: EventId) -> Result<u32, FabricError> {
        self.tree.test_event(event)
    }

    fn compare_and_write(
        &mut self,
        nodes: &NodeSet,
        comparison: Comparison,
        assignment: Option<Assignment>,
    ) -> Result<Ticket, FabricError> {
        self.check_backlog(Operation::CompareAndWrite)?;
        let ticket = self.tree.compare_and_write(nodes, comparison, assignment)?;
        self.collect()?;
        Ok(ticket)
    }

    fn test_query(&mut self, ticket: Ticket) -> Option<Result<bool, FabricError>> {
        self.tree.test_query(ticket)
    }

    fn read(&self, at: GlobalAddress, into: &mut [u8]) -> Result<(), FabricError> {
        self.tree.memory().read(at, into).map_err(FabricError::memory(Operation::Read))
    }

    fn load(&self, variable: GlobalVariable) -> Result<u64, FabricError> {
        self.tree.memory().load(variable).map_err(FabricError::memory(Operation::Read))
    }

    fn progress(&mut self) -> Result<(), FabricError> {
        self.drive(&mut Records::Kept).map(drop)
    }

    fn wait(&mut self) -> Result<(), FabricError> {
        let until = now() + self.options.spin;
        loop {
            if self.drive(&mut Records::Kept)? {
                return Ok(());
            }
            if now() >= until {
                break;
            }
        }
        std::thread::sleep(self.options.poll_interval);
        self.progress()
    }

    fn take_failure(&mut self) -> Option<FabricError> {
        self.tree.take_failure()
    }

    fn node(&self) -> NodeId {
        self.own()
    }

    fn members(&self) -> NodeSet {
        self.tree.members().clone()
    }

    fn dead(&self) -> NodeSet {
        self.tree.dead().clone()
    }

    fn declare_dead(&mut self, node: NodeId) -> Result<(), FabricError> {
        self.tree.declare_dead(node)?;
        self.collect()
    }
}

impl<M: GlobalMemory> Road for ElanFabric<M> {
    fn record_bytes(&self) -> usize {
        frame_bytes(self.options.ring_bytes)
    }

    fn send(&mut self, to: NodeId, parts: &[&[u8]]) -> Result<(), FabricError> {
        const OPERATION: Operation = Operation::Send;
        check_record(self, to, parts)?;
        if self.tree.is_cut_off() {
            return Err(FabricError::SelfDead { operation: OPERATION, node: self.own() });
        }
        let Some(link) = self.links.get_mut(to.index()) else {
            return Err(FabricError::NotAMember { operation: OPERATION, node: to, members: self.members() });
        };
        if !link.is_open() {
            return Err(FabricError::NodeDead { operation: OPERATION, node: to });
        }
        let bytes = parts.iter().map(|part| part.len()).sum();
        let words = [Lengths { bytes, head: 0, more: false }.to_word(), 0, 0];
        match link.send[ROAD_RING].append(&self.windows, (to, ROAD_RING), words, parts, true) {
            true => Ok(()),
            false => {
                let limit = self.options.ring_bytes;
                Err(FabricError::Busy { operation: OPERATION, limit, unit: "bytes of records" })
            }
        }
    }

    fn poll(&mut self, handle: &mut dyn FnMut(NodeId, &[u8])) -> Result<usize, FabricError> {
        let mut records = Records::Polled(handle, 0);
        self.drive(&mut records)?;
        match records {
            Records::Polled(_, count) => Ok(count),
            Records::Kept => Ok(0),
        }
    }
}

impl<M: GlobalMemory> AsFd for ElanFabric<M> {
    /// A descriptor that is never readable: nothing wakes whoever waits for a card. [`Driven::timeout`] says
    /// how often to look.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.silence.as_fd()
    }
}

impl<M: GlobalMemory + Send> Driven for ElanFabric<M> {
    fn timeout(&self) -> Option<Duration> {
        Some(self.options.poll_interval)
    }

    fn why_lost(&self, node: NodeId) -> Option<String> {
        self.broken_link(node).map(str::to_owned)
    }

    /// All links are there from the start.
    fn begin_connect(&mut self, _nodes: &NodeSet) {}

    fn unconnected(&self) -> NodeSet {
        Self::unconnected(self)
    }

    fn leave(&mut self, patience: Duration) {
        // Who has not had everything by then has something else to do than to listen to a node that has gone.
        let _ = self.shutdown(patience);
    }
}

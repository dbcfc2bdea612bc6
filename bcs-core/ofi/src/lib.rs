//! The fabric over libfabric: RDMA where it is present.
//!
//! | file | holds |
//! |---|---|
//! | `window` | the memory of a link as a network card sees it |
//! | `sender`, `receiver` | the two halves of a link: which write is next, what has come |
//! | `operation` | what a write is for |
//! | `letter` | what nodes tell each other before they write to each other |
//! | `link` | the link to one other node |
//! | `driver` | who moves it all: whoever polls |
//! | `poller` | what a driver sleeps on |
//! | `options`, `error` | how a node joins, and why it cannot |
//!
//! **How bytes move.** A link has a ring in each direction, at both ends of the same size ([`bcs_link`]).
//! Records are appended at one end. One-sided writes bring the new bytes into the other end's ring, which is
//! registered for that, and then a *signal*: the position up to which they have come, a word in that node's
//! memory. So whoever waits there sees a message come without a call, where a network card writes memory by
//! itself; a provider in software has to be driven ([`Driven::carry`]). Other processes of the node that
//! have the memory of the links ([`Driven::share_links`]) see signals, too, and take and append records
//! themselves. Credit, the position up to which records were taken, comes back in the same way. Messages of
//! the tree protocol, with the payloads of Xfer-And-Signal, and records of the [`Road`] are such records, as
//! on the links of [`bcs_tcp`].
//!
//! **Order.** A signal that is seen before its data would end a job wrong, without a word. So it is posted
//! only as the provider's promises allow ([`SignalOrder`]): behind the data where writes keep their order,
//! else when the data has been delivered. What a provider does not promise is not assumed, not even that
//! the bytes of a word appear at once ([`bcs_link::SignalWords`]).
//!
//! **Who is who.** Nodes prove who they are over links of [`bcs_tcp`] (mutual TLS). Over these they tell each
//! other their addresses and the keys of their memory, and find out who is dead. **What travels over
//! libfabric is neither encrypted nor authenticated:** whoever is on that network can read it, and whoever
//! has or guesses a key can write into the ring that the key is for. `docs/security.md` says what follows.
//!
//! **When what moves.** Calls queue; [`Fabric::progress`], [`Fabric::wait`] and [`Road::poll`] write and
//! look. A driver with an event loop waits for [`OfiFabric::as_fd`] to become readable and for
//! [`OfiFabric::next_timeout`] to pass, whichever comes first. A network card that writes memory wakes
//! nobody, so with most providers that time is short while links are up ([`Promises::wakes`]).
//!
//! **Who is dead.** A node whose link of [`bcs_tcp`] breaks, to which a write fails, or whose writes do not
//! complete; and one that leaves other than with [`OfiFabric::shutdown`].

mod driver;
mod error;
mod letter;
mod link;
mod operation;
mod options;
mod poller;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod window;

pub use bcs_fabric::{BindError, LinkError, Member, NetworkId, RosterError};
pub use bcs_libfabric::{HARDWARE, LibraryVersion, OfiError, Promises, SignalOrder};
pub use driver::OfiFabric;
pub use error::{OfiBindError, OfiJoinError};
pub use link::LinkStatistics;
pub use options::OfiOptions;

use bcs_core::event::{EventId, EventTable};
use bcs_core::global_memory::{GlobalAddress, GlobalMemory, GlobalVariable, SparseMemory};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_fabric::tree::TreeNode;
use bcs_fabric::{
    Assignment, Carried, Comparison, Driven, Fabric, FabricError, LinkDescriptors, MemberNames,
};
use bcs_fabric::{Operation, Polling, Road, Source, Ticket, check_record};
use bcs_libfabric::{Endpoint, Offer};
use bcs_link::LinkLayout;
use bcs_tcp::memory::LinkMemory;
use bcs_tcp::{JoinError, TcpOptions, TcpPort};
use driver::{Parts, Records};
use link::LinkState;
use smallvec::SmallVec;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The rings of the links over which nodes prove who they are: letters are short.
const PROOF_RING_BYTES: usize = 16 << 10;

/// A bound port, before the other nodes are known: its address goes into the roster.
#[derive(Debug)]
pub struct OfiPort {
    options: OfiOptions,
    layout: LinkLayout,
    proven: TcpPort,
    offer: Offer,
}

/// What libfabric and its provider promise on this node, or why they cannot be used: what a node can say of
/// itself before any job comes. The provider and the address are as in [`OfiOptions`].
///
/// # Errors
/// libfabric is not there, the provider is not, or does not do what is needed.
pub fn survey(provider: Option<&str>, address: std::net::IpAddr) -> Result<Promises, OfiError> {
    Offer::choose(provider, None, address).map(|offer| offer.promises)
}

impl OfiPort {
    /// Binds to a network.
    ///
    /// # Errors
    /// The address cannot be listened on, no port of the range is free, the credential or an option cannot be
    /// used; libfabric is not there, or the provider is not, or does not do what is needed.
    pub fn bind(options: OfiOptions) -> Result<Self, OfiBindError> {
        let listener = bcs_tcp::bind_listener(options.links.listen, options.links.ports)?;
        Self::with_listener(options, listener)
    }

    /// Binds to a network with a port that was bound before ([`bcs_tcp::bind_listener`]), and that no other
    /// network uses.
    ///
    /// # Errors
    /// As [`OfiPort::bind`].
    pub fn with_listener(options: OfiOptions, listener: TcpListener) -> Result<Self, OfiBindError> {
        let layout = LinkLayout::new(options.links.ring_bytes).map_err(|error| BindError::Option {
            option: "ring_bytes",
            value: error.0.to_string(),
            why: "a power of two from 4 KB to 64 MB",
        })?;
        let below =
            TcpOptions { ring_bytes: PROOF_RING_BYTES, spin: Duration::ZERO, ..options.links.clone() };
        let proven = TcpPort::with_listener(below, listener)?;
        let offer = Offer::choose(options.provider.as_deref(), options.order, options.links.listen)?;
        Ok(Self { options, layout, proven, offer })
    }

    /// Where it listens, with the port that was free.
    pub fn local_address(&self) -> SocketAddr {
        self.proven.local_address()
    }

    /// What the provider promises.
    pub fn promises(&self) -> &Promises {
        &self.offer.promises
    }

    /// Joins the network: the roster lists all its nodes, this one included, in the same order everywhere; a
    /// node's place is its number. The memory and the events are of the same size everywhere. Links come up
    /// when they are needed, or with [`Driven::begin_connect`].
    ///
    /// # Errors
    /// The roster cannot be, there is no memory or no descriptors for so many links, or the provider refuses
    /// to open an endpoint.
    pub fn connect<M: GlobalMemory>(
        self,
        roster: Vec<Member>,
        memory: M,
        events: EventTable,
    ) -> Result<OfiFabric<M>, OfiJoinError> {
        let Self { options, layout, proven, offer } = self;
        let (_, node) = MemberNames::new(&roster, &options.links.credential.name())?;
        let nodes = roster.len();
        let members = Arc::new(NodeSet::all(nodes as u32));
        let tree = TreeNode::new(node, members, options.links.fanout, memory, events);
        let memory = LinkMemory::map_with(nodes, layout, window::BEHIND_BYTES)
            .map_err(|error| JoinError::Memory { links: nodes, error })?;
        let endpoint = Endpoint::open(&offer, nodes, operation::WRITES_LIMIT)?;
        let proven = proven.connect(roster, SparseMemory::new(0), EventTable::new(0))?;
        let watched = [Some(proven.as_fd()), endpoint.descriptor()].into_iter().flatten();
        let poller = poller::Poller::new(watched).map_err(OfiJoinError::Poller)?;
        Ok(OfiFabric::new(Parts { options, tree, endpoint, memory, proven, poller, nodes }))
    }
}

impl<M: GlobalMemory> OfiFabric<M> {
    /// Leaves in order: waits until the other ends of all links have taken what was sent to them, and closes
    /// the links. Afterwards this node takes no further part.
    ///
    /// # Errors
    /// Some have not had it in time. The links are closed all the same.
    pub fn shutdown(&mut self, within: Duration) -> Result<(), LinkError> {
        let until = driver::now() + within;
        self.is_leaving = true;
        let nodes = loop {
            self.progress()?;
            let nodes = self.take_leave();
            let has_letters = self.links.iter().any(|link| !link.letters.is_empty());
            let now = driver::now();
            if (nodes.is_empty() && !has_letters) || now >= until {
                break nodes;
            }
            self.sleep(Some(until.min(now + Duration::from_millis(1))))?;
            self.ask_at_once();
        };
        let own = self.node;
        self.tree.declare_dead(own)?;
        self.progress()?;
        // Letters that were sent last are on their way.
        let left = self.proven.shutdown(until.saturating_duration_since(driver::now()));
        match (nodes.is_empty(), left) {
            (true, left) => left,
            (false, _) => Err(LinkError::NotAcknowledged { nodes, within }),
        }
    }

    /// Why the link to a node is broken; `None` while it is not.
    pub fn broken_link(&self, node: NodeId) -> Option<&str> {
        match &self.links.get(node.index())?.state {
            LinkState::Broken(reason) => Some(reason),
            _ => None,
        }
    }

    /// What the provider promises.
    pub fn promises(&self) -> &Promises {
        self.endpoint.promises()
    }

    /// What the fabric has done so far, over all links.
    pub fn statistics(&self) -> LinkStatistics {
        let mut all = LinkStatistics::default();
        for link in &self.links {
            all.sent += link.statistics.sent;
            all.received += link.statistics.received;
            all.records_sent += link.statistics.records_sent;
            all.records_received += link.statistics.records_received;
            all.writes += link.statistics.writes;
        }
        all
    }

    /// This node's global memory.
    pub fn memory(&self) -> &M {
        self.tree.memory()
    }

    /// Sleeps until something arrives or is due, at the latest until a time.
    fn sleep(&mut self, until: Option<Instant>) -> Result<(), FabricError> {
        let due = self.next_timeout().into_iter().chain(until).min();
        let at_most = due.map(|due| due.saturating_duration_since(driver::now()));
        let failed =
            |error: std::io::Error| FabricError::Network { node: self.node, reason: error.to_string() };
        self.poller.wait(at_most).map_err(failed)?;
        if at_most.is_none_or(|at_most| at_most >= Duration::from_millis(1)) {
            self.ask_at_once();
        }
        Ok(())
    }

    /// Before an operation: whether what waits to be sent allows it.
    fn check_backlog(&self, operation: Operation) -> Result<(), FabricError> {
        let limit = self.options.links.queue_bytes;
        match self.backlog.own <= limit {
            true => Ok(()),
            false => Err(FabricError::Busy { operation, limit, unit: "bytes to send" }),
        }
    }
}

impl<M: GlobalMemory> Fabric for OfiFabric<M> {
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
        self.collect();
        Ok(())
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
        self.collect();
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
        if self.drive(&mut Records::Kept)? {
            return Ok(());
        }
        let spin = self.options.links.spin;
        if !spin.is_zero() {
            let until = driver::now() + spin;
            while driver::now() < until {
                if self.drive(&mut Records::Kept)? {
                    return Ok(());
                }
            }
        }
        self.sleep(None)?;
        self.progress()
    }

    fn take_failure(&mut self) -> Option<FabricError> {
        self.tree.take_failure()
    }

    fn node(&self) -> NodeId {
        self.node
    }

    fn members(&self) -> NodeSet {
        self.tree.members().clone()
    }

    fn dead(&self) -> NodeSet {
        self.tree.dead().clone()
    }

    fn declare_dead(&mut self, node: NodeId) -> Result<(), FabricError> {
        self.tree.declare_dead(node)?;
        self.collect();
        Ok(())
    }
}

impl<M: GlobalMemory> Road for OfiFabric<M> {
    fn record_bytes(&self) -> usize {
        self.layout().record_bytes() - bcs_tcp::message::HEADER_BYTES
    }

    fn send(&mut self, to: NodeId, parts: &[&[u8]]) -> Result<(), FabricError> {
        const OPERATION: Operation = Operation::Send;
        check_record(self, to, parts)?;
        if self.tree.is_cut_off() {
            return Err(FabricError::SelfDead { operation: OPERATION, node: self.node });
        }
        let limit = self.layout().ring_bytes();
        let busy = FabricError::Busy { operation: OPERATION, limit, unit: "bytes of records" };
        let Some(link) = self.links.get_mut(to.index()) else {
            return Err(FabricError::NotAMember { operation: OPERATION, node: to, members: self.members() });
        };
        match (&link.state, &link.wire) {
            (LinkState::Up, Some(wire)) => {
                let mut record: SmallVec<[&[u8]; 8]> = SmallVec::new();
                record.push(&bcs_link::ROAD_HEADER);
                record.extend_from_slice(parts);
                // A link that has just ended is found by the next round.
                let is_sent = wire.owned.end.append_beside_others(&record).unwrap_or(false);
                link.statistics.records_sent += u64::from(is_sent);
                if is_sent { Ok(()) } else { Err(busy) }
            }
            (LinkState::Departed | LinkState::Broken(_), _) => {
                Err(FabricError::NodeDead { operation: OPERATION, node: to })
            }
            _ => {
                self.greet_now(to);
                Err(busy)
            }
        }
    }

    fn poll(&mut self, handle: &mut dyn FnMut(NodeId, &[u8])) -> Result<usize, FabricError> {
        let kept = self.inbox.len();
        while let Some((from, record)) = self.inbox.pop_front() {
            self.links[from.index()].unpolled = 0;
            handle(from, &record);
        }
        let mut records = Records::Polled(handle, kept);
        self.drive(&mut records)?;
        match records {
            Records::Polled(_, count) => Ok(count),
            Records::Kept => Ok(kept),
        }
    }
}

impl<M: GlobalMemory> AsFd for OfiFabric<M> {
    /// An epoll: readable when something has arrived, as far as the provider tells. It is not to be read
    /// from.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

impl<M: GlobalMemory + Send> Driven for OfiFabric<M> {
    fn timeout(&self) -> Option<Duration> {
        self.next_timeout().map(|due| due.saturating_duration_since(driver::now()))
    }

    fn why_lost(&self, node: NodeId) -> Option<String> {
        self.broken_link(node).map(str::to_owned)
    }

    fn stopped(&self) -> NodeSet {
        // Over the links that prove who a node is, it says something from time to time.
        self.proven.stopped()
    }

    fn polling(&self) -> Polling {
        Polling::Always
    }

    fn take_remark(&mut self) -> Option<String> {
        self.remark.take()
    }

    fn has_links_to_share(&self) -> bool {
        true
    }

    fn share_links(&mut self) -> Option<LinkDescriptors<'_>> {
        self.is_shared = true;
        let up = self.links.iter().zip((0..).map(NodeId)).filter(|(link, _)| link.is_up());
        let links = up.map(|(_, node)| (node, None)).collect();
        let (memory, stride_bytes) = (self.memory.file(), self.memory.stride_bytes());
        let card = Some((self.options.links.listen, self.endpoint.promises().provider.as_str()));
        Some(LinkDescriptors { memory, ring_bytes: self.layout().ring_bytes(), stride_bytes, links, card })
    }

    fn carry(&mut self) -> Result<Carried, FabricError> {
        self.drive_bytes()
    }

    fn begin_connect(&mut self, nodes: &NodeSet) {
        let (node, members) = (self.node, self.links.len());
        for other in nodes.iter().filter(|other| *other > node && other.index() < members) {
            self.greet_now(other);
        }
    }

    fn unconnected(&self) -> NodeSet {
        let links = self.links.iter().zip((0..).map(NodeId));
        let down = links.filter(|(link, node)| *node != self.node && !link.is_up());
        down.map(|(_, node)| node).collect()
    }

    fn leave(&mut self, patience: Duration) {
        // Who has not had everything by then has something else to do than to listen to a node that has gone.
        let _ = self.shutdown(patience);
    }
}

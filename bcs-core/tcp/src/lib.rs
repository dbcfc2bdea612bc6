//! The fabric over TCP: links that whoever waits can drive ([`bcs_link`]) below the tree protocol, and the
//! road of records natively.
//!
//! | file | holds |
//! |---|---|
//! | `options` | who a node is, its patience |
//! | `tls` | what both ends of a link prove to each other |
//! | `memory` | where links lie: memory that processes can share |
//! | `poller` | which sockets are ready |
//! | `message` | how messages and records lie in a link |
//! | `outbox` | what waits to go over a link |
//! | `link` | the link to one other node: lifecycle |
//! | `handshake` | who is at the other end, and a link's first secrets |
//! | `connection` | connections that are no link yet, or no link any more |
//! | `host` | whether the host at the other end still answers |
//! | `driver` | who moves it all: whoever polls |
//!
//! The kernel's TCP brings bytes, in order and without loss, and keeps the network from being flooded. Both
//! ends of a link prove with a certificate of the network's authority that they are the member that the
//! roster names (mutual TLS 1.3); then what travels is sealed with keys from that handshake, or, on a network
//! that is trusted, plain ([`TcpOptions::seal`]). `docs/security.md` says what follows from that.
//!
//! Messages of the tree protocol, whole payloads among them, travel as records of the links, cut where they
//! are longer than a record; so do records of the [`Road`], which are handed on as they are.
//!
//! **When what moves.** Calls queue; [`Fabric::progress`], [`Fabric::wait`] and [`Road::poll`] send and
//! receive. So several operations that are started together travel together. A driver with an event loop
//! waits for [`TcpFabric::as_fd`] to become readable and for [`TcpFabric::next_timeout`] to pass, whichever
//! comes first, and then calls [`Fabric::progress`].
//!
//! **Who is dead.** A node whose link breaks: because its connection ends, because nothing comes for the idle
//! timeout ([`Silence`] says from whom), because it does not keep the protocol, because it cannot be reached
//! when it is needed. One that leaves with [`TcpFabric::shutdown`] is not, unless operations include it.

mod connection;
mod driver;
mod handshake;
mod host;
mod link;
pub mod memory;
pub mod message;
mod options;
pub mod outbox;
mod poller;
#[cfg(test)]
mod tests;
mod tls;

pub use bcs_fabric::{BindError, LinkError, Member, NetworkId, RosterError, Silence};
pub use driver::TcpFabric;
pub use link::LinkStatistics;
pub use options::TcpOptions;

use bcs_core::PortRange;
use bcs_core::event::{EventId, EventTable};
use bcs_core::global_memory::{GlobalAddress, GlobalMemory, GlobalVariable};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_fabric::tree::TreeNode;
use bcs_fabric::{Assignment, Comparison, Driven, Fabric, FabricError, MemberNames, Operation, Road};
use bcs_fabric::{LinkDescriptors, Source, Ticket, check_record};
use bcs_link::{LinkLayout, LinkLock};
use connection::CloseCode;
use driver::{Parts, Records};
use link::LinkState;
use memory::LinkMemory;
use poller::{Poller, Token};
use smallvec::SmallVec;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why a link is broken of which a process has held this lock, and died.
pub fn half_done((lock, process): (LinkLock, u32)) -> String {
    format!("process {process} died while it held the lock {lock:?} of the link; what it did is half done")
}

/// What errors call the ports.
const PROTOCOL: &str = "TCP";

/// A bound port, before the other nodes are known: its address goes into the roster.
#[derive(Debug)]
pub struct TcpPort {
    options: TcpOptions,
    listener: TcpListener,
    poller: Poller,
    address: SocketAddr,
    configs: tls::Configs,
    layout: LinkLayout,
}

/// Binds a port for a network that is joined later, with [`TcpPort::with_listener`]: the first of the ports
/// that is free.
///
/// # Errors
/// The address cannot be listened on, or no port of the range is free.
pub fn bind_listener(address: IpAddr, ports: PortRange) -> Result<TcpListener, BindError> {
    let is_taken =
        |bound: &io::Result<_>| matches!(bound, Err(error) if error.kind() == io::ErrorKind::AddrInUse);
    let mut tried = ports.ports().map(|port| TcpListener::bind((address, port)));
    match tried.find(|bound| !is_taken(bound)) {
        Some(bound) => bound.map_err(|error| BindError::Socket { protocol: PROTOCOL, address, ports, error }),
        None => Err(BindError::Taken { protocol: PROTOCOL, address, ports }),
    }
}

impl TcpPort {
    /// Binds to a network.
    ///
    /// # Errors
    /// The address cannot be listened on, no port of the range is free, the credential cannot be used, or an
    /// option cannot be.
    pub fn bind(options: TcpOptions) -> Result<Self, BindError> {
        let listener = bind_listener(options.listen, options.ports)?;
        Self::with_listener(options, listener)
    }

    /// Binds to a network with a port that was bound before ([`bind_listener`]), and that no other network
    /// uses.
    ///
    /// # Errors
    /// The port cannot be set up, the credential cannot be used, or an option cannot be.
    pub fn with_listener(options: TcpOptions, listener: TcpListener) -> Result<Self, BindError> {
        let layout = options.check()?;
        let configs = tls::configure(&options.credential, options.network, options.seal)?;
        let TcpOptions { listen: address, ports, .. } = options;
        let failed = |error| BindError::Socket { protocol: PROTOCOL, address, ports, error };
        listener.set_nonblocking(true).map_err(failed)?;
        let poller = Poller::new().map_err(failed)?;
        poller.add(&listener, Token::Listener, false).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { options, listener, poller, address, configs, layout })
    }

    /// Where it listens, with the port that was free.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Joins the network: the roster lists all its nodes, this one included, in the same order everywhere; a
    /// node's place is its number. The memory and the events are of the same size everywhere. Links come up
    /// when they are needed, or with [`TcpFabric::begin_connect_all`].
    ///
    /// # Errors
    /// The roster cannot be, or there is no memory or no descriptors for so many links.
    pub fn connect<M: GlobalMemory>(
        self,
        roster: Vec<Member>,
        memory: M,
        events: EventTable,
    ) -> Result<TcpFabric<M>, JoinError> {
        let (names, node) = MemberNames::new(&roster, &self.options.credential.name())?;
        let members = Arc::new(NodeSet::all(roster.len() as u32));
        let tree = TreeNode::new(node, members, self.options.fanout, memory, events);
        let links = roster.len();
        check_descriptors(links)?;
        let memory =
            LinkMemory::map(links, self.layout).map_err(|error| JoinError::Memory { links, error })?;
        let Self { options, listener, poller, configs, .. } = self;
        Ok(TcpFabric::new(Parts { options, tree, listener, poller, configs, memory, roster, names }))
    }
}

/// Why a node cannot join its network.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The roster.
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// A link to each node needs a descriptor.
    #[error(
        "links to {links} nodes need {needed} open files, and {limit} are allowed; raise the limit (ulimit -n)"
    )]
    Descriptors {
        /// The number of nodes.
        links: usize,
        /// How many descriptors they need, with some to spare.
        needed: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// The memory of the links.
    #[error("cannot map memory for links to {links} nodes: {error}")]
    Memory {
        /// The number of nodes.
        links: usize,
        /// What the system says.
        error: io::Error,
    },
}

/// Descriptors that a process has for other things than links: standard streams, ranks, pipes.
const OTHER_DESCRIPTORS: u64 = 64;

fn check_descriptors(links: usize) -> Result<(), JoinError> {
    let needed = links as u64 + OTHER_DESCRIPTORS;
    match rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        Some(limit) if limit < needed => Err(JoinError::Descriptors { links, needed, limit }),
        _ => Ok(()),
    }
}

/// What a fabric has done, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpStatistics {
    /// Frames that were sealed and opened, over all links that are up.
    pub frames_sent: u64,
    /// As `frames_sent`.
    pub frames_received: u64,
    /// Messages of the tree protocol and records of the road, over all links.
    pub messages: LinkStatistics,
    /// Connections that were closed because their other end was no member, or not wanted, or did not finish.
    pub refused_connections: u64,
}

impl<M: GlobalMemory> TcpFabric<M> {
    /// Begins to bring up all links: this node dials those of higher numbers; the others are dialled from
    /// their other ends. [`Fabric::progress`] goes on with it, [`TcpFabric::unconnected`] says how far it is.
    pub fn begin_connect_all(&mut self) {
        self.begin_connect(&NodeSet::all(self.links.len() as u32));
    }

    /// Begins to bring up the links to these members: of two nodes that do so for each other, the lower one
    /// dials. Others come up when they are needed.
    pub fn begin_connect(&mut self, nodes: &NodeSet) {
        let (node, members) = (self.node, self.links.len());
        for other in nodes.iter().filter(|other| *other > node && other.index() < members) {
            self.dial_idle(other);
        }
    }

    /// The members whose links are not up, dead ones included.
    pub fn unconnected(&self) -> NodeSet {
        let links = self.links.iter().zip((0..).map(NodeId));
        let down = links.filter(|(link, node)| *node != self.node && !link.is_up());
        down.map(|(_, node)| node).collect()
    }

    /// Leaves in order: waits until the other ends of all links have had what was sent to them, and closes
    /// the links. Afterwards this node takes no further part.
    ///
    /// # Errors
    /// Some have not had it in time. The links are closed all the same.
    pub fn shutdown(&mut self, within: Duration) -> Result<(), LinkError> {
        let until = driver::now() + within;
        self.progress()?;
        self.is_leaving = true;
        let nodes = loop {
            (0..self.links.len() as u32).for_each(|node| self.mark(NodeId(node)));
            self.progress()?;
            let nodes = self.unacknowledged();
            if nodes.is_empty() || driver::now() >= until {
                break nodes;
            }
            self.sleep(Some(until))?;
        };
        self.close_all(CloseCode::Resigned);
        // Its links are closed, so nobody hears of it.
        let own = self.node;
        self.tree.declare_dead(own)?;
        self.progress()?;
        match nodes.is_empty() {
            true => Ok(()),
            false => Err(LinkError::NotAcknowledged { nodes, within }),
        }
    }

    /// Why the link to a node is broken; `None` while it is not.
    pub fn broken_link(&self, node: NodeId) -> Option<&str> {
        match &self.links.get(node.index())?.state {
            LinkState::Broken(reason) => Some(reason),
            _ => None,
        }
    }

    /// What the fabric has done so far.
    pub fn statistics(&self) -> TcpStatistics {
        let mut all = TcpStatistics { refused_connections: self.refused_connections, ..Default::default() };
        for link in &self.links {
            all.messages.sent += link.statistics.sent;
            all.messages.received += link.statistics.received;
            all.messages.records_sent += link.statistics.records_sent;
            all.messages.records_received += link.statistics.records_received;
            if let Some(wire) = &link.wire {
                all.frames_sent += wire.owned.end.frames_sent();
                all.frames_received += wire.owned.end.frames_received();
            }
        }
        all
    }

    /// Whether the others hold this node for dead, or it has left: it takes no further part.
    pub fn is_cut_off(&self) -> bool {
        self.tree.is_cut_off()
    }

    /// Whether the link to a node is over because the node has left in order.
    pub fn has_left(&self, node: NodeId) -> bool {
        matches!(self.links.get(node.index()).map(|link| &link.state), Some(LinkState::Departed))
    }

    /// The nodes that have said nothing for the idle timeout although their hosts answer.
    pub fn stopped(&self) -> NodeSet {
        let links = self.links.iter().zip((0..).map(NodeId));
        let stopped = links.filter(|(link, _)| link.wire.as_ref().is_some_and(|wire| wire.is_stopped));
        stopped.map(|(_, node)| node).collect()
    }

    /// This node's global memory.
    pub fn memory(&self) -> &M {
        self.tree.memory()
    }

    fn network_error(&self, error: &io::Error) -> FabricError {
        FabricError::Network { node: self.node, reason: error.to_string() }
    }

    /// Sleeps until something arrives or is due, at the latest until a time.
    fn sleep(&mut self, until: Option<Instant>) -> Result<(), FabricError> {
        let due = self.next_timeout().into_iter().chain(until).min();
        let at_most = due.map(|due| due.saturating_duration_since(driver::now()));
        // Which sockets are ready is asked again by the round that follows.
        self.poller.wait(at_most, &mut Vec::new()).map_err(|error| self.network_error(&error))?;
        self.ask_at_once();
        Ok(())
    }

    /// Before an operation: whether what waits to be sent allows it.
    fn check_backlog(&self, operation: Operation) -> Result<(), FabricError> {
        match self.backlog.own <= self.options.queue_bytes {
            true => Ok(()),
            false => {
                Err(FabricError::Busy { operation, limit: self.options.queue_bytes, unit: "bytes to send" })
            }
        }
    }
}

impl<M: GlobalMemory> Fabric for TcpFabric<M> {
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
        if !self.options.spin.is_zero() {
            let until = driver::now() + self.options.spin;
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

impl<M: GlobalMemory> Road for TcpFabric<M> {
    fn record_bytes(&self) -> usize {
        self.memory.layout().record_bytes() - message::HEADER_BYTES
    }

    fn send(&mut self, to: NodeId, parts: &[&[u8]]) -> Result<(), FabricError> {
        const OPERATION: Operation = Operation::Send;
        check_record(self, to, parts)?;
        if self.tree.is_cut_off() {
            return Err(FabricError::SelfDead { operation: OPERATION, node: self.node });
        }
        let Some(link) = self.links.get_mut(to.index()) else {
            return Err(FabricError::NotAMember { operation: OPERATION, node: to, members: self.members() });
        };
        let limit = self.options.ring_bytes;
        let busy = FabricError::Busy { operation: OPERATION, limit, unit: "bytes of records" };
        match (&link.state, &link.wire) {
            (LinkState::Up, Some(wire)) => {
                let mut record: SmallVec<[&[u8]; 8]> = SmallVec::new();
                record.push(&bcs_link::ROAD_HEADER);
                record.extend_from_slice(parts);
                // A link that has just ended is found by the next round.
                let is_sent = wire.owned.end.append_beside_others(&record).unwrap_or(false);
                link.statistics.records_sent += u64::from(is_sent);
                self.mark(to);
                if is_sent { Ok(()) } else { Err(busy) }
            }
            (LinkState::Departed | LinkState::Broken(_), _) => {
                Err(FabricError::NodeDead { operation: OPERATION, node: to })
            }
            (LinkState::Idle, _) => {
                self.dial_idle(to);
                Err(busy)
            }
            _ => Err(busy),
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

impl<M: GlobalMemory> Drop for TcpFabric<M> {
    /// Who is dropped without having left in order tells the others, as far as it can without waiting. No
    /// secret of a link stays in memory.
    fn drop(&mut self) {
        self.close_all(CloseCode::Resigned);
        self.wipe();
    }
}

impl<M: GlobalMemory> AsFd for TcpFabric<M> {
    /// An epoll: readable when something has arrived. It is not to be read from.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

impl<M: GlobalMemory + Send> Driven for TcpFabric<M> {
    fn timeout(&self) -> Option<Duration> {
        self.next_timeout().map(|due| due.saturating_duration_since(driver::now()))
    }

    fn why_lost(&self, node: NodeId) -> Option<String> {
        self.broken_link(node).map(str::to_owned)
    }

    fn stopped(&self) -> NodeSet {
        Self::stopped(self)
    }

    fn begin_connect(&mut self, nodes: &NodeSet) {
        Self::begin_connect(self, nodes);
    }

    fn unconnected(&self) -> NodeSet {
        Self::unconnected(self)
    }

    fn has_links_to_share(&self) -> bool {
        true
    }

    fn share_links(&mut self) -> Option<LinkDescriptors<'_>> {
        self.is_shared = true;
        let mut links = Vec::new();
        for (node, link) in (0..).map(NodeId).zip(&self.links).filter(|(_, link)| link.is_up()) {
            if let Some(wire) = &link.wire {
                links.push((node, Some(wire.stream.as_fd())));
            }
        }
        let (memory, stride_bytes) = (self.memory.file(), self.memory.stride_bytes());
        let ring_bytes = self.options.ring_bytes;
        Some(LinkDescriptors { memory, ring_bytes, stride_bytes, links, card: None })
    }

    fn leave(&mut self, patience: Duration) {
        // Who has not had everything by then has something else to do than to listen to a node that has gone.
        let _ = self.shutdown(patience);
    }
}

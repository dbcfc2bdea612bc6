//! The fabric over real networks: QUIC (quinn's state machine, without a runtime) below the tree protocol.
//!
//! | file | holds |
//! |---|---|
//! | `options` | who a node is, whom it knows, its patience |
//! | `tls` | what both ends of a link prove to each other |
//! | `transport` | how QUIC is set for a cluster |
//! | `socket` | datagrams, in batches |
//! | `frame` | how messages lie in a stream |
//! | `connection` | one QUIC connection: two streams each way |
//! | `link` | the link to one other node: lifecycle and queues |
//! | `host` | whether the host of a silent node answers |
//! | `driver` | who moves it all: whoever polls |
//! | `mapped_memory` | global memory that a node may have: as large as address space allows |
//!
//! Every link is encrypted, and both its ends prove with a certificate of the network's authority that they
//! are the member that the roster names. `docs/security.md` says what follows from that.
//!
//! **When what moves.** Calls queue; [`Fabric::progress`] and [`Fabric::wait`] send and receive. So several
//! operations that are started together travel together. A fabric that is not polled for the idle timeout is
//! taken for dead by the others, or for stopped ([`Silence`]). A driver with an event loop waits for
//! [`QuicFabric::as_fd`] to become readable and for [`QuicFabric::next_timeout`] to pass, whichever comes
//! first, and then calls [`Fabric::progress`].
//!
//! **Who is dead.** A node whose link breaks: because nothing comes for the idle timeout ([`Silence`] says
//! from whom), because it does not keep the protocol, because it cannot be reached when it is needed. One
//! that leaves with [`QuicFabric::shutdown`] is not, unless operations include it.

mod connection;
mod driver;
mod frame;
mod host;
mod link;
mod mapped_memory;
mod options;
mod socket;
#[cfg(test)]
mod tests;
mod tls;
mod transport;

pub use bcs_fabric::{BindError, LinkError, Member, NetworkId, RosterError, Silence};
pub use driver::QuicFabric;
pub use link::LinkStatistics;
pub use mapped_memory::{MapError, MappedMemory, Mapping, map_memory};
pub use options::QuicOptions;
pub use socket::SocketStatistics;

use bcs_core::PortRange;
use bcs_core::event::{EventId, EventTable};
use bcs_core::global_memory::{GlobalAddress, GlobalMemory, GlobalVariable};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_fabric::tree::TreeNode;
use bcs_fabric::{Assignment, Comparison, Driven, Fabric, FabricError, MemberNames};
use bcs_fabric::{Operation, Polling, Source, Ticket};
use connection::CloseCode;
use link::LinkState;
use socket::Socket;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use transport::Transports;

/// What errors call the ports.
const PROTOCOL: &str = "UDP";

/// A bound socket, before the other nodes are known: its address goes into the roster.
#[derive(Debug)]
pub struct QuicPort {
    options: QuicOptions,
    socket: Socket,
    address: SocketAddr,
    transports: Transports,
    configs: tls::Configs,
}

/// Binds a socket for a network that is joined later, with [`QuicPort::with_socket`]: at the first of the
/// ports that is free.
///
/// # Errors
/// The address cannot be listened on, or no port of the range is free.
pub fn bind_socket(address: IpAddr, ports: PortRange) -> Result<UdpSocket, BindError> {
    socket::bind(address, ports).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse if ports != PortRange::ANY => {
            BindError::Taken { protocol: PROTOCOL, address, ports }
        }
        _ => BindError::Socket { protocol: PROTOCOL, address, ports, error },
    })
}

impl QuicPort {
    /// Binds to a network.
    ///
    /// # Errors
    /// The address cannot be listened on, no port of the range is free, the credential cannot be used, or an
    /// option cannot be.
    pub fn bind(options: QuicOptions) -> Result<Self, BindError> {
        let socket = bind_socket(options.listen, options.ports)?;
        Self::with_socket(options, socket)
    }

    /// Binds to a network with a socket that was bound before ([`bind_socket`]), and that no other network
    /// uses.
    ///
    /// # Errors
    /// The socket cannot be set up, the credential cannot be used, or an option cannot be.
    pub fn with_socket(options: QuicOptions, socket: UdpSocket) -> Result<Self, BindError> {
        let transports = Transports::new(&options)?;
        let configs = tls::configure(&options.credential, options.network)?;
        let QuicOptions { listen: address, ports, .. } = options;
        let failed = |error| BindError::Socket { protocol: PROTOCOL, address, ports, error };
        let socket = Socket::new(socket).map_err(failed)?;
        let address = socket.local_address().map_err(failed)?;
        Ok(Self { options, socket, address, transports, configs })
    }

    /// Where it listens, with the port that was free.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Joins the network: the roster lists all its nodes, this one included, in the same order everywhere; a
    /// node's place is its number. The memory and the events are of the same size everywhere. Links come up
    /// when they are needed, or with [`QuicFabric::begin_connect_all`].
    ///
    /// # Errors
    /// The roster cannot be.
    pub fn connect<M: GlobalMemory>(
        self,
        roster: Vec<Member>,
        memory: M,
        events: EventTable,
    ) -> Result<QuicFabric<M>, RosterError> {
        let (names, node) = MemberNames::new(&roster, &self.options.credential.name())?;
        let members = Arc::new(NodeSet::all(roster.len() as u32));
        let fanout = self.options.fanout;
        let tree = TreeNode::new(node, members, fanout, memory, events);
        Ok(QuicFabric::new(self.options, tree, self.socket, self.configs, self.transports, roster, names))
    }
}

/// What a fabric has done, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicStatistics {
    /// Datagrams.
    pub socket: SocketStatistics,
    /// Messages of the tree protocol, over all links.
    pub messages: LinkStatistics,
    /// Connections that were closed because their other end was no member, or not wanted, or did not finish.
    pub refused_connections: u64,
}

impl<M: GlobalMemory> QuicFabric<M> {
    /// Begins to bring up all links: this node dials those of higher numbers; the others are dialled from
    /// their other ends. [`Fabric::progress`] goes on with it, [`QuicFabric::unconnected`] says how far it
    /// is.
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
        let down = links.filter(|(link, node)| *node != self.node && !matches!(link.state, LinkState::Up(_)));
        down.map(|(_, node)| node).collect()
    }

    /// Leaves in order: waits until the other ends of all links have acknowledged what was sent to them, and
    /// closes the links. Afterwards this node takes no further part.
    ///
    /// # Errors
    /// Some have not acknowledged in time. The links are closed all the same.
    pub fn shutdown(&mut self, within: Duration) -> Result<(), LinkError> {
        let until = driver::now() + within;
        self.progress()?;
        self.is_leaving = true;
        self.mark_all();
        let nodes = loop {
            self.progress()?;
            let nodes = self.unacknowledged();
            if nodes.is_empty() || driver::now() >= until {
                break nodes;
            }
            self.sleep(Some(until))?;
        };
        self.close_all(CloseCode::Orderly, "leaves");
        self.progress()?;
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
    pub fn statistics(&self) -> QuicStatistics {
        let mut messages = LinkStatistics::default();
        for link in &self.links {
            messages.sent += link.statistics.sent;
            messages.received += link.statistics.received;
        }
        QuicStatistics {
            socket: self.socket.statistics,
            messages,
            refused_connections: self.refused_connections,
        }
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
        self.socket.wait(at_most).map_err(|error| self.network_error(&error))
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

impl<M: GlobalMemory> Fabric for QuicFabric<M> {
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
        self.drive().map(drop)
    }

    fn wait(&mut self) -> Result<(), FabricError> {
        if self.drive()? {
            return Ok(());
        }
        if !self.options.spin.is_zero() {
            let until = driver::now() + self.options.spin;
            while driver::now() < until {
                if self.drive()? {
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

impl<M: GlobalMemory> Drop for QuicFabric<M> {
    /// Who is dropped without having left in order tells the others, as far as it can without waiting.
    fn drop(&mut self) {
        self.abandon();
    }
}

impl<M: GlobalMemory> AsFd for QuicFabric<M> {
    /// The socket: readable when something has arrived. It is not to be read from.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl<M: GlobalMemory + Send> Driven for QuicFabric<M> {
    fn timeout(&self) -> Option<Duration> {
        self.next_timeout().map(|due| due.saturating_duration_since(driver::now()))
    }

    fn polling(&self) -> Polling {
        Polling::Short
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

    fn leave(&mut self, patience: Duration) {
        // Who has not acknowledged by then has something else to do than to listen to a node that has gone.
        let _ = self.shutdown(patience);
    }
}

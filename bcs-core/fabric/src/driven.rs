//! Fabrics over a real network, as an event loop sees them.

use super::{Fabric, FabricError};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The name of a memfd in which a fabric's links lie ([`LinkDescriptors`]).
pub const SHARED_MEMORY_NAME: &str = "bcs-links";

/// The links of a fabric that other processes of its node may drive, too (`bcs-link`).
#[derive(Debug)]
pub struct LinkDescriptors<'a> {
    /// The memory of the links, one behind the other by the numbers of the nodes, in a file that can be
    /// mapped.
    pub memory: BorrowedFd<'a>,
    /// Bytes of each of a link's two rings.
    pub ring_bytes: usize,
    /// Bytes from the beginning of a link to that of the next one.
    pub stride_bytes: usize,
    /// Those that are up, with their sockets; those without one only the fabric itself can move
    /// ([`Driven::carry`]).
    pub links: Vec<(NodeId, Option<BorrowedFd<'a>>)>,
    /// Where a network card moves their bytes: this node's address, and the provider of libfabric, by which
    /// other processes can write from buffer to buffer.
    pub card: Option<(IpAddr, &'a str)>,
}

/// Whose silence it is that makes a node count as dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// That of its fabric, which is to be driven more often than the idle timeout: for nodes that are there
    /// to answer.
    Fabric,
    /// That of its host: as long as the system there answers, the node is not lost, but works, or is stopped.
    Host,
}

/// When the driver of a fabric does best to poll it, and not to sleep until its descriptor is readable, where
/// those who wait for what comes give it their processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polling {
    /// Never: others drive it while they wait, or what comes is for daemons.
    Never,
    /// While no message comes in pieces: a wake costs more than a short message, and little beside many
    /// pieces.
    Short,
    /// Also then: what comes wakes nobody, as on a network card that writes memory, or wakes late.
    Always,
}

/// What [`Driven::carry`] has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Something has moved.
    pub moved: bool,
    /// Something has come since the last time, for whoever takes it.
    pub has_come: bool,
}

/// A fabric whose driver waits for it beside other things: it calls [`Fabric::progress`] when the descriptor
/// is readable, because something has arrived, and when the timeout has passed.
pub trait Driven: Fabric + AsFd + Send {
    /// How long nothing has to be done if nothing arrives; none when nothing is ever due.
    fn timeout(&self) -> Option<Duration>;

    /// Why there is no link to a node any more, as far as it is known; none while nothing is wrong with it.
    fn why_lost(&self, node: NodeId) -> Option<String>;

    /// The nodes that have said nothing for the idle timeout although their hosts answer: they are stopped,
    /// or very busy ([`Silence::Host`]).
    fn stopped(&self) -> NodeSet {
        NodeSet::new()
    }

    /// When who waits for something to come does best to poll.
    fn polling(&self) -> Polling {
        Polling::Never
    }

    /// Begins to bring up the links to these members: of two nodes that do so for each other, the lower one
    /// dials. Others come up when they are needed.
    fn begin_connect(&mut self, nodes: &NodeSet);

    /// The members whose links are not up, dead ones included.
    fn unconnected(&self) -> NodeSet;

    /// Takes what users should be told once, if there is something, as that memory could not be registered.
    fn take_remark(&mut self) -> Option<String> {
        None
    }

    /// Whether other processes can drive the links, or append and take records themselves, once these are up
    /// ([`Self::share_links`]).
    fn has_links_to_share(&self) -> bool {
        false
    }

    /// The links, if other processes can use them so, which they may from now on. From then on records of the
    /// [`Road`](crate::Road) that nobody polls stay in the links.
    fn share_links(&mut self) -> Option<LinkDescriptors<'_>> {
        None
    }

    /// Moves bytes between the links that others share and other nodes, and takes nothing that has come: for
    /// links that only the fabric can move, while other processes append and take.
    ///
    /// # Errors
    /// Those of [`Fabric::progress`].
    fn carry(&mut self) -> Result<Carried, FabricError> {
        self.progress().map(|()| Carried::default())
    }

    /// Leaves the network in order: what was sent is delivered first, for at most this long; the others do
    /// not take this node for dead.
    fn leave(&mut self, patience: Duration);
}

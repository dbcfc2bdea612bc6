//! What a node says when it joins a network: who it is, whom it knows, and its patience.

use bcs_core::PortRange;
use bcs_core::ids::NodeId;
use bcs_credentials::Credential;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Names a network: members of different networks never talk to each other, whatever they can prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkId(pub u128);

impl fmt::Display for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A node of a network, as all nodes of it know it. Its number is its place in the roster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct Member {
    /// Its name: the one that its certificate is for.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
}

/// How a node binds to its network.
#[derive(Clone, Debug)]
pub struct QuicOptions {
    /// The network.
    pub network: NetworkId,
    /// What the node proves who it is with.
    pub credential: Credential,
    /// The address at which it listens.
    pub listen: IpAddr,
    /// The ports there, of which it takes the first that is free.
    pub ports: PortRange,
    /// The number of children of a node in the tree.
    pub fanout: usize,
    /// A link that is quiet says so this often, that the other end does not take it for broken.
    pub keep_alive: Duration,
    /// A link on which nothing arrives for so long is broken, and the node at its other end is dead. From 1
    /// ms; the fabric must be driven more often than this.
    pub idle_timeout: Duration,
    /// A node that cannot be reached for so long when it is needed is dead.
    pub connect_timeout: Duration,
    /// How many bytes of this node's own operations may wait to be sent; more are refused as busy. One
    /// operation may go beyond it.
    pub queue_bytes: usize,
    /// How many bytes of bulk may be under way to one end of a link and not yet read there.
    pub window_bytes: u32,
    /// The largest datagram that is tried, in bytes (1,200 to 65,527); the path decides how much of it can be
    /// used.
    pub datagram_bytes: u16,
    /// How long the receipt of a transfer without a local event may wait for a message with which it can
    /// travel. Operations on several nodes that its initiator starts after it ask for it.
    pub receipt_patience: Duration,
    /// How long [`bcs_fabric::Fabric::wait`] polls before it sleeps.
    pub spin: Duration,
}

impl QuicOptions {
    /// Any port, and the default patience: keep-alive 100 ms, idle timeout 3 s, connect timeout 10 s.
    pub fn new(network: NetworkId, credential: Credential, listen: IpAddr) -> Self {
        Self {
            network,
            credential,
            listen,
            ports: PortRange::ANY,
            fanout: bcs_fabric::tree::DEFAULT_FANOUT,
            keep_alive: Duration::from_millis(100),
            idle_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(10),
            queue_bytes: 64 << 20,
            window_bytes: 4 << 20,
            datagram_bytes: 65_527,
            receipt_patience: Duration::from_millis(5),
            spin: Duration::ZERO,
        }
    }
}

/// Why a node cannot bind to its network.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The socket.
    #[error("cannot listen on UDP {address}, port {ports}: {error}")]
    Socket {
        /// The address.
        address: IpAddr,
        /// The ports that were tried.
        ports: PortRange,
        /// Why.
        error: io::Error,
    },
    /// All ports of the range are in use.
    #[error(
        "all UDP ports {ports} of {address} are taken; allow more, with a wider [network] ports in the configuration of all hosts"
    )]
    Taken {
        /// The address.
        address: IpAddr,
        /// The ports.
        ports: PortRange,
    },
    /// The credential.
    #[error("the credential of '{name}' cannot be used: {reason}; issue a new one")]
    Credential {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
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

/// Why a roster cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RosterError {
    /// Two nodes with one name.
    #[error("the roster lists '{name}' as {first} and as {second}; names are unique")]
    Duplicate {
        /// The name.
        name: String,
        /// One node.
        first: NodeId,
        /// The other.
        second: NodeId,
    },
    /// This node is not on it.
    #[error("the roster of {members} nodes does not list '{name}', for whom this node's credential is")]
    Missing {
        /// This node's name.
        name: String,
        /// The number of members.
        members: usize,
    },
    /// More than a node set can hold.
    #[error("the roster lists {members} nodes; at most {limit} are possible")]
    TooLong {
        /// The number of members.
        members: usize,
        /// The limit.
        limit: u32,
    },
}

/// Why not all links went down in order, in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// What was sent was not acknowledged by all.
    #[error("{nodes} had not acknowledged all that was sent within {within:?}; the links were closed")]
    NotAcknowledged {
        /// The nodes.
        nodes: bcs_core::NodeSet,
        /// How long was waited.
        within: Duration,
    },
    /// The fabric itself failed.
    #[error(transparent)]
    Fabric(#[from] bcs_fabric::FabricError),
}

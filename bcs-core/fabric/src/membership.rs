//! Who is on a network: its id, its members, and what keeps a node from joining.

use super::FabricError;
use bcs_core::PortRange;
use bcs_core::ids::NodeId;
use bcs_core::node_set::{MAX_NODES, NodeSet};
use std::collections::HashMap;
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

/// The members of a network by the names that their certificates are for, which are the same in capitals.
#[derive(Clone, Debug)]
pub struct MemberNames {
    nodes: HashMap<String, NodeId>,
}

impl MemberNames {
    /// The names of a roster, which lists all nodes in the same order everywhere, and the place of the node
    /// of this name in it.
    ///
    /// # Errors
    /// The roster cannot be.
    pub fn new(roster: &[Member], own: &str) -> Result<(Self, NodeId), RosterError> {
        let members = roster.len();
        if members > MAX_NODES as usize {
            return Err(RosterError::TooLong { members, limit: MAX_NODES });
        }
        let mut nodes = HashMap::new();
        for (member, node) in roster.iter().zip((0..).map(NodeId)) {
            if let Some(first) = nodes.insert(member.name.to_ascii_lowercase(), node) {
                return Err(RosterError::Duplicate { name: member.name.clone(), first, second: node });
            }
        }
        let names = Self { nodes };
        match names.find(own) {
            Some(node) => Ok((names, node)),
            None => Err(RosterError::Missing { name: own.to_owned(), members }),
        }
    }

    /// The node of a name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.nodes.get(&name.to_ascii_lowercase()).copied()
    }
}

/// Why a node cannot bind to its network.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The socket.
    #[error("cannot listen on {protocol} {address}, port {ports}: {error}")]
    Socket {
        /// The protocol of the port.
        protocol: &'static str,
        /// The address.
        address: IpAddr,
        /// The ports that were tried.
        ports: PortRange,
        /// Why.
        error: io::Error,
    },
    /// All ports of the range are in use.
    #[error(
        "all {protocol} ports {ports} of {address} are taken; allow more, with a wider [network] ports in the configuration of all hosts"
    )]
    Taken {
        /// The protocol of the ports.
        protocol: &'static str,
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
        nodes: NodeSet,
        /// How long was waited.
        within: Duration,
    },
    /// The fabric itself failed.
    #[error(transparent)]
    Fabric(#[from] FabricError),
}

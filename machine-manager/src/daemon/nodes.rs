//! The nodes of the cluster, as they are configured, and which of them are connected.
//!
//! Invariant: of a host at most one connection counts. One that comes while the last one is alive is refused;
//! one that comes when it is not takes its place.

use super::HostId;
use super::outbox::Outbox;
use bcs_config::NodeConfig;
use bcs_core::NetworkCard;
use bcs_protocol::storm::NodeState;

/// A connection of a node manager, by a number that is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u64);

/// The connection of a node.
#[derive(Debug)]
pub struct Link {
    /// Which one.
    pub id: LinkId,
    /// What is to be sent to it.
    pub outbox: Outbox,
    /// How many processors it has for ranks.
    pub cores: u32,
    /// Its memory in bytes.
    pub memory: u64,
    /// Its network card for RDMA, where it has one.
    pub card: Option<NetworkCard>,
    /// Whether it takes part in the control network.
    pub is_up: bool,
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// Its host.
    pub name: String,
    /// Its cores for ranks, if the configuration says so.
    cores: Option<u32>,
    /// Its connection.
    pub link: Option<Link>,
    /// Why it has none.
    reason: String,
    seen: Option<(u32, u64)>,
}

impl Node {
    /// Its cores for ranks; 0 when it was never connected and the configuration does not say.
    pub fn cores(&self) -> u32 {
        self.cores.or(self.seen.map(|(cores, _)| cores)).unwrap_or(0)
    }

    /// Its memory in bytes; 0 when it was never connected.
    pub fn memory(&self) -> u64 {
        self.seen.map_or(0, |(_, memory)| memory)
    }

    /// Its network card for RDMA, as long as it is connected.
    pub fn card(&self) -> Option<&NetworkCard> {
        self.link.as_ref()?.card.as_ref()
    }

    /// Whether it can be given jobs.
    pub fn is_up(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.is_up)
    }

    /// Its state, as users see it.
    pub fn state(&self) -> NodeState {
        match &self.link {
            Some(link) if link.is_up => NodeState::Up,
            Some(_) => NodeState::Joining,
            None => NodeState::Down(self.reason.clone()),
        }
    }
}

/// All nodes.
#[derive(Debug)]
pub struct Nodes {
    nodes: Vec<Node>,
}

impl Nodes {
    /// The nodes of a configuration.
    pub fn new(configured: Vec<NodeConfig>) -> Self {
        let node = |config: NodeConfig| Node {
            name: config.host,
            cores: config.cores,
            link: None,
            reason: "has not connected since the machine manager was started".into(),
            seen: None,
        };
        Self { nodes: configured.into_iter().map(node).collect() }
    }

    /// A node.
    pub fn get(&self, host: HostId) -> Option<&Node> {
        self.nodes.get(host.0 as usize)
    }

    /// All, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (HostId, &Node)> {
        (0..).map(HostId).zip(&self.nodes)
    }

    /// The node of this name.
    pub fn by_name(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The name of a node.
    pub fn name(&self, host: HostId) -> &str {
        self.get(host).map_or("", |node| &node.name)
    }

    /// Whether this is the connection of the node that counts.
    pub fn is_linked_by(&self, host: HostId, id: LinkId) -> bool {
        self.link(host).is_some_and(|link| link.id == id)
    }

    /// The connection of a node.
    pub fn link(&self, host: HostId) -> Option<&Link> {
        self.get(host)?.link.as_ref()
    }

    /// A node has connected.
    pub fn connect(&mut self, host: HostId, link: Link) {
        if let Some(node) = self.nodes.get_mut(host.0 as usize) {
            node.seen = Some((link.cores, link.memory));
            node.link = Some(link);
        }
    }

    /// A node takes part in the control network.
    pub fn raise(&mut self, host: HostId) {
        if let Some(link) = self.nodes.get_mut(host.0 as usize).and_then(|node| node.link.as_mut()) {
            link.is_up = true;
        }
    }

    /// A node is gone; why. Answers with its connection, if it had one.
    pub fn disconnect(&mut self, host: HostId, reason: &str) -> Option<Link> {
        let node = self.nodes.get_mut(host.0 as usize)?;
        let link = node.link.take()?;
        reason.clone_into(&mut node.reason);
        Some(link)
    }
}

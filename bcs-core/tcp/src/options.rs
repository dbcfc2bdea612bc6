//! What a node says when it joins a network: who it is, and its patience.

use bcs_core::PortRange;
use bcs_credentials::Credential;
use bcs_fabric::{BindError, NetworkId, Silence};
use bcs_link::LinkLayout;
use std::fmt::Debug;
use std::net::IpAddr;
use std::time::Duration;

/// How a node binds to its network.
#[derive(Clone, Debug)]
pub struct TcpOptions {
    /// The network.
    pub network: NetworkId,
    /// What the node proves who it is with.
    pub credential: Credential,
    /// The address at which it listens.
    pub listen: IpAddr,
    /// The ports there, of which it takes the first that is free.
    pub ports: PortRange,
    /// Whether what travels is sealed. Without a seal, nodes prove who they are when a link comes up, and
    /// then trust the network between them. All nodes say the same.
    pub seal: bool,
    /// The number of children of a node in the tree.
    pub fanout: usize,
    /// A link that is quiet says so this often, that the other end does not take it for broken.
    pub keep_alive: Duration,
    /// A link on which nothing arrives for so long is broken, and the node at its other end is dead: where
    /// `silence` says so, if its host does not answer either. From 1 ms.
    pub idle_timeout: Duration,
    /// Whose silence breaks a link.
    pub silence: Silence,
    /// A node that cannot be reached for so long when it is needed is dead.
    pub connect_timeout: Duration,
    /// How many bytes of this node's own operations may wait to be sent; more are refused as busy. One
    /// operation may go beyond it.
    pub queue_bytes: usize,
    /// The size of the rings of each link, one in each direction: a power of two. All nodes say the same.
    pub ring_bytes: usize,
    /// How long the receipt of a transfer without a local event may wait for a message with which it can
    /// travel. Operations on several nodes that its initiator starts after it ask for it.
    pub receipt_patience: Duration,
    /// How long [`bcs_fabric::Fabric::wait`] polls before it sleeps.
    pub spin: Duration,
}

impl TcpOptions {
    /// Any port, sealed, and the default patience: keep-alive 100 ms, idle timeout 3 s of the fabric, connect
    /// timeout 10 s.
    pub fn new(network: NetworkId, credential: Credential, listen: IpAddr) -> Self {
        Self {
            network,
            credential,
            listen,
            ports: PortRange::ANY,
            seal: true,
            fanout: bcs_fabric::tree::DEFAULT_FANOUT,
            keep_alive: Duration::from_millis(100),
            idle_timeout: Duration::from_secs(3),
            silence: Silence::Fabric,
            connect_timeout: Duration::from_secs(10),
            queue_bytes: 64 << 20,
            ring_bytes: LinkLayout::default().ring_bytes(),
            receipt_patience: Duration::from_millis(5),
            spin: Duration::ZERO,
        }
    }

    /// The layout of links.
    ///
    /// # Errors
    /// An option cannot be.
    pub(crate) fn check(&self) -> Result<LinkLayout, BindError> {
        let refused = |option, value: &dyn Debug, why| {
            Err(BindError::Option { option, value: format!("{value:?}"), why })
        };
        if self.idle_timeout < Duration::from_millis(1) {
            return refused("idle_timeout", &self.idle_timeout, "at least 1 ms");
        }
        if self.keep_alive.is_zero() || self.keep_alive >= self.idle_timeout {
            return refused("keep_alive", &self.keep_alive, "above zero, and shorter than the idle timeout");
        }
        match LinkLayout::new(self.ring_bytes) {
            Ok(layout) => Ok(layout),
            Err(_) => refused("ring_bytes", &self.ring_bytes, "a power of two from 4 KB to 64 MB"),
        }
    }
}

//! What a node says when it joins a network: who it is, whom it knows, and its patience.

use bcs_core::PortRange;
use bcs_credentials::Credential;
use bcs_fabric::{NetworkId, Silence};
use std::net::IpAddr;
use std::time::Duration;

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
    /// A link on which nothing arrives for so long is broken, and the node at its other end is dead: where
    /// `silence` says so, if its host does not answer either. From 1 ms; else the fabric must be driven more
    /// often than this.
    pub idle_timeout: Duration,
    /// Whose silence breaks a link. All nodes say the same.
    pub silence: Silence,
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
    /// Any port, and the default patience: keep-alive 100 ms, idle timeout 3 s of the fabric, connect timeout
    /// 10 s.
    pub fn new(network: NetworkId, credential: Credential, listen: IpAddr) -> Self {
        Self {
            network,
            credential,
            listen,
            ports: PortRange::ANY,
            fanout: bcs_fabric::tree::DEFAULT_FANOUT,
            keep_alive: Duration::from_millis(100),
            idle_timeout: Duration::from_secs(3),
            silence: Silence::Fabric,
            connect_timeout: Duration::from_secs(10),
            queue_bytes: 64 << 20,
            window_bytes: 4 << 20,
            datagram_bytes: 65_527,
            receipt_patience: Duration::from_millis(5),
            spin: Duration::ZERO,
        }
    }
}

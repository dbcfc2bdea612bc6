//! What a node says when it joins a network: who it is, its patience, and which provider carries it.

use bcs_credentials::Credential;
use bcs_fabric::NetworkId;
use bcs_libfabric::SignalOrder;
use bcs_tcp::TcpOptions;
use std::net::IpAddr;

/// How a node binds to its network.
#[derive(Clone, Debug)]
pub struct OfiOptions {
    /// Who the node is and its patience. The links of `bcs-tcp` over which nodes prove who they are, and find
    /// out who is dead, have these options, but for small rings; `ring_bytes`, `fanout`, `queue_bytes`,
    /// `receipt_patience` and `spin` are those of this network. A write that does not complete within the
    /// longer of `connect_timeout` and `idle_timeout` means that its node is dead.
    pub links: TcpOptions,
    /// The provider, by the name that libfabric gives it (`verbs`, `efa`, `cxi`, `psm3`, `opx`, `tcp`, ..).
    /// Without a name the first of [`super::HARDWARE`] that is there. All nodes say the same.
    pub provider: Option<String>,
    /// What makes a signal follow its data; without one, the strongest order that the provider promises. The
    /// slowest, [`SignalOrder::Completion`], is for a provider that does not keep what it promises.
    pub order: Option<SignalOrder>,
    /// How much memory of each direction of a link may be registered, in bytes: where it is less than a ring,
    /// bytes are copied through slabs of at most that size (from 4 KB). No bound but the system's by default.
    pub registered_bytes: usize,
}

impl OfiOptions {
    /// The provider of this name, or the first with a network card; and the default patience
    /// ([`TcpOptions::new`]).
    pub fn new(network: NetworkId, credential: Credential, listen: IpAddr, provider: Option<String>) -> Self {
        let links = TcpOptions::new(network, credential, listen);
        Self { links, provider, order: None, registered_bytes: usize::MAX }
    }
}

//! A job's network over libfabric.

use super::port::{JobFabric, JobPort, because, links, memory_and_events};
use crate::launch::{JobNetwork, Member};
use bcs_core::Transport;
use bcs_credentials::Credential;
use bcs_fabric::NetworkId;
use bcs_ofi::{OfiOptions, OfiPort};
use std::net::SocketAddr;

/// Binds this node's end.
pub(super) fn bind(network: &JobNetwork, credential: Credential) -> Result<Box<dyn JobPort>, String> {
    let provider = match &network.transport {
        Transport::Ofi(provider) => provider.as_ref().map(ToString::to_string),
        _ => None,
    };
    let options = OfiOptions::new(NetworkId(network.id), credential, network.listen, provider);
    let links = links(network, options.links);
    let port = OfiPort::bind(OfiOptions { links, ..options });
    Ok(Box::new(port.map_err(|error| because("libfabric", &error))?))
}

impl JobPort for OfiPort {
    fn local_address(&self) -> SocketAddr {
        OfiPort::local_address(self)
    }

    fn connect(self: Box<Self>, roster: Vec<Member>) -> Result<JobFabric, String> {
        let (memory, events) = memory_and_events(roster.len())?;
        let joined = OfiPort::connect(*self, roster, memory, events);
        Ok(Box::new(joined.map_err(|error| because("libfabric", &error))?))
    }
}

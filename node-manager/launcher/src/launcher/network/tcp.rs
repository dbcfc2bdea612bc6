//! A job's network over TCP.

use super::port::{JobFabric, JobPort, because, links, memory_and_events};
use crate::launch::{JobNetwork, Member};
use bcs_credentials::Credential;
use bcs_fabric::NetworkId;
use bcs_tcp::{TcpOptions, TcpPort};
use std::net::SocketAddr;

/// Binds this node's end.
pub(super) fn bind(network: &JobNetwork, credential: Credential) -> Result<Box<dyn JobPort>, String> {
    let options = TcpOptions::new(NetworkId(network.id), credential, network.listen);
    let port = TcpPort::bind(links(network, options)).map_err(|error| because("its socket", &error))?;
    Ok(Box::new(port))
}

impl JobPort for TcpPort {
    fn local_address(&self) -> SocketAddr {
        TcpPort::local_address(self)
    }

    fn connect(self: Box<Self>, roster: Vec<Member>) -> Result<JobFabric, String> {
        let (memory, events) = memory_and_events(roster.len())?;
        let joined = TcpPort::connect(*self, roster, memory, events);
        Ok(Box::new(joined.map_err(|error| because("its roster", &error))?))
    }
}

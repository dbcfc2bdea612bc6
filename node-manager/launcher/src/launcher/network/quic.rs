//! A job's network over QUIC, whose road is one of rings.

use super::port::{JobFabric, JobPort, SILENCE, because, memory};
use crate::launch::{JobNetwork, Member};
use bcs_core::EventTable;
use bcs_credentials::Credential;
use bcs_fabric::{NetworkId, Silence};
use bcs_quic::{QuicOptions, QuicPort};
use nic_emu::global::GlobalLayout;
use nic_emu::global::layout::EVENTS_WITH_RINGS;
use std::net::SocketAddr;

/// Binds this node's end.
pub(super) fn bind(network: &JobNetwork, credential: Credential) -> Result<Box<dyn JobPort>, String> {
    let options = QuicOptions::new(NetworkId(network.id), credential, network.listen);
    let options =
        QuicOptions { ports: network.ports, idle_timeout: SILENCE, silence: Silence::Host, ..options };
    Ok(Box::new(QuicPort::bind(options).map_err(|error| because("its socket", &error))?))
}

impl JobPort for QuicPort {
    fn local_address(&self) -> SocketAddr {
        QuicPort::local_address(self)
    }

    fn connect(self: Box<Self>, roster: Vec<Member>) -> Result<JobFabric, String> {
        let layout = GlobalLayout::new(roster.len() as u32);
        let memory = memory(layout.bytes_with_rings())?;
        let joined = QuicPort::connect(*self, roster, memory, EventTable::new(EVENTS_WITH_RINGS));
        Ok(Box::new(layout.with_rings(joined.map_err(|error| because("its roster", &error))?)))
    }
}

//! The network of a job on several nodes, whatever carries it.

use crate::launch::{JobNetwork, Member};
use bcs_core::{EventTable, Transport};
use bcs_credentials::Credential;
use bcs_fabric::{DrivenRoad, NetworkId};
use bcs_ofi::{OfiOptions, OfiPort};
use bcs_quic::{QuicOptions, QuicPort, map_memory};
use bcs_tcp::{Silence, TcpOptions, TcpPort};
use nic_emu::global::GlobalLayout;
use nic_emu::global::layout::{EVENTS, EVENTS_WITH_RINGS};
use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Duration;

/// The network.
pub type JobFabric = Box<dyn DrivenRoad>;

/// How long nothing may come from another node until it is taken for dead; over TCP, from its host. A machine
/// may be so busy, or stand still, for seconds. Of a host that is dead the machine manager, which asks all of
/// them all the time, tells much sooner.
const SILENCE: Duration = Duration::from_secs(10);

/// This node's end, before the others are known.
pub enum JobPort {
    /// Links over TCP.
    Tcp(Box<TcpPort>),
    /// Connections of QUIC.
    Quic(Box<QuicPort>),
    /// Links that libfabric moves.
    Ofi(Box<OfiPort>),
}

impl JobPort {
    /// Binds it.
    ///
    /// # Errors
    /// What cannot be had, and why.
    pub fn bind(network: &JobNetwork) -> Result<Self, String> {
        let credential =
            Credential::from_pem(&network.credential).map_err(|error| because("its key", &error))?;
        let (id, listen, ports) = (NetworkId(network.id), network.listen, network.ports);
        let over_tcp = |options| TcpOptions {
            ports,
            seal: network.seal,
            idle_timeout: SILENCE,
            silence: Silence::Host,
            ..options
        };
        let no_socket = |error| because("its socket", &error);
        Ok(match &network.transport {
            Transport::Tcp => {
                let options = over_tcp(TcpOptions::new(id, credential, listen));
                Self::Tcp(Box::new(TcpPort::bind(options).map_err(no_socket)?))
            }
            Transport::Quic => {
                let options = QuicOptions::new(id, credential, listen);
                let options = QuicOptions { ports, idle_timeout: SILENCE, ..options };
                Self::Quic(Box::new(QuicPort::bind(options).map_err(no_socket)?))
            }
            Transport::Ofi(provider) => {
                let options =
                    OfiOptions::new(id, credential, listen, provider.as_ref().map(ToString::to_string));
                let links = over_tcp(options.links);
                let port = OfiPort::bind(OfiOptions { links, ..options });
                Self::Ofi(Box::new(port.map_err(|error| because("libfabric", &error))?))
            }
        })
    }

    /// Where it listens.
    pub fn local_address(&self) -> SocketAddr {
        match self {
            Self::Tcp(port) => port.local_address(),
            Self::Quic(port) => port.local_address(),
            Self::Ofi(port) => port.local_address(),
        }
    }

    /// Joins the network of these members.
    ///
    /// # Errors
    /// What cannot be, and why.
    pub fn connect(self, roster: Vec<Member>) -> Result<JobFabric, String> {
        let layout = GlobalLayout::new(roster.len() as u32);
        let memory = |bytes| map_memory(bytes).map_err(|error| because("its memory", &error));
        Ok(match self {
            Self::Tcp(port) => {
                let memory = memory(layout.memory_bytes())?;
                let joined = port.connect(roster, memory, EventTable::new(EVENTS));
                Box::new(joined.map_err(|error| because("its roster", &error))?)
            }
            Self::Ofi(port) => {
                let memory = memory(layout.memory_bytes())?;
                let joined = port.connect(roster, memory, EventTable::new(EVENTS));
                Box::new(joined.map_err(|error| because("libfabric", &error))?)
            }
            Self::Quic(port) => {
                let memory = memory(layout.bytes_with_rings())?;
                let joined = port.connect(roster, memory, EventTable::new(EVENTS_WITH_RINGS));
                Box::new(layout.with_rings(joined.map_err(|error| because("its roster", &error))?))
            }
        })
    }
}

/// What of the network is wrong.
pub(super) fn because(what: &str, error: &dyn Display) -> String {
    format!("cannot join the job's network: {what}: {error}")
}

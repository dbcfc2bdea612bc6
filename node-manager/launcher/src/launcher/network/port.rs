//! This node's end of a job's network, before the others are known.

use crate::launch::{JobNetwork, Member};
use bcs_core::EventTable;
use bcs_fabric::DrivenRoad;
use bcs_quic::{MappedMemory, map_memory};
use bcs_tcp::{Silence, TcpOptions};
use nic_emu::global::GlobalLayout;
use nic_emu::global::layout::EVENTS;
use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Duration;

/// The network.
pub type JobFabric = Box<dyn DrivenRoad>;

/// How long nothing may come from the host of another node until the node is taken for dead; from the node
/// itself, until users are told that it is stopped. A machine may be so busy, or stand still, for seconds. Of
/// a host that is dead the machine manager, which asks all of them all the time, tells much sooner.
pub const SILENCE: Duration = Duration::from_secs(10);

/// This node's end.
pub trait JobPort {
    /// Where it listens.
    fn local_address(&self) -> SocketAddr;

    /// Joins the network of these members.
    ///
    /// # Errors
    /// What cannot be, and why.
    fn connect(self: Box<Self>, roster: Vec<Member>) -> Result<JobFabric, String>;
}

/// What links over TCP are told, whoever moves them.
pub(super) fn links(network: &JobNetwork, options: TcpOptions) -> TcpOptions {
    TcpOptions {
        ports: network.ports,
        seal: network.seal,
        idle_timeout: SILENCE,
        silence: Silence::Host,
        ..options
    }
}

/// Global memory of so many bytes.
pub(super) fn memory(bytes: u64) -> Result<MappedMemory, String> {
    map_memory(bytes).map_err(|error| because("its memory", &error))
}

/// What a backend with a road of its own joins with.
pub(super) fn memory_and_events(members: usize) -> Result<(MappedMemory, EventTable), String> {
    Ok((memory(GlobalLayout::new(members as u32).memory_bytes())?, EventTable::new(EVENTS)))
}

/// What of the network is wrong.
pub(crate) fn because(what: &str, error: &dyn Display) -> String {
    format!("cannot join the job's network: {what}: {error}")
}

//! This node's end of a job's network, before the others are known.

use crate::launch::{JobNetwork, Member};
use bcs_core::{EventTable, NodeId, NodeSet};
use bcs_fabric::DrivenRoad;
use bcs_quic::{MappedMemory, map_memory};
use bcs_tcp::{Silence, TcpOptions};
use nic_emu::global::layout::EVENTS;
use nic_emu::global::{GlobalLayout, neighbours};
use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Duration;

/// The network.
pub type JobFabric = Box<dyn DrivenRoad>;

/// How long nothing may come from another node until it is taken for dead; over TCP, from its host. A machine
/// may be so busy, or stand still, for seconds. Of a host that is dead the machine manager, which asks all of
/// them all the time, tells much sooner.
pub(super) const SILENCE: Duration = Duration::from_secs(10);

/// Nodes of a job up to which all links are up before its ranks start, where ranks can drive them: they
/// inherit those that are up. To bring up a link takes each end some 0.5 ms.
const MESHED_NODES: u32 = 8;

/// The nodes of a job of so many to which this one needs a link before its ranks start: with few nodes all of
/// them, else those next to it in the tree of global slices. Other links come up when they are needed.
pub fn linked_at_start(fabric: &JobFabric, nodes: u32) -> NodeSet {
    linked(fabric.node(), nodes, fabric.has_links_to_share())
}

fn linked(node: NodeId, nodes: u32, ranks_drive: bool) -> NodeSet {
    match ranks_drive && nodes <= MESHED_NODES {
        true => NodeSet::all(nodes).iter().filter(|other| *other != node).collect(),
        false => neighbours(GlobalLayout::new(nodes), node),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_few_nodes_find_all_links_up_and_those_of_many_the_tree() {
        for (nodes, ranks_drive) in [(2, true), (8, true), (9, true), (2, false), (8, false), (300, true)] {
            let is_meshed = ranks_drive && nodes <= 8;
            let of_all: Vec<NodeSet> =
                (0..nodes).map(|node| linked(NodeId(node), nodes, ranks_drive)).collect();
            for (node, linked) in (0..).map(NodeId).zip(&of_all) {
                assert!(!linked.contains(node), "{node} of {nodes}");
                assert!(linked.iter().all(|other| of_all[other.index()].contains(node)), "{node} of {nodes}");
                let of_tree = neighbours(GlobalLayout::new(nodes), node);
                assert!(of_tree.iter().all(|other| linked.contains(other)), "{node} of {nodes}");
                match is_meshed {
                    true => assert_eq!(linked.iter().count() as u32, nodes - 1, "{node} of {nodes}"),
                    false => assert_eq!(*linked, of_tree, "{node} of {nodes}"),
                }
            }
        }
    }
}

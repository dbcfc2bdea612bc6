//! What a simulated cluster is like.

use super::network::NetworkModel;
use crate::tree::DEFAULT_FANOUT;
use std::time::Duration;

/// What a simulated cluster is like.
#[derive(Clone, Debug, PartialEq)]
pub struct SimOptions {
    /// The number of nodes.
    pub nodes: u32,
    /// The size of each node's global memory in bytes. It takes up only what is written.
    pub memory_bytes: u64,
    /// Bytes of records that may be under way to one node and not polled there; a record is a quarter of it
    /// at most.
    pub road_bytes: usize,
    /// The number of events of each node.
    pub events: u32,
    /// The number of children of a node in the tree.
    pub fanout: usize,
    /// Where everything random comes from.
    pub seed: u64,
    /// The network.
    pub network: NetworkModel,
    /// Whether every message is encoded and decoded on its way, as over a real network.
    pub encode: bool,
    /// Nothing happens after this much virtual time: a run that cannot end does.
    pub time_limit: Duration,
}

impl SimOptions {
    /// A cluster of `nodes` on a good network, with 1 MiB of memory and 64 events a node.
    pub fn new(nodes: u32, seed: u64) -> Self {
        Self {
            nodes,
            memory_bytes: 1 << 20,
            road_bytes: 256 << 10,
            events: 64,
            fanout: DEFAULT_FANOUT,
            seed,
            network: NetworkModel::default(),
            encode: false,
            time_limit: Duration::from_secs(60),
        }
    }
}

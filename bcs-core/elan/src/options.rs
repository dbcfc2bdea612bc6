//! What a node says when it joins a network.

use bcs_fabric::NetworkId;
use std::time::Duration;

/// How a node opens its port to a network.
#[derive(Clone, Debug)]
pub struct ElanOptions {
    /// The network. Members of different networks never take each other for theirs.
    pub network: NetworkId,
    /// This node, as the roster names it.
    pub name: String,
    /// Its virtual process number, which RMS and Slurm give out (`RMS_RANK`), or which follows from the
    /// capability.
    pub process: u32,
    /// How many nodes the network has: the roster's length, which must be known before the memory for them is
    /// allocated.
    pub nodes: u32,
    /// Quadrics' library: a name for the dynamic linker to look for, or a path.
    pub library: String,
    /// A library with the card's broadcast and conditional (`include/bcs_elan_nic.h`). Without one, the
    /// fabric does with puts, over a tree. All nodes say the same.
    pub nic_library: Option<String>,
    /// The capability, where neither RMS nor Slurm has left one, as `elan_generateCapability` takes it:
    /// `N3C17-17-17N0-15R1b`.
    pub capability: Option<String>,
    /// The number of children of a node in the tree, where there is no NIC library.
    pub fanout: usize,
    /// Bytes of each ring from a node to another: a power of two from 8 KB to 64 MB. Each node has three from
    /// each other one. All nodes say the same.
    pub ring_bytes: usize,
    /// Bytes of a slot for broadcasts, of which each node has four from each: a power of two from 1 KB to 1
    /// MB. All nodes say the same.
    pub slot_bytes: usize,
    /// How many bytes of this node's own operations may wait to be sent; more are refused as busy. One
    /// operation may go beyond it.
    pub queue_bytes: usize,
    /// How long [`bcs_fabric::Fabric::wait`] polls before it sleeps.
    pub spin: Duration,
    /// How long it sleeps between two looks: nothing wakes a process when a put has come.
    pub poll_interval: Duration,
}

/// Bytes of a ring and of a slot in networks of up to so many nodes: each node has six rings and four slots
/// for each other one, so that 64 and 256 nodes have windows of 112 MB, and 1,024 of 128 MB.
const SIZES: [(u32, usize, usize); 3] =
    [(64, 256 << 10, 64 << 10), (256, 64 << 10, 16 << 10), (u32::MAX, 16 << 10, 8 << 10)];

impl ElanOptions {
    /// Quadrics' library by its name, no NIC library, the capability of RMS or Slurm; rings and slots are
    /// smaller the more nodes there are.
    pub fn new(network: NetworkId, name: impl Into<String>, process: u32, nodes: u32) -> Self {
        let fits = |(most, ..): &&(u32, usize, usize)| nodes <= *most;
        let (_, ring_bytes, slot_bytes) = SIZES.iter().find(fits).copied().unwrap_or(SIZES[2]);
        Self {
            network,
            name: name.into(),
            process,
            nodes,
            library: "libelan.so".to_owned(),
            nic_library: None,
            capability: None,
            fanout: bcs_fabric::tree::DEFAULT_FANOUT,
            ring_bytes,
            slot_bytes,
            queue_bytes: 64 << 20,
            spin: Duration::from_micros(50),
            poll_interval: Duration::from_micros(50),
        }
    }
}

//! The ports of two ranks on one node, without a NIC thread: whoever waits runs the slices.

use bcs_core::{LocalRank, NodeId, Placement, SliceLength};
use nic_emu::arithmetic::Arithmetic;
use nic_emu::host::{CrossMemory, NicConfig, NicHost};
use nic_emu::memory::NicMemory;
use nic_emu::port::Port;
use std::sync::Arc;

/// The memory and the two ports; each rank may leave so many bytes unreceived. Without cross-memory attach.
pub fn ports(slice: SliceLength, unexpected_bytes: u64) -> (Arc<NicMemory>, Port, Port) {
    let config = NicConfig {
        job: bcs_core::JobId(1),
        placement: Placement::one_node(2),
        node: NodeId(0),
        slice,
        arithmetic: Arithmetic::Native,
        cross_memory: CrossMemory::Off,
        context_slots: nic_emu::memory::contexts::SLOTS,
        unexpected_bytes,
        emds: None,
        nic_core: None,
    };
    let host = NicHost::create(&config).unwrap();
    let memory = host.memory().clone();
    (
        memory.clone(),
        Port::open(memory.clone(), LocalRank(0)).unwrap(),
        Port::open(memory, LocalRank(1)).unwrap(),
    )
}

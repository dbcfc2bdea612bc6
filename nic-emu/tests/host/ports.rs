//! The ports of two ranks on one node, without a NIC thread: whoever waits runs the slices. And messages of
//! rank 0 to rank 1, all in one context.

use bcs_core::{LocalRank, NodeId, Placement, Rank, SliceLength};
use nic_emu::arithmetic::Arithmetic;
use nic_emu::contexts::Context;
use nic_emu::descriptor::Check;
use nic_emu::host::{CrossMemory, NicConfig, NicHost};
use nic_emu::matching::Envelope;
use nic_emu::memory::NicMemory;
use nic_emu::memory::numbers::CommRank;
use nic_emu::memory::status::WaitingFor;
use nic_emu::port::{Outcome, Port, Posted, Send};
use std::sync::Arc;

/// What a hang report says of a rank that waits.
pub const WAIT: WaitingFor = WaitingFor {
    call: 0,
    context: Context(2),
    peer: CommRank(0),
    peer_in_job: Rank(0),
    ..WaitingFor::SOMETHING
};

/// The memory and the two ports; each rank may leave so many bytes unreceived. Without cross-memory attach.
pub fn ports(slice: SliceLength, unexpected_bytes: u64) -> (Arc<NicMemory>, Port, Port) {
    ports_with(CrossMemory::Off, slice, unexpected_bytes)
}

/// The same, with cross-memory attach or without.
pub fn ports_with(
    cross_memory: CrossMemory,
    slice: SliceLength,
    unexpected_bytes: u64,
) -> (Arc<NicMemory>, Port, Port) {
    let config = NicConfig {
        job: bcs_core::JobId(1),
        placement: Placement::one_node(2),
        node: NodeId(0),
        slice,
        arithmetic: Arithmetic::Native,
        cross_memory,
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

/// The envelope of a message of this tag.
pub fn envelope(tag: i32) -> Envelope {
    Envelope { context: Context(2), source: CommRank(0), tag }
}

/// Posts a send.
pub fn post(port: &mut Port, tag: i32, data: &[u8], synchronous: bool) -> Posted {
    let Envelope { context, source, tag } = envelope(tag);
    let send =
        Send { context, source, tag, destination: Rank(1), synchronous, check: Check::NONE, signature: 0 };
    // SAFETY: what is not buffered is waited for by the callers, whose data lives longer.
    unsafe { port.post_send(&send, data.as_ptr(), data.len()) }.unwrap()
}

/// A blocking send.
pub fn send(port: &mut Port, tag: i32, data: &[u8], synchronous: bool) {
    if let Posted::Request(request) = post(port, tag, data, synchronous) {
        port.wait(&WAIT, |port| port.test(request)).unwrap();
    }
}

/// A blocking receive.
pub fn receive(port: &mut Port, tag: i32, buffer: &mut [u8]) -> Outcome {
    // SAFETY: the buffer lives until the receive is complete.
    let request = unsafe { port.post_receive(&envelope(tag), buffer.as_mut_ptr(), buffer.len()) }.unwrap();
    port.wait(&WAIT, |port| port.test(request)).unwrap()
}

/// So many bytes, which differ from message to message.
pub fn message(bytes: usize, salt: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251 + salt) as u8).collect()
}

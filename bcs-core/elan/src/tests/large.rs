//! Transfers that no ring, slot or queue holds.

use super::super::*;
use super::bed::{capability, new_context, options};
use crate::library::Library;
use bcs_core::global_memory::FlatMemory;
use std::ptr::NonNull;

/// Of the transfer to one node, and of that to several, whose bytes each of them keeps until its turn: more
/// than the 64 MB that may wait to be sent.
const BYTES: usize = 256 << 20;
const SHARED_BYTES: usize = 65 << 20;

type Memory = FlatMemory<Box<[u64]>>;

/// Memory in one piece, which takes up what is written of it.
fn memory() -> Memory {
    let mut words = vec![0_u64; BYTES / 8].into_boxed_slice();
    let base = NonNull::from(&mut *words).cast();
    // SAFETY: the words are the owner's, which nobody uses but through this memory.
    unsafe { FlatMemory::from_raw(base, BYTES as u64, words) }
}

/// The byte at a place, which no place a power of two away has.
fn byte_at(place: usize) -> u8 {
    (place.wrapping_mul(0x9e37_79b9) >> 24) as u8
}

#[test]
fn a_put_of_256_mb_arrives_whole_and_one_of_65_mb_on_several_nodes() {
    let context = new_context();
    let ports = (0..3).map(|node| {
        let sizes = ElanOptions { ring_bytes: 1 << 20, slot_bytes: 256 << 10, ..options(node, 3, context) };
        ElanPort::bind(sizes).unwrap()
    });
    let ports: Vec<ElanPort> = ports.collect();
    let member =
        |port: &ElanPort| ElanMember { name: port.options.name.clone(), address: port.local_address() };
    let roster: Vec<ElanMember> = ports.iter().map(member).collect();
    let join = |port: ElanPort| port.connect(roster.clone(), memory(), EventTable::new(2)).unwrap();
    let mut ports: Vec<ElanFabric<Memory>> = ports.into_iter().map(join).collect();
    let hooks = super::bed::Hooks::load(&Library::open(&super::bed::library()).unwrap()).unwrap();
    let state = ports[0].card.state();
    // SAFETY: the state of a fabric of the machine.
    unsafe { (hooks.elan_test_run)(state) };
    let data: bcs_fabric::Bytes = (0..BYTES).map(byte_at).collect::<Vec<_>>().into();
    for (nodes, bytes) in [(&[1][..], BYTES), (&[1, 2], SHARED_BYTES)] {
        let data = data.slice(BYTES - bytes..);
        let nodes: NodeSet = nodes.iter().map(|node| NodeId(*node)).collect();
        let source = Source::Shared(&data);
        ports[0]
            .xfer_and_signal(source, &nodes, GlobalAddress(0), Some(EventId(0)), Some(EventId(1)))
            .unwrap();
        let busy = ports[0].xfer_and_signal(source, &nodes, GlobalAddress(0), None, None);
        assert!(matches!(busy, Err(FabricError::Busy { .. })), "{busy:?}");
        while ports[0].test_event(EventId(0)).unwrap() == 0 {
            ports.iter_mut().for_each(|port| port.progress().unwrap());
        }
        for node in &nodes {
            let port = &mut ports[node.index()];
            assert_eq!(port.test_event(EventId(1)), Ok(1));
            let mut found = vec![0; 1 << 20];
            for (at, expected) in (0..).step_by(found.len()).zip(data.chunks(found.len())) {
                port.read(GlobalAddress(at), &mut found).unwrap();
                assert!(found == expected, "{node} of {nodes}, at {at}");
            }
        }
    }
    drop(ports);
    super::bed::forget(&hooks, capability(0, 3, context));
}

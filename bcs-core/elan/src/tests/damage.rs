//! Windows in which others have written what is no message: a node that does so is dead to the rest, and the
//! rest is sound.

use super::super::*;
use super::bed::ElanCluster;
use crate::window::{RINGS, SLOTS, Word};
use bcs_fabric::conformance::Cluster;

/// A place of node 1's in the window of node 0, and a length, that node 1 can write.
fn place(layout: &Layout, random: &mut fastrand::Rng) -> (usize, usize) {
    let from = NodeId(1);
    match random.u32(..4) {
        0 => (layout.line(from, Word::Tail(random.usize(..RINGS))), 8),
        1 => (layout.line(from, Word::Broadcast), 8),
        2 => (layout.incoming(from, random.usize(..RINGS)), layout.ring_bytes),
        _ => (layout.slot(from, random.u64(..SLOTS)), layout.slot_bytes),
    }
}

#[test]
fn noise_in_a_window_is_refused_and_harms_no_other_node() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut cluster = ElanCluster::new(3, seed, |_| {});
        let all = NodeSet::all(3);
        for node in &all {
            let data = vec![node.0 as u8; random.usize(..20_000)];
            let port = cluster.port(node);
            port.xfer_and_signal(Source::Bytes(&data), &all, GlobalAddress(0), Some(EventId(0)), None)
                .unwrap();
        }
        for _ in 0..random.u32(..20) {
            for _ in 0..random.u32(..40) {
                cluster.step();
            }
            let window = &cluster.ports[0].windows.own;
            let (start, bytes) = place(window.layout(), &mut random);
            let word = start + random.usize(..bytes / 8) * 8;
            let noise = match random.u32(..4) {
                0 => random.u64(..1 << 16),
                1 => window.load(word) ^ (1 << random.u32(..64)),
                2 => u64::MAX - random.u64(..3),
                _ => random.u64(..),
            };
            window.store(word, noise);
        }
        for _ in 0..3000 {
            cluster.step();
        }
        // The job's control network finds out what the fabric does not; the others go on.
        cluster.kill(NodeId(1));
        while cluster.step() {}
        let others: NodeSet = [0, 2].into_iter().map(NodeId).collect();
        for node in &others {
            assert!(cluster.port(node).dead().contains(NodeId(1)));
            let port = cluster.port(node);
            port.xfer_and_signal(Source::Bytes(b"on"), &others, GlobalAddress(8), Some(EventId(3)), None)
                .unwrap();
            while cluster.step() {}
            assert_eq!(cluster.port(node).test_event(EventId(3)), Ok(1), "seed {seed}");
        }
    }
}

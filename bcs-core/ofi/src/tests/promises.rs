//! The conformance suite, for each provider that needs no network card, each order of signals that it
//! promises, and each kind of registration. What is marked as ignored takes minutes, and runs with
//! `scripts/test ofi`; the others show the same code with one provider of each order.

use super::bed::{OfiBed, is_there};
use crate::SignalOrder;
use bcs_fabric::conformance::{run, run_orders, run_roads};

/// Nodes of clusters in which there is a node between root and leaves.
const SMALL_CLUSTER: u32 = 7;

fn keeps_every_promise(name: &'static str, provider: &'static str) {
    if is_there(provider) {
        run(&OfiBed::new(name, provider), 0..1);
    }
}

fn carries_records(name: &'static str, provider: &'static str) {
    if is_there(provider) {
        let bed = OfiBed::new(name, provider);
        run_roads(&bed, 0..1);
        run_roads(&OfiBed { ring_bytes: 16 << 10, ..bed }, 1..2);
    }
}

fn waits_for_completions(name: &'static str, provider: &'static str, nodes: u32) {
    if is_there(provider) {
        let bed = OfiBed { order: Some(SignalOrder::Completion), nodes, ..OfiBed::new(name, provider) };
        run_orders(&bed, 0..1);
        run_roads(&OfiBed { ring_bytes: 32 << 10, ..bed }, 0..1);
    }
}

#[test]
fn tcp_keeps_every_promise_in_small_clusters() {
    if is_there("tcp;ofi_rxm") {
        let name = "tcp_keeps_every_promise_in_small_clusters";
        run(&OfiBed { nodes: SMALL_CLUSTER, ..OfiBed::new(name, "tcp;ofi_rxm") }, 0..1);
    }
}

#[test]
#[ignore = "a minute each: scripts/test ofi"]
fn tcp_keeps_every_promise() {
    keeps_every_promise("tcp_keeps_every_promise", "tcp;ofi_rxm");
}

#[test]
fn tcp_carries_records() {
    carries_records("tcp_carries_records", "tcp;ofi_rxm");
}

#[test]
#[ignore = "a minute each: scripts/test ofi"]
fn net_keeps_every_promise() {
    keeps_every_promise("net_keeps_every_promise", "net");
}

#[test]
fn net_carries_records() {
    carries_records("net_carries_records", "net");
}

#[test]
#[ignore = "a minute each: scripts/test ofi"]
fn sockets_keep_every_promise() {
    let (name, provider) = ("sockets_keep_every_promise", "sockets");
    if is_there(provider) {
        // Each of its endpoints has threads that poll.
        run(&OfiBed { nodes: 5, ..OfiBed::new(name, provider) }, 0..1);
    }
}

#[test]
fn sockets_carry_records() {
    carries_records("sockets_carry_records", "sockets");
}

#[test]
#[ignore = "a minute each: scripts/test ofi"]
fn udp_keeps_every_promise() {
    keeps_every_promise("udp_keeps_every_promise", "udp;ofi_rxd");
}

#[test]
fn udp_carries_records() {
    carries_records("udp_carries_records", "udp;ofi_rxd");
}

#[test]
#[ignore = "a minute each: scripts/test ofi"]
fn shared_memory_keeps_every_promise() {
    keeps_every_promise("shared_memory_keeps_every_promise", "shm");
}

#[test]
fn shared_memory_carries_records() {
    carries_records("shared_memory_carries_records", "shm");
}

#[test]
fn signals_that_wait_for_completions_keep_every_promise_in_small_clusters() {
    let name = "signals_that_wait_for_completions_keep_every_promise_in_small_clusters";
    waits_for_completions(name, "tcp;ofi_rxm", SMALL_CLUSTER);
}

#[test]
#[ignore = "half a minute: scripts/test ofi"]
fn signals_that_wait_for_completions_keep_every_promise() {
    let name = "signals_that_wait_for_completions_keep_every_promise";
    for provider in ["tcp;ofi_rxm", "sockets"] {
        waits_for_completions(name, provider, 16);
    }
    // Where writes need not keep their order, one process writes into the memory of the other. Completions
    // come in the order of the writes then, of all nodes: behind one to a dead node, none comes any more.
    if is_there("shm") {
        let bed = OfiBed { order: Some(SignalOrder::Completion), ..OfiBed::new(name, "shm") };
        run_orders(&bed, 0..1);
    }
}

#[test]
#[ignore = "a minute each: scripts/test ofi"]
fn bytes_that_go_through_slabs_keep_every_promise() {
    let name = "bytes_that_go_through_slabs_keep_every_promise";
    for (provider, registered_bytes) in [("tcp;ofi_rxm", 20_000), ("shm", 4 << 10)] {
        if is_there(provider) {
            let bed = OfiBed { registered_bytes, ..OfiBed::new(name, provider) };
            run_orders(&bed, 0..1);
            run_roads(&OfiBed { ring_bytes: 64 << 10, ..bed }, 0..1);
        }
    }
}

//! The conformance suite over a libelan made for tests, and what is the backend's own.
//!
//! | file | holds |
//! |---|---|
//! | `bed` | clusters whose nodes and cards a test drives |
//! | `acts` | what the card does for an operation, counted |
//! | `joining` | what keeps a node from joining, and who leaves |
//! | `large` | a transfer that no buffer holds |
//! | `threads` | nodes and cards with threads of their own |
//! | `damage` | windows in which others have written what is no message |

mod acts;
mod bed;
mod damage;
mod joining;
mod large;
mod threads;

use super::{ElanOptions, check};
use bcs_fabric::conformance;
use bed::{ElanBed, ElanCluster, NETWORK};

/// Rings and slots of a few messages, which large transfers fill many times.
fn bed(name: &'static str) -> ElanBed {
    ElanBed { name, has_nic_library: true, ring_bytes: 16 << 10, slot_bytes: 8 << 10 }
}

/// What the NIC of a job asks of its network.
fn carries_jobs<F: bcs_fabric::DrivenRoad>(_fabric: &F) {}

#[test]
fn networks_of_any_size_have_windows_that_can_be_and_a_fabric_that_jobs_can_have() {
    for nodes in [1, 64, 65, 256, 257, 1024] {
        let options = ElanOptions::new(NETWORK, "node", 0, nodes);
        let bytes = check(&options).unwrap().bytes().unwrap();
        assert!(bytes < 144 << 20, "{nodes} nodes need windows of {bytes} bytes");
    }
    let cluster = ElanCluster::new(1, 1, |_| {});
    assert!(!cluster.ports[0].has_broadcasts());
    carries_jobs(&cluster.ports[0]);
}

#[test]
fn elan_keeps_every_promise() {
    conformance::run(&bed("elan_keeps_every_promise"), 0..1);
}

#[test]
fn elan_without_a_nic_library_keeps_every_promise() {
    let bed = bed("elan_without_a_nic_library_keeps_every_promise");
    conformance::run(&ElanBed { has_nic_library: false, ..bed }, 0..1);
}

#[test]
fn elan_with_the_smallest_rings_and_slots_keeps_every_promise() {
    let bed = bed("elan_with_the_smallest_rings_and_slots_keeps_every_promise");
    conformance::run(&ElanBed { ring_bytes: 8 << 10, slot_bytes: 1 << 10, ..bed }, 0..1);
}

#[test]
fn cards_that_complete_in_any_order_keep_every_order_that_is_promised() {
    conformance::run_orders(&bed("cards_that_complete_in_any_order"), 2..12);
}

#[test]
fn elan_carries_records() {
    conformance::run_roads(&bed("elan_carries_records"), 0..3);
    let bed = bed("elan_carries_records");
    conformance::run_roads(&ElanBed { has_nic_library: false, ring_bytes: 8 << 10, ..bed }, 3..5);
}

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

use bcs_fabric::conformance;
use bed::ElanBed;

/// Rings and slots of a few messages, which large transfers fill many times.
fn bed(name: &'static str) -> ElanBed {
    ElanBed { name, has_nic_library: true, ring_bytes: 16 << 10, slot_bytes: 8 << 10 }
}

#[test]
fn elan_keeps_every_promise() {
    conformance::run(&bed("elan_keeps_every_promise"), 0..2);
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

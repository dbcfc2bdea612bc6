//! The conformance suite over a libelan made for tests.
//!
//! | file | holds |
//! |---|---|
//! | `bed` | clusters whose nodes and cards a test drives |

mod bed;

use bcs_fabric::conformance;
use bed::ElanBed;

#[test]
fn elan_keeps_every_promise() {
    let name = "elan_keeps_every_promise";
    let bed = ElanBed { name, has_nic_library: true, ring_bytes: 16 << 10, slot_bytes: 8 << 10 };
    conformance::run(&bed, 0..1);
}

#[test]
fn elan_without_broadcasts_keeps_every_promise() {
    let name = "elan_without_broadcasts_keeps_every_promise";
    let bed = ElanBed { name, has_nic_library: false, ring_bytes: 16 << 10, slot_bytes: 8 << 10 };
    conformance::run(&bed, 0..1);
}

#[test]
fn elan_carries_records() {
    let name = "elan_carries_records";
    let bed = ElanBed { name, has_nic_library: true, ring_bytes: 16 << 10, slot_bytes: 8 << 10 };
    conformance::run_roads(&bed, 0..2);
}

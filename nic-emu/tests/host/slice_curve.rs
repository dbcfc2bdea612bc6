//! What global slices take grows with the logarithm of the number of nodes, and not faster; and every load
//! takes as many one-way delays as `docs/protocol.md` says.

#[path = "../../examples/slice_curve/harness.rs"]
mod harness;

use harness::{Cluster, Load};
use std::time::Duration;

/// Nodes, levels of their tree, and what an exchange, one of large messages, a barrier and an allreduce take
/// from rest, as `docs/protocol.md` has it.
const DELAYS: [(u32, u32, [u32; 4]); 4] =
    [(2, 1, [1, 3, 2, 2]), (5, 1, [1, 3, 2, 2]), (21, 2, [1, 3, 4, 4]), (64, 3, [1, 3, 6, 6])];

#[test]
fn a_slice_grows_with_the_logarithm_of_the_nodes() {
    for latency_us in [1, 20] {
        let latency = Duration::from_micros(latency_us);
        for load in Load::of_slices() {
            let slice = |nodes| Cluster::new(nodes, latency).measure(load).slice;
            // From one size to the next the tree has one level more: with every level comes the same again,
            // and nothing for the nodes.
            let slices: Vec<Duration> = [5, 21, 85, 341].into_iter().map(slice).collect();
            let steps: Vec<Duration> =
                slices.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
            let (least, most) = (steps.iter().min().unwrap(), steps.iter().max().unwrap());
            assert!(*most < 3 * *least, "{} over links of {latency_us} µs: {slices:?}", load.name());
        }
    }
}

#[test]
fn loads_take_as_many_one_way_delays_as_the_documentation_says() {
    // So slow that the time that bytes take on the wire is nothing beside it.
    let latency = Duration::from_millis(10);
    for (nodes, levels, delays) in DELAYS {
        let mut cluster = Cluster::new(nodes, latency);
        for (load, expected) in Load::ALL.into_iter().zip(delays) {
            let taken = cluster.measure(load).done.as_secs_f64() / latency.as_secs_f64();
            assert_eq!(taken.round() as u32, expected, "{} on {nodes} nodes, {levels} levels", load.name());
        }
    }
}

//! Ranks that wait for room: whoever is ahead of others has none left in the end. That is a deadlock exactly
//! when the others wait for what comes after.

use crate::cluster::{ClusterShape, places, prepare};
use crate::program::{Program, Shape};
use bcs_fabric::sim::NetworkModel;
use nic_emu::memory::status::Room;
use proptest::prelude::*;
use std::time::Duration;

fn shape(period_ns: u64) -> impl Strategy<Value = ClusterShape> {
    (any::<u64>(), 2usize..5, any::<bool>()).prop_map(move |(seed, nodes, is_rough)| {
        let places = places(nodes, seed);
        let program = Shape { seed, ranks: places.len(), events: 0, period_ns, attach: true, largest: 0 };
        let mut network = if is_rough { NetworkModel::rough() } else { NetworkModel::default() };
        if period_ns != 0 {
            network.jitter = network.jitter.min(Duration::from_micros(30));
        }
        ClusterShape { program, places, network, seed, link_bytes: 16_384 }
    })
}

fn is_told_exactly_when_it_is_one(shape: &ClusterShape, all_meet: bool, slow: Option<usize>) {
    let program = Program::apart(&shape.program, all_meet);
    let mut run = prepare(shape, &program, None);
    run.machine.slow = slow;
    let Some(report) = run.until_finished_or_stated() else {
        assert!(!(all_meet && program.loop_lacks_room()), "a loop has found more room than there is");
        return run.complete();
    };
    assert!(all_meet && program.loop_lacks_room(), "of no deadlock it is stated that it is one:\n{report}");
    let lacks_slab = |rank: &nic_emu::hang::RankState| rank.waits_for.room == Room::Slab;
    assert!(report.0.ranks.iter().any(lacks_slab), "who is ahead waits for room:\n{report}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 5, ..ProptestConfig::default() })]
    #[test]
    fn who_waits_for_room_is_in_a_deadlock_exactly_when_no_node_will_make_any(
        shape in shape(0), all_meet: bool, slow in proptest::option::of(0usize..2),
    ) {
        is_told_exactly_when_it_is_one(&shape, all_meet, slow);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 3, ..ProptestConfig::default() })]
    #[test]
    fn with_fixed_slices_too_who_waits_for_room_is_in_a_deadlock_exactly_when_no_node_will_make_any(
        shape in shape(500_000), all_meet: bool,
    ) {
        is_told_exactly_when_it_is_one(&shape, all_meet, None);
    }
}

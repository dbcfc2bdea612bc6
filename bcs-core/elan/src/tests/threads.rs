//! Nodes that each have a thread, and cards that have one of their own: nothing is driven in turns.

use super::super::*;
use super::bed::ElanCluster;
use bcs_fabric::Condition;
use bcs_fabric::conformance::EVENTS;

const NODES: u32 = 4;
const ROUNDS: u64 = 60;

fn variable(number: u64) -> GlobalVariable {
    GlobalVariable::at(GlobalAddress(number * 8)).unwrap()
}

/// A node's part: in each round it puts to all, says that it is there, and waits until all are.
fn take_part(mut port: ElanFabric<bcs_core::SparseMemory>) -> ElanFabric<bcs_core::SparseMemory> {
    let (own, all) = (port.node(), NodeSet::all(NODES));
    let local = EventId(EVENTS - 1);
    for round in 1..=ROUNDS {
        let mut data = round.to_le_bytes().to_vec();
        data.resize(if round % 10 == 0 { 20_000 } else { 8 }, own.0 as u8);
        let at = GlobalAddress(4096).slot(own.0, 32 << 10).unwrap();
        port.xfer_and_signal(Source::Bytes(&data), &all, at, Some(local), None).unwrap();
        assert_eq!(port.wait_event(local), Ok(1));
        port.store(variable(0), round).unwrap();
        let there = Comparison { variable: variable(0), condition: Condition::GreaterEqual, value: round };
        while !port.compare_and_write_now(&all, there, None).unwrap() {}
        for node in &all {
            let at = GlobalAddress(4096).slot(node.0, 32 << 10).unwrap();
            let mut found = [0; 8];
            port.read(at, &mut found).unwrap();
            let found = u64::from_le_bytes(found);
            assert!(found == round || found == round + 1, "{own} has round {found} of {node} in {round}");
        }
    }
    // Whoever is through goes on for the others until all are.
    let done = Comparison { variable: variable(0), condition: Condition::Equal, value: ROUNDS };
    assert_eq!(port.compare_and_write_now(&all, done, None), Ok(true));
    let until = now() + Duration::from_millis(200);
    while now() < until {
        port.progress().unwrap();
    }
    port
}

#[test]
fn nodes_with_threads_of_their_own_stay_in_step() {
    for has_nic_library in [true, false] {
        let mut cluster = ElanCluster::new(NODES, 1, |options| {
            if !has_nic_library {
                options.nic_library = None;
            }
        });
        cluster.run();
        let ports = std::mem::take(&mut cluster.ports);
        let nodes: Vec<_> = ports.into_iter().map(|port| std::thread::spawn(|| take_part(port))).collect();
        cluster.ports = nodes.into_iter().map(|node| node.join().unwrap()).collect();
        assert!(cluster.ports.iter().all(|port| port.dead().is_empty()));
        assert_eq!(cluster.counts().broadcasts > 0, has_nic_library);
    }
}

//! A rank that has the run token for long, as one that is stopped, holds up its node's slices, and nothing
//! else: the node stays in its network.

#![allow(clippy::disallowed_methods, reason = "a driver with a real network")]

use bcs_core::{EventTable, LocalRank};
use bcs_credentials as credentials;
use bcs_fabric::Fabric;
use bcs_quic::{MappedMemory, Member, NetworkId, QuicFabric, QuicOptions, QuicPort, map_memory};
use nic_emu::channel::OwnProcess;
use nic_emu::global::layout::EVENTS_WITH_RINGS;
use nic_emu::global::{GlobalLayout, GlobalNic, Polled};
use nic_emu::host::mapping::create_private;
use nic_emu::memory::Layout;
use nic_emu::memory::token::Holder;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a node may be silent here, and how long the token is held.
const SILENCE: Duration = Duration::from_millis(400);
const HELD: Duration = Duration::from_millis(1600);

fn network(nodes: u32) -> Vec<QuicFabric<MappedMemory>> {
    let names: Vec<String> = (0..nodes).map(|node| format!("node{node}")).collect();
    let credentials = credentials::mint("test", names.iter().map(String::as_str)).unwrap();
    let bind = |credential| {
        let options = QuicOptions::new(NetworkId(1), credential, "127.0.0.1".parse().unwrap());
        QuicPort::bind(QuicOptions { idle_timeout: SILENCE, keep_alive: SILENCE / 8, ..options }).unwrap()
    };
    let ports: Vec<QuicPort> = credentials.into_iter().map(bind).collect();
    let member = |(name, port): (String, &QuicPort)| Member { name, address: port.local_address() };
    let roster: Vec<Member> = names.into_iter().zip(&ports).map(member).collect();
    let memory = || map_memory(GlobalLayout::new(nodes).bytes_with_rings()).unwrap();
    let connect =
        |port: QuicPort| port.connect(roster.clone(), memory(), EventTable::new(EVENTS_WITH_RINGS)).unwrap();
    ports.into_iter().map(connect).collect()
}

#[test]
fn a_node_whose_run_token_is_held_for_long_is_not_taken_for_dead() {
    let mut fabrics = network(2);
    fabrics.iter_mut().for_each(QuicFabric::begin_connect_all);
    let begun = Instant::now();
    while fabrics.iter().any(|fabric| !fabric.unconnected().is_empty()) {
        assert!(begun.elapsed() < Duration::from_secs(10), "links between two nodes of one process");
        fabrics.iter_mut().for_each(|fabric| fabric.progress().unwrap());
    }
    let mut other = fabrics.pop().unwrap();
    let memory = Arc::new(create_private(Layout::new(1, 2, [0; 2]).unwrap(), 0, 2).unwrap());
    let layout = GlobalLayout::new(2);
    let fabric = Box::new(layout.with_rings(fabrics.pop().unwrap()));
    let mut nic = GlobalNic::new(memory.clone(), fabric, layout, &OwnProcess);
    assert!(memory.token().try_take(Holder::rank(LocalRank(0))));
    let begun = Instant::now();
    while begun.elapsed() < HELD {
        let polled = nic.poll(begun.elapsed().as_nanos() as u64 + 1).unwrap();
        assert!(matches!(polled, Polled::Busy));
        other.progress().unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    memory.token().release();
    assert!(other.dead().is_empty(), "{:?}", other.dead());
    assert!(nic.fabric.dead().is_empty());
}

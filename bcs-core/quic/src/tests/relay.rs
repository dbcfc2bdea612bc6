//! The suite again, over a relay that loses, delays and reorders packets from a seed.
//!
//! The relay has a socket for each node, at which the others find it. So to QUIC it is the network: what it
//! does to a packet nobody can tell from what a bad network does. Time is real, so a seed fixes the fates,
//! not the run.

use super::*;
use std::collections::{BTreeMap, HashMap};
use std::net::UdpSocket;

/// The share of packets that are lost, and of those that are delayed, so that others overtake them.
const LOSS: f64 = 0.02;
const DELAYED: f64 = 0.2;
const LONGEST_DELAY: Duration = Duration::from_micros(1500);

pub struct Relay {
    sockets: Vec<UdpSocket>,
    /// Where each node really is.
    nodes: Vec<SocketAddr>,
    numbers: HashMap<SocketAddr, usize>,
    /// By when they arrive, and a number: from, to, contents.
    under_way: BTreeMap<(Instant, u64), (usize, usize, Vec<u8>)>,
    last: u64,
    lost: u64,
    random: fastrand::Rng,
}

impl Relay {
    fn new(nodes: &[SocketAddr], seed: u64) -> Self {
        let socket = |_: &SocketAddr| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        Self {
            sockets: nodes.iter().map(socket).collect(),
            nodes: nodes.to_vec(),
            numbers: nodes.iter().copied().zip(0..).collect(),
            under_way: BTreeMap::new(),
            last: 0,
            lost: 0,
            random: fastrand::Rng::with_seed(seed),
        }
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.iter().map(|socket| socket.local_addr().unwrap()).collect()
    }

    /// Takes in what has been sent, and hands out what has arrived.
    pub fn drive(&mut self) {
        let now = driver::now();
        let mut buffer = [0; 2048];
        for to in 0..self.sockets.len() {
            while let Ok((bytes, address)) = self.sockets[to].recv_from(&mut buffer) {
                let Some(from) = self.numbers.get(&address).copied() else { continue };
                if self.random.f64() < LOSS {
                    self.lost += 1;
                    continue;
                }
                let is_delayed = self.random.f64() < DELAYED;
                let delay =
                    if is_delayed { LONGEST_DELAY.mul_f64(self.random.f64()) } else { Duration::ZERO };
                self.last += 1;
                self.under_way.insert((now + delay, self.last), (from, to, buffer[..bytes].to_vec()));
            }
        }
        while let Some(entry) = self.under_way.first_entry()
            && entry.key().0 <= now
        {
            let (from, to, contents) = entry.remove();
            // A receiver whose buffer is full, or that is gone, loses it.
            let _ = self.sockets[from].send_to(&contents, self.nodes[to]);
        }
    }
}

struct RelayBed;

impl TestBed for RelayBed {
    type Cluster = QuicCluster;

    fn start(&self, nodes: u32, seed: u64) -> Option<QuicCluster> {
        if nodes > 16 {
            return None;
        }
        let names = names(nodes);
        let credentials = credentials::mint("test", names.iter().map(String::as_str)).unwrap();
        let mut relay = None;
        let ports = start_with(
            credentials,
            |_| {},
            |addresses| relay.insert(Relay::new(addresses, seed)).addresses(),
        );
        let (dead, untold) = (NodeSet::new(), Vec::new());
        Some(QuicCluster { ports, dead, untold, random: fastrand::Rng::with_seed(seed), relay })
    }

    fn command(&self) -> String {
        "cargo test -p bcs-quic tests::relay".into()
    }
}

#[test]
fn promises_about_order_are_kept_over_a_network_that_loses_and_reorders() {
    conformance::run_orders(&RelayBed, 0..1);
}

#[test]
fn large_puts_and_queries_arrive_whole_over_a_network_that_loses_and_reorders() {
    for seed in 0..2 {
        let mut cluster = RelayBed.start(4, seed).unwrap();
        let all = NodeSet::all(4);
        let data: Vec<u8> = (0..400_000u32).map(|number| (number % 251) as u8).collect();
        for node in &all {
            let at = GlobalAddress(1 << 20).slot(node.0, 1 << 19).unwrap();
            let port = cluster.port(node);
            port.xfer_and_signal(Source::Bytes(&data), &all, at, Some(EventId(0)), Some(EventId(1))).unwrap();
        }
        let until = driver::now() + PATIENCE;
        while cluster.step() {
            assert!(driver::now() < until, "seed {seed}: still under way after a minute");
        }
        for node in &all {
            let port = cluster.port(node);
            assert_eq!(
                (port.test_event(EventId(0)), port.test_event(EventId(1))),
                (Ok(1), Ok(4)),
                "seed {seed}"
            );
            for from in &all {
                let mut found = vec![0; data.len()];
                port.read(GlobalAddress(1 << 20).slot(from.0, 1 << 19).unwrap(), &mut found).unwrap();
                assert!(found == data, "seed {seed}: what {node} has from {from} is damaged");
            }
            assert!(port.dead().is_empty());
        }
        assert!(cluster.relay.unwrap().lost > 0, "seed {seed}: nothing was lost, so nothing was shown");
    }
}

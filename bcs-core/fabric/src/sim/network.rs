//! The simulated network: what happens to a packet, decided by a seeded generator.
//!
//! Each node has one port of limited bandwidth, on which packets leave one after another; a packet then takes
//! the base delay of its link and a random part on top, so packets overtake each other. It is lost with the
//! given probability, and always across a partition. Invariant: the same seed and the same calls give the
//! same fates.

use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use std::time::Duration;

/// What the simulated network is like. All times are virtual.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkModel {
    /// The shortest time that a packet takes between two nodes.
    pub delay: Duration,
    /// How much longer a link's base delay may be: each pair of nodes has its own, drawn from the seed.
    pub delay_spread: Duration,
    /// How much longer a single packet may take; above zero, packets overtake each other.
    pub jitter: Duration,
    /// The bandwidth of a node's port in bytes per second.
    pub bandwidth_bytes_per_second: u64,
    /// The share of packets that are lost, from 0 to 1.
    pub loss: f64,
    /// The longest time until a survivor is told of a death; each survivor's own is random.
    pub detection: Duration,
}

impl Default for NetworkModel {
    /// A good cluster network: 2 µs, 10 GB/s, no loss.
    fn default() -> Self {
        Self {
            delay: Duration::from_micros(2),
            delay_spread: Duration::ZERO,
            jitter: Duration::ZERO,
            bandwidth_bytes_per_second: 10_000_000_000,
            loss: 0.0,
            detection: Duration::from_millis(1),
        }
    }
}

impl NetworkModel {
    /// A bad network: links differ tenfold, packets overtake each other and one in ten is lost.
    pub fn rough() -> Self {
        Self {
            delay_spread: Duration::from_micros(20),
            jitter: Duration::from_micros(30),
            bandwidth_bytes_per_second: 1_000_000_000,
            loss: 0.1,
            ..Self::default()
        }
    }

    /// A network on which any order of packets is likely: delays differ a hundredfold and a third is lost.
    pub fn wild() -> Self {
        Self {
            delay: Duration::from_micros(1),
            delay_spread: Duration::from_micros(100),
            jitter: Duration::from_micros(50),
            loss: 0.3,
            ..Self::default()
        }
    }

    /// How long a sender waits for an acknowledgement at first: a round trip at its slowest, twice.
    pub(super) fn retransmission_ns(&self) -> u64 {
        4 * nanoseconds(self.delay + self.delay_spread + self.jitter) + 1_000
    }
}

/// A duration of the model in nanoseconds, the unit of virtual time.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// When it has left its sender, who must live until then, in nanoseconds of virtual time.
    pub departs_ns: u64,
    /// When it arrives; `None` when it is lost.
    pub arrives_ns: Option<u64>,
}

/// The network between the ports.
#[derive(Debug)]
pub(super) struct Network {
    pub model: NetworkModel,
    seed: u64,
    random: fastrand::Rng,
    /// By node: when its port is free again.
    port_free_ns: Vec<u64>,
    /// The nodes that are cut off from all others.
    partition: NodeSet,
}

impl Network {
    pub fn new(model: NetworkModel, nodes: u32, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { model, seed, random, port_free_ns: vec![0; nodes as usize], partition: NodeSet::new() }
    }

    /// Decides the fate of a packet that is handed to its sender's port now.
    pub fn send(&mut self, now_ns: u64, from: NodeId, to: NodeId, bytes: usize) -> Fate {
        let port_free_ns = &mut self.port_free_ns[from.index()];
        let takes_ns =
            (bytes as u128 * 1_000_000_000 / u128::from(self.model.bandwidth_bytes_per_second.max(1))) as u64;
        let departs_ns = now_ns.max(*port_free_ns) + takes_ns;
        *port_free_ns = departs_ns;
        let lost = self.random.f64() < self.model.loss;
        let travels_ns = self.link_delay_ns(from, to) + self.draw_ns(self.model.jitter);
        let arrives_ns = (!lost && self.is_connected(from, to)).then_some(departs_ns + travels_ns);
        Fate { departs_ns, arrives_ns }
    }

    /// Cuts the nodes of a set off from all others; the empty set heals the network.
    pub fn set_partition(&mut self, nodes: NodeSet) {
        self.partition = nodes;
    }

    /// Whether packets between two nodes get through.
    pub fn is_connected(&self, a: NodeId, b: NodeId) -> bool {
        self.partition.contains(a) == self.partition.contains(b)
    }

    /// How long after a death a survivor is told.
    pub fn draw_detection_ns(&mut self) -> u64 {
        self.draw_ns(self.model.detection)
    }

    fn draw_ns(&mut self, at_most: Duration) -> u64 {
        match nanoseconds(at_most) {
            0 => 0,
            limit => self.random.u64(0..=limit),
        }
    }

    /// A link's own delay, a function of the seed and the pair: no table of all pairs is kept.
    fn link_delay_ns(&self, a: NodeId, b: NodeId) -> u64 {
        let (low, high) = (a.0.min(b.0), a.0.max(b.0));
        let pair = u64::from(low) << 32 | u64::from(high);
        let spread = match nanoseconds(self.model.delay_spread) {
            0 => 0,
            limit => fastrand::Rng::with_seed(self.seed ^ pair).u64(0..=limit),
        };
        nanoseconds(self.model.delay) + spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(1);

    #[test]
    fn the_same_seed_gives_the_same_fates() {
        let fates = |seed| {
            let mut network = Network::new(NetworkModel::rough(), 2, seed);
            (0..100).map(|packet| network.send(packet * 10, A, B, 100)).collect::<Vec<_>>()
        };
        assert_eq!(fates(1), fates(1));
        assert_ne!(fates(1), fates(2));
    }

    #[test]
    fn packets_of_one_port_leave_one_after_another_and_may_overtake_each_other_later() {
        let mut network = Network::new(NetworkModel::rough(), 2, 7);
        let fates: Vec<_> = (0..200).map(|_| network.send(0, A, B, 1000)).collect();
        assert!(fates.windows(2).all(|pair| pair[1].departs_ns == pair[0].departs_ns + 1000));
        let arrivals: Vec<_> = fates.iter().filter_map(|fate| fate.arrives_ns).collect();
        assert!(arrivals.len() < fates.len(), "some are lost");
        assert!(arrivals.windows(2).any(|pair| pair[1] < pair[0]), "some overtake");
    }

    #[test]
    fn nothing_crosses_a_partition_until_it_heals() {
        let mut network = Network::new(NetworkModel::default(), 3, 0);
        network.set_partition(NodeSet::single(B));
        assert_eq!(network.send(0, A, B, 10).arrives_ns, None);
        assert!(network.send(0, A, NodeId(2), 10).arrives_ns.is_some());
        network.set_partition(NodeSet::new());
        assert!(network.send(0, A, B, 10).arrives_ns.is_some());
    }
}

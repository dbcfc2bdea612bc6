//! Random programs on clusters that fail: lost and reordered packets, networks that fall apart for a second
//! or for ever, a node that is slow, a node that dies at any moment. The promise: either all answers are
//! right, or every node that is left reports an error that names a node that is lost. Never a wrong answer,
//! never a hang, never a put to several nodes that only some of them have.
//!
//! A failing run prints the command that replays it.

use crate::cluster::{Cluster, ClusterShape, places, prepare};
use crate::program::{Program, Shape};
use crate::random::Random;
use crate::run::Run;
use bcs_core::{GlobalAddress, NodeId, NodeSet};
use bcs_fabric::Fabric;
use bcs_fabric::sim::NetworkModel;
use nic_emu::global::GlobalLayout;
use nic_emu::memory::descriptor::CollectiveKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Runs of each of the four tests.
const RUNS: u64 = 2500;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Only the network is bad.
    Network,
    /// Some nodes are cut off for a second.
    Partition,
    /// A node does what it has to much later than the others.
    Slow,
    /// A node dies.
    Death,
    /// Some nodes are cut off for ever, until others take them for dead.
    CutOff,
}

/// A run: all of it follows from the seed.
struct Scenario {
    shape: ClusterShape,
    fault: Fault,
    random: Random,
}

impl Scenario {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x5eed_fa17);
        let fault = *random.pick(&[
            Fault::Network,
            Fault::Partition,
            Fault::Slow,
            Fault::Death,
            Fault::Death,
            Fault::Death,
            Fault::CutOff,
        ]);
        let late = NetworkModel { jitter: Duration::from_secs(2), ..NetworkModel::default() };
        let bad = [NetworkModel::default(), NetworkModel::rough(), NetworkModel::wild(), late];
        let network = random.pick(&bad).clone();
        let nodes = 2 + random.below(4);
        let mut places = places(nodes, random.next());
        // Programs are small, as there are many of them: no more than two ranks on most nodes.
        let most = if random.once_in(4) { 4 } else { 2 };
        let mut on_node = vec![0; nodes];
        places.retain(|node| {
            on_node[*node as usize] += 1;
            on_node[*node as usize] <= most
        });
        let largest = *random.pick(&[30, 3000, 20_000]);
        let program = Shape {
            seed,
            ranks: places.len(),
            events: 4 + random.below(14),
            period_ns: 0,
            attach: !random.once_in(3),
            largest,
        };
        let (link_bytes, data_bytes) = *random.pick(&[(2048, 1024), (16_384, 4096)]);
        let shape = ClusterShape { program, places, network, seed, link_bytes, data_bytes };
        Self { shape, fault, random }
    }

    fn some_nodes(&mut self) -> NodeSet {
        let nodes = self.shape.nodes();
        let first = self.random.below(nodes as usize) as u32;
        let count = 1 + self.random.below(nodes as usize - 1) as u32;
        (0..count).map(|i| NodeId((first + i) % nodes)).collect()
    }

    fn run(mut self) {
        let program = Program::random(&self.shape.program);
        let mut run = prepare(&self.shape, &program, None);
        match self.fault {
            Fault::Network => run.finish(),
            Fault::Slow => {
                run.machine.slow = Some(self.random.below(self.shape.nodes() as usize));
                run.finish();
            }
            Fault::Partition => {
                let at = Duration::from_nanos(self.random.next() % 2_000_000);
                run.machine.sim.partition_at(at, self.some_nodes());
                run.machine.sim.partition_at(at + Duration::from_secs(1), NodeSet::new());
                run.finish();
            }
            Fault::Death | Fault::CutOff => self.run_to_the_end(run),
        }
    }

    /// Runs until the fault strikes, at a random moment or when the program is stuck by itself, and then
    /// until every node that is left has reported it.
    fn run_to_the_end(mut self, mut run: Run<'_, Cluster>) {
        let strike = self.random.next() % (1 << self.random.below(13));
        let doomed = match self.fault {
            Fault::Death => NodeSet::single(NodeId(self.random.below(self.shape.nodes() as usize) as u32)),
            _ => self.some_nodes(),
        };
        let survivors = NodeSet::all(self.shape.nodes()).difference(&doomed);
        let (mut quiet, mut rounds_since) = (0, None);
        while !survivors.iter().all(|node| run.machine.has_ended(node)) {
            let places = &self.shape.places;
            let moved = run.round_of(|machine, rank| !machine.has_ended(NodeId(places[rank])));
            quiet = if moved { 0 } else { quiet + 1 };
            match &mut rounds_since {
                None if run.machine.events >= strike || quiet > 40 => {
                    run.machine.doomed = doomed.clone();
                    match self.fault {
                        Fault::Death => doomed.iter().for_each(|node| run.machine.kill(node)),
                        _ => run.machine.sim.partition_at(run.machine.sim.now(), doomed.clone()),
                    }
                    rounds_since = Some(0);
                }
                None => {}
                Some(rounds) => {
                    *rounds += 1;
                    // The failure detector: one of those that are left says it, sometimes two.
                    if self.fault == Fault::CutOff && *rounds >= 20 {
                        for node in survivors.iter().take(1 + self.random.below(2)) {
                            for dead in &doomed {
                                // One that knows already says so.
                                let _ = run.machine.sim.fabric(node).declare_dead(dead);
                            }
                        }
                    }
                    assert!(
                        *rounds < 5000,
                        "nodes do not learn of the loss of {doomed}:\n{}",
                        run.describe()
                    );
                }
            }
        }
        run.log.check_cut_short();
        self.check_that_puts_are_whole(&run.machine, &run, &survivors);
    }

    /// What went to several nodes at once, all that are left have, or none has.
    fn check_that_puts_are_whole(&self, cluster: &Cluster, run: &Run<'_, Cluster>, survivors: &NodeSet) {
        for _ in 0..1_000_000 {
            if cluster.sim.step().is_none() {
                break;
            }
        }
        let shape = &self.shape;
        let layout = GlobalLayout::sized(shape.nodes(), shape.link_bytes, shape.data_bytes);
        for comm in &run.program.comms {
            let nodes: NodeSet = comm.members.iter().map(|&rank| NodeId(shape.places[rank])).collect();
            for chunk in 0..2 {
                let at = layout.cell(comm.context + 1, chunk);
                let left = nodes.intersection(survivors);
                let cells: Vec<[u64; 6]> = left.iter().map(|node| read_cell(cluster, node, at)).collect();
                // Which collective, and where in its bytes.
                let newest = cells.iter().max_by_key(|[stamp, _, offset, ..]| (*stamp, *offset));
                // The result of a reduction may be for one node.
                let Some(newest) = newest.filter(|words| words[4] as u8 != CollectiveKind::Reduce as u8)
                else {
                    continue;
                };
                // Its sender has no need of it.
                let without = cells.iter().filter(|cell| *cell != newest).count();
                assert!(without <= 1, "the last chunk is on {nodes} only in part: {cells:x?}");
            }
        }
    }
}

/// The words that stand in a cell of a node.
fn read_cell(cluster: &Cluster, node: NodeId, at: GlobalAddress) -> [u64; 6] {
    let mut bytes = [0; 48];
    cluster.sim.fabric(node).read(at, &mut bytes).unwrap();
    let mut words = [0; 6];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

fn run_all(first: u64) {
    for seed in first..first + RUNS {
        if catch_unwind(AssertUnwindSafe(|| Scenario::new(seed).run())).is_err() {
            panic!(
                "replay this run: BCS_SEED={seed} cargo test -p nic-emu --test oracle replay -- --nocapture"
            );
        }
    }
}

#[test]
fn ten_thousand_faults_first_quarter() {
    run_all(0);
}

#[test]
fn ten_thousand_faults_second_quarter() {
    run_all(RUNS);
}

#[test]
fn ten_thousand_faults_third_quarter() {
    run_all(2 * RUNS);
}

#[test]
fn ten_thousand_faults_last_quarter() {
    run_all(3 * RUNS);
}

#[test]
fn a_root_that_learns_late_that_it_has_chunks_to_send_sends_none_that_nobody_waits_for() {
    Scenario::new(146_044).run();
}

/// One run, of the seed in `BCS_SEED`; a fixed one without it.
#[test]
fn replay() {
    let seed = std::env::var("BCS_SEED").map_or(Ok(0), |seed| seed.parse()).expect("BCS_SEED is a number");
    let scenario = Scenario::new(seed);
    println!("{:?}, {:?}", scenario.fault, scenario.shape);
    scenario.run();
}

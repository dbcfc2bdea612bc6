//! Random programs on clusters that fail: lost and reordered packets, networks that fall apart for a second
//! or for ever, a node that is slow, a node that dies at any moment. The promise: either all answers are
//! right, or every node that is left reports an error that names a node that is lost. Never a wrong answer,
//! never a hang.
//!
//! A failing run prints the command that replays it.

use crate::cluster::{Cluster, ClusterShape, places, prepare};
use crate::program::{Program, Shape};
use crate::random::Random;
use crate::run::Run;
use bcs_core::{NodeId, NodeSet};
use bcs_fabric::Fabric;
use bcs_fabric::sim::NetworkModel;
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
        let link_bytes = *random.pick(&[2048, 16_384]);
        let shape = ClusterShape { program, places, network, seed, link_bytes };
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
    }
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

/// One run, of the seed in `BCS_SEED`; a fixed one without it.
#[test]
fn replay() {
    let seed = std::env::var("BCS_SEED").map_or(Ok(0), |seed| seed.parse()).expect("BCS_SEED is a number");
    let scenario = Scenario::new(seed);
    println!("{:?}, {:?}", scenario.fault, scenario.shape);
    scenario.run();
}

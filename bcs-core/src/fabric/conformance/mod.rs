//! The conformance suite: what every backend of [`Fabric`] promises, checked against the trait alone.
//!
//! A backend brings a [`TestBed`], which starts clusters of it, and calls [`run`]. One thread drives all nodes
//! by polling, so the checks are the same for a simulation and for real networks. A check that fails
//! panics; the seed that it ran with, and the command that runs it again, are printed.

pub mod history;

mod deaths;
mod histories;
mod litmus;
mod queries;
mod transfers;

use super::{Fabric, FabricError};
use crate::event::EventId;
use crate::global_memory::{GlobalAddress, GlobalVariable};
use crate::ids::NodeId;
use crate::node_set::NodeSet;

/// The size of a node's memory that the suite needs, in bytes.
pub const MEMORY_BYTES: u64 = 8 << 20;

/// The number of a node's events that the suite needs.
pub const EVENTS: u32 = 8;

/// A cluster of a backend, all of whose nodes one thread can drive.
pub trait Cluster {
    /// A node's port.
    type Port: Fabric;

    /// The port of a node.
    fn port(&mut self, node: NodeId) -> &mut Self::Port;

    /// Lets something happen. False when nothing is under way any more.
    fn step(&mut self) -> bool;

    /// Ends a node, at whatever point it is, and sees to it that the survivors get to know.
    fn kill(&mut self, node: NodeId);
}

/// Starts clusters of a backend.
pub trait TestBed {
    /// What it starts.
    type Cluster: Cluster;

    /// A new cluster of `nodes` nodes with [`MEMORY_BYTES`] of memory and [`EVENTS`] events each, whose chances
    /// follow from the seed. `None` when the backend cannot have this number of nodes.
    fn start(&self, nodes: u32, seed: u64) -> Option<Self::Cluster>;

    /// The command that runs the failed check again; the suite puts `BCS_SEED=` and the seed before it.
    fn command(&self) -> String;
}

/// Checks everything, with each of the seeds; or with the one in the environment variable `BCS_SEED` alone.
///
/// # Panics
/// When the backend breaks a promise.
pub fn run(bed: &impl TestBed, seeds: std::ops::Range<u64>) {
    run_orders(bed, seeds.clone());
    for seed in seeds_of(seeds) {
        let _told = TellSeed { seed, command: bed.command() };
        transfers::every_shape_and_size_arrives_whole(bed, seed);
        transfers::puts_between_two_nodes_take_effect_in_the_order_of_their_calls(bed, seed);
        transfers::senders_with_slots_of_their_own_do_not_disturb_each_other(bed, seed);
        transfers::events_count_every_signal(bed, seed);
        transfers::wrong_arguments_are_refused_and_change_nothing(bed, seed);
        queries::a_query_answers_for_all_nodes_and_writes_on_all_or_none(bed, seed);
        queries::concurrent_queries_have_one_winner(bed, seed);
        queries::a_blocking_barrier_of_queries_and_puts_ends(bed, seed);
        deaths::a_put_reaches_all_survivors_or_none(bed, seed);
        deaths::a_query_writes_on_all_survivors_or_none(bed, seed);
        deaths::survivors_agree_when_several_nodes_die(bed, seed);
        deaths::histories_with_a_death_are_sequentially_consistent(bed, seed);
        deaths::a_declared_death_is_known_to_all(bed, seed);
    }
}

/// Checks only what depends on the order of small concurrent operations: cheap, so that many seeds can be
/// tried, on networks that make rare orders likely. Part of [`run`].
///
/// # Panics
/// When the backend breaks a promise.
pub fn run_orders(bed: &impl TestBed, seeds: std::ops::Range<u64>) {
    for seed in seeds_of(seeds) {
        let _told = TellSeed { seed, command: bed.command() };
        histories::concurrent_operations_are_sequentially_consistent(bed, seed);
        litmus::own_memory_is_not_older_than_what_an_answer_told(bed, seed);
        litmus::puts_of_one_node_to_two_others_do_not_cross_a_put_to_both(bed, seed);
        litmus::a_put_and_an_assignment_take_effect_in_one_order_everywhere(bed, seed);
    }
}

/// The seeds to run: `BCS_SEED` alone, when it is set.
fn seeds_of(seeds: std::ops::Range<u64>) -> std::ops::Range<u64> {
    match std::env::var("BCS_SEED").map(|seed| seed.parse::<u64>()) {
        Ok(Ok(seed)) => seed..seed + 1,
        Ok(Err(error)) => panic!("BCS_SEED is not a number: {error}"),
        Err(_) => seeds,
    }
}

/// Prints how to reproduce a failure, when dropped by a panic.
struct TellSeed {
    seed: u64,
    command: String,
}

impl Drop for TellSeed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this run failed; to repeat it:\n    BCS_SEED={} {}", self.seed, self.command);
        }
    }
}

const LOCAL: EventId = EventId(0);
const REMOTE: EventId = EventId(1);

fn variable(number: u64) -> GlobalVariable {
    GlobalVariable::at(GlobalAddress(number * GlobalVariable::BYTES)).expect("a multiple of 8")
}

/// Steps until `done` gives something. `done` may itself begin things, not necessarily every time it is called.
fn drive<C: Cluster, T>(cluster: &mut C, what: &str, mut done: impl FnMut(&mut C) -> Option<T>) -> T {
    const IDLE_CHANCES: u32 = 1000;
    let mut idle = 0;
    loop {
        if let Some(result) = done(cluster) {
            return result;
        }
        idle = if cluster.step() { 0 } else { idle + 1 };
        assert!(idle < IDLE_CHANCES, "nothing is under way any more, but not done: {what}");
    }
}

/// Steps until nothing is under way.
fn settle<C: Cluster>(cluster: &mut C) {
    while cluster.step() {}
}

/// Waits for one signal of an event.
fn await_event<C: Cluster>(cluster: &mut C, node: NodeId, event: EventId) -> Result<(), FabricError> {
    drive(cluster, "an event", |cluster| match cluster.port(node).test_event(event) {
        Ok(0) => None,
        Ok(signals) => {
            assert_eq!(signals, 1, "{node} counts {signals} signals of {event}, one was sent");
            Some(Ok(()))
        }
        Err(error) => Some(Err(error)),
    })
}

fn take_signals<C: Cluster>(cluster: &mut C, node: NodeId, event: EventId) -> u32 {
    cluster.port(node).test_event(event).unwrap_or_else(|error| panic!("{node} cannot test {event}: {error}"))
}

/// Node sets of every shape, for an initiator in a cluster of `nodes`: itself, all, all others, one other, and
/// random ones.
fn shapes(nodes: u32, initiator: NodeId, random: &mut fastrand::Rng) -> Vec<NodeSet> {
    let all = NodeSet::all(nodes);
    let own = NodeSet::single(initiator);
    let others = all.difference(&own);
    let mut shapes = vec![own, all.clone(), others.clone()];
    shapes.extend(others.last().map(NodeSet::single));
    for share in [0.2, 0.6] {
        shapes.push(all.iter().filter(|_| random.f64() < share).collect());
    }
    shapes.retain(|shape| !shape.is_empty());
    shapes.sort();
    shapes.dedup();
    shapes
}

fn random_bytes(count: usize, random: &mut fastrand::Rng) -> Vec<u8> {
    std::iter::repeat_with(|| random.u8(..)).take(count).collect()
}

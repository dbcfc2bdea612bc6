//! The conformance suite: what every backend of [`Fabric`](crate::Fabric) promises, checked against the trait
//! alone.
//!
//! A backend brings a [`TestBed`], which starts clusters of it, and calls [`run`]. One thread drives all
//! nodes by polling, so the checks are the same for a simulation and for real networks. A check that fails
//! panics; the seed that it ran with, and the command that runs it again, are printed.

pub mod history;

mod deaths;
mod histories;
mod litmus;
mod messages;
mod program;
mod queries;
mod roads;
mod test_bed;
mod transfers;

pub use messages::any_message;
pub use test_bed::{Cluster, EVENTS, MEMORY_BYTES, TestBed};

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

/// Checks the road of records, with each of the seeds, where a backend has one.
///
/// # Panics
/// When the backend breaks a promise.
pub fn run_roads<B: TestBed>(bed: &B, seeds: std::ops::Range<u64>)
where
    <B::Cluster as Cluster>::Port: crate::Road,
{
    for seed in seeds_of(seeds) {
        let _told = TellSeed { seed, command: bed.command() };
        roads::records_of_every_length_come_once_and_in_order(bed, seed);
        roads::a_node_that_does_not_poll_makes_its_senders_wait_and_nobody_else(bed, seed);
        roads::records_that_cannot_be_are_refused(bed, seed);
        roads::records_and_operations_do_not_disturb_each_other(bed, seed);
        roads::of_a_node_that_dies_the_beginning_of_its_records_comes(bed, seed);
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

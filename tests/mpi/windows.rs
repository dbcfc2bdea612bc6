//! One-sided communication: windows of all kinds, operations, synchronisations, on one node and on several.

use super::{holds, holds_as_told, holds_with};
use bcs_core::{SliceLength, Transport};
use bcs_harness::times;
use nic_emu::host::CrossMemory;
use std::time::Duration;
use test_programs::launcher::Job;

/// Seeds of random programs that a job goes through.
const SEEDS: u64 = 230;

/// The nodes of these are this machine.
fn on_nodes(ranks: u32, nodes: u32) -> Job {
    Job { nodes, limit: Duration::from_secs(180), ..Job::of(ranks) }
}

fn in_fixed_slices(job: Job) -> Job {
    Job { slice: SliceLength::Fixed(Duration::from_micros(200)), ..job }
}

#[test]
fn windows_of_every_kind_are_made_asked_and_freed() {
    holds_with("window_kinds", &[1, 2, 5]);
    holds("window_kinds", &on_nodes(4, 2));
    holds_with("window_objects", &[1, 3]);
    holds("window_objects", &on_nodes(3, 2));
}

#[test]
fn operations_bring_every_size_byte_for_byte_in_every_kind_of_epoch() {
    holds_with("window_data", &[1, 3]);
    holds("window_data", &on_nodes(3, 2));
    holds("window_data", &in_fixed_slices(Job::of(2)));
}

/// Between nodes these move from memory to memory, by whoever drives the links, or by the NIC thread.
#[test]
fn long_blocks_come_and_go_whatever_the_target_does() {
    holds_with("window_long", &[1, 2]);
    holds("window_long", &on_nodes(2, 2));
    holds("window_long", &on_nodes(6, 2));
    holds("window_long", &in_fixed_slices(on_nodes(2, 2)));
    holds("window_long", &Job { transport: Transport::Quic, ..on_nodes(2, 2) });
    holds("window_long", &Job { cross_memory: CrossMemory::Off, ..on_nodes(3, 2) });
    holds_as_told("window_long", &on_nodes(2, 2), &["268435456"]);
}

#[test]
fn every_operation_combines_elements_of_every_type_that_it_takes() {
    holds_with("window_operations", &[1, 3]);
    holds("window_operations", &on_nodes(3, 2));
    holds("window_operations", &in_fixed_slices(on_nodes(2, 2)));
}

#[test]
fn datatypes_of_both_ends_say_where_bytes_lie_and_nothing_else_is_touched() {
    holds_with("window_types", &[1, 3]);
    holds("window_types", &on_nodes(4, 2));
}

#[test]
fn every_way_to_synchronise_orders_accesses() {
    holds_with("window_sync", &[1, 2, 4]);
    holds("window_sync", &on_nodes(4, 2));
}

#[test]
fn loops_of_epochs_need_no_other_synchronisation() {
    holds_as_told("window_loops", &Job::of(2), &["10000"]);
    holds_as_told("window_loops", &Job::of(4), &["500"]);
    holds_as_told("window_loops", &on_nodes(3, 2), &["200"]);
    holds_as_told("window_loops", &on_nodes(8, 4), &["60"]);
}

#[test]
fn counters_and_locks_of_programs_hold_among_all_ranks() {
    holds_with("window_atomics", &[2, 4]);
    holds("window_atomics", &on_nodes(4, 2));
}

#[test]
fn threads_access_the_same_windows_at_the_same_time() {
    holds_with("window_threads", &[1, 3]);
    holds("window_threads", &on_nodes(4, 2));
}

/// What is attached to a dynamic window its own process alone knows.
#[test]
fn wrong_accesses_and_epochs_are_told() {
    holds_as_told("window_errors", &Job::of(3), &["without", "unattached"]);
    holds_as_told("window_errors", &on_nodes(4, 2), &["without", "unattached"]);
}

#[test]
fn accesses_take_the_other_ways_too() {
    let over_quic = |ranks| Job { transport: Transport::Quic, ..on_nodes(ranks, 2) };
    holds("window_types", &over_quic(2));
    holds_as_told("window_atomics", &over_quic(3), &["20"]);
}

/// What MPI_Win_allocate gives is mapped by all ranks of a node.
#[test]
fn where_attach_is_refused_mapped_windows_serve() {
    let refused = |ranks| Job { cross_memory: CrossMemory::Off, ..Job::of(ranks) };
    holds_as_told("window_loops", &refused(2), &["1000", "2"]);
}

#[test]
fn random_programs_of_windows_leave_what_a_model_of_them_says() {
    for (job, first, jobs) in [
        (Job::of(2), 1, 2),
        (Job::of(4), 10_001, 4),
        (on_nodes(4, 2), 20_001, 2),
        (on_nodes(3, 3), 30_001, 1),
    ] {
        // Each job has its own time limit.
        for first in (first..).step_by(SEEDS as usize).take(times(jobs) as usize) {
            let seeds = [first, first + SEEDS - 1].map(|seed: u64| seed.to_string());
            holds_as_told("random_windows", &job, &[&seeds[0], &seeds[1]]);
        }
    }
}

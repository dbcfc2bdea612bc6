//! Files: opened, seen, read and written in every way, on one node and on several; what the system refuses.

use super::{holds, holds_as_told, holds_with};
use bcs_core::SliceLength;
use bcs_harness::times;
use std::time::Duration;
use test_programs::launcher::Job;

/// Seeds of random programs that a job goes through.
const SEEDS: u64 = 250;

/// The nodes of these are this machine.
fn on_nodes(ranks: u32, nodes: u32) -> Job {
    Job { nodes, limit: Duration::from_secs(180), ..Job::of(ranks) }
}

fn in_fixed_slices(job: Job) -> Job {
    Job { slice: SliceLength::Fixed(Duration::from_micros(200)), ..job }
}

#[test]
fn files_are_opened_asked_and_closed() {
    holds_with("file_objects", &[1, 2, 5]);
    holds("file_objects", &on_nodes(4, 2));
}

#[test]
fn every_call_brings_every_size_byte_for_byte() {
    holds_with("file_data", &[1, 2]);
    holds("file_data", &on_nodes(2, 2));
    holds_as_told("file_data", &Job::of(2), &["large"]);
    let few: &[&str] = &["few"];
    holds_as_told("file_data", &Job::of(5), few);
    holds_as_told("file_data", &on_nodes(4, 2), few);
    holds_as_told("file_data", &in_fixed_slices(Job::of(2)), few);
}

#[test]
fn views_and_representations_say_which_bytes_are_seen_and_in_which_form() {
    holds_with("file_views", &[1, 3]);
    holds("file_views", &on_nodes(4, 2));
}

#[test]
fn bytes_that_nobody_asked_for_are_left_alone_while_all_write_at_once() {
    holds_with("file_neighbours", &[1, 4]);
    holds("file_neighbours", &on_nodes(4, 2));
}

#[test]
fn threads_access_the_same_file_at_the_same_time() {
    holds_with("file_threads", &[1, 3]);
    holds("file_threads", &on_nodes(4, 2));
}

#[test]
fn what_the_system_refuses_is_told_with_its_class_the_file_and_the_cause() {
    holds_with("file_errors", &[1, 3]);
    holds("file_errors", &on_nodes(4, 2));
}

#[test]
fn random_accesses_leave_what_a_plain_array_says() {
    for (job, first, jobs) in [
        (Job::of(1), 1, 1),
        (Job::of(2), 10_001, 2),
        (Job::of(4), 20_001, 3),
        (on_nodes(4, 2), 30_001, 1),
        (on_nodes(3, 3), 40_001, 1),
    ] {
        // Each job has its own time limit.
        for first in (first..).step_by(SEEDS as usize).take(times(jobs) as usize) {
            let seeds = [first, first + SEEDS - 1].map(|seed: u64| seed.to_string());
            holds_as_told("random_files", &job, &[&seeds[0], &seeds[1]]);
        }
    }
}

//! One rank that differs in one collective call: a table over collectives, forms and what differs, in which
//! ranks and sizes go round.
//!
//! What the NIC finds, every member is told, and the program goes on: so many cases are one job. What one
//! rank alone can see, others may wait for: a job each.

use bcs_harness::c_programs::compiled;
use std::sync::atomic::{AtomicUsize, Ordering};
use test_programs::launcher::{Ended, Job, launch};

/// The collectives, by the name that the program has for them; what may differ between ranks, so that all are
/// told; and what one rank alone may see.
const COLLECTIVES: [(&str, &[&str], &[&str]); 17] = [
    ("barrier", &["call"], &[]),
    ("bcast", &["call", "none", "longer", "shorter", "type", "root"], &[]),
    ("reduce", &["call", "none", "longer", "shorter", "type", "root", "operation"], &[]),
    ("allreduce", &["call", "none", "longer", "shorter", "type", "operation"], &[]),
    ("scan", &["call", "none", "longer", "shorter", "type", "operation"], &[]),
    ("exscan", &["call", "none", "longer", "shorter", "type", "operation"], &[]),
    ("reduce_scatter", &["call", "none", "longer", "shorter", "type", "operation", "shares"], &[]),
    ("reduce_scatter_block", &["call", "none", "longer", "shorter", "type", "operation"], &[]),
    ("gather", &["call", "none", "longer", "shorter", "type", "root"], &SIDES),
    ("scatter", &["call", "none", "longer", "shorter", "type", "root"], &SIDES),
    ("allgather", &["call", "none", "longer", "shorter", "type"], &SIDES_AND_TYPE),
    ("alltoall", &["call", "none", "longer", "shorter", "type"], &SIDES_AND_TYPE),
    ("gatherv", &["call", "root", "type"], &["own_shorter", "own_longer"]),
    ("scatterv", &["call", "root", "type"], &["own_shorter", "own_longer"]),
    ("allgatherv", &["call", "type"], &["own_shorter", "own_longer", "own_type"]),
    ("alltoallv", &["call"], &["own_shorter", "own_longer"]),
    ("alltoallw", &["call"], &["own_shorter", "own_longer"]),
];
const SIDES: [&str; 4] = ["own_longer", "own_shorter", "others_longer", "others_shorter"];
const SIDES_AND_TYPE: [&str; 5] =
    ["own_longer", "own_shorter", "others_longer", "others_shorter", "own_type"];

/// Blocking, non-blocking, persistent.
const FORMS: [&str; 3] = ["b", "i", "p"];
/// Elements: what rides in a descriptor, in a slab, and in neither.
const COUNTS: [u32; 3] = [2, 1000, 30000];

/// The arguments of a job.
type Arguments = Vec<String>;

/// All jobs; ranks that differ, and sizes, go round. At ranks that are not the root nobody looks at the
/// blocks of all.
fn jobs() -> (Vec<Arguments>, Vec<Arguments>) {
    let (mut returned, mut fatal, mut line) = (Vec::new(), Vec::new(), 0);
    for (collective, of_all, of_one) in COLLECTIVES {
        for (column, form) in FORMS.iter().enumerate() {
            let case = |line: usize, what: &str| {
                let is_of_root = ["gather", "scatter"].contains(&collective) && what.starts_with("others");
                // Of a broadcast, the root's own block is nobody else's.
                let is_of_others = ["gatherv", "scatterv"].contains(&collective) && what.starts_with("own");
                let odd = match (line + column) % 3 {
                    _ if is_of_root => 0,
                    odd if is_of_others => 1 + odd % 2,
                    odd => odd,
                };
                format!("{what}:{odd}:{}", COUNTS[(line / 3 + column) % COUNTS.len()])
            };
            let start = |how: &str| vec![collective.to_owned(), (*form).to_owned(), how.to_owned()];
            let cases = of_all.iter().enumerate().map(|(i, what)| case(line + i, what));
            returned.push(start("returned").into_iter().chain(cases).collect());
            let alone = of_one.iter().enumerate();
            fatal.extend(alone.map(|(i, what)| [start("fatal"), vec![case(line + i, what)]].concat()));
        }
        line += of_all.len() + of_one.len();
    }
    (returned, fatal)
}

/// What says that a rank was told what others cannot see.
const TOLD: [&str; 4] = [
    "that do not fit: all its ranks have to",
    "block truncated: ",
    "block too short: ",
    "of this rank's own block, but its place",
];

/// Runs all jobs, two at a time; answers those that are not as they should be.
fn wrong(job: &Job, jobs: &[Arguments], is_right: impl Fn(&Ended) -> bool + Sync) -> Vec<String> {
    let (next, program) = (AtomicUsize::new(0), compiled("mismatches"));
    let look = || {
        let mut wrong = Vec::new();
        while let Some(arguments) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ended = launch(job, &program, arguments);
            if !is_right(&ended) {
                wrong.push(format!("{}: {ended:?}", arguments.join(" ")));
            }
        }
        wrong
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(look), scope.spawn(look)];
        threads.into_iter().flat_map(|thread| thread.join().expect("no fault of the test")).collect()
    })
}

fn is_told_to_all(ended: &Ended) -> bool {
    ended.is_well() && ended.stdout.is_empty()
}

#[test]
fn every_collective_in_every_form_tells_what_differs_at_whichever_rank() {
    let (returned, fatal) = jobs();
    let wrong_to_all = wrong(&Job::of(3), &returned, is_told_to_all);
    let wrong_to_one = wrong(&Job::of(3), &fatal, |ended| {
        let said = format!("{:?}{:?}{}", ended.finding, ended.abort, ended.stderr);
        !ended.timed_out && !ended.is_well() && TOLD.iter().any(|told| said.contains(told))
    });
    let wrong = [wrong_to_all, wrong_to_one].concat();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), returned.len() + fatal.len(), wrong.join("\n"));
}

#[test]
fn what_the_nic_does_slab_by_slab_tells_what_differs_with_the_first_slab() {
    // The call itself is told, and not one that comes after slabs that fit.
    let jobs =
        COLLECTIVES.iter().filter(|(_, of_all, _)| of_all.contains(&"longer")).map(|(call, of_all, _)| {
            let what = of_all.iter().chain(&["longer_by_a_slab", "shorter_by_a_slab"]).enumerate();
            // 16 KB, of scatter and alltoall for all members together.
            let count = if ["scatter", "alltoall", "reduce_scatter", "reduce_scatter_block"].contains(call) {
                512
            } else {
                4096
            };
            let cases = what.map(|(i, what)| {
                format!("{what}:{}:{}", i % 8, if what.contains("slab") { 4096 } else { count })
            });
            let start = [call.to_string(), "b".to_owned(), "returned".to_owned()];
            start.into_iter().chain(cases).collect()
        });
    let jobs: Vec<Arguments> = jobs.collect();
    let wrong = wrong(&Job::of(8), &jobs, is_told_to_all);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), jobs.len(), wrong.join("\n"));
}

#[test]
fn every_collective_in_every_form_tells_what_differs_between_nodes() {
    let (returned, _) = jobs();
    let wrong = wrong(&Job { nodes: 3, ..Job::of(3) }, &returned, is_told_to_all);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), returned.len(), wrong.join("\n"));
}

#[test]
fn a_mismatch_between_nodes_is_told_soon_also_while_other_ranks_drive_the_links() {
    let none: &[&str] = &[];
    let ended = launch(&Job { nodes: 2, ..Job::of(4) }, &compiled("told_beside"), none);
    assert!(ended.is_well(), "{ended:#?}");
}

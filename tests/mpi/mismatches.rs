//! One rank that differs in one collective call: a table over collectives, forms and what differs, in which ranks and sizes go round. A job each.

use crate::launcher::{Job, launch};
use crate::programs::compiled;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The collectives, by the name that the program has for them, and what may differ between ranks beside call, length and type.
const COLLECTIVES: [(&str, &[&str]); 12] = [
    ("barrier", &[]),
    ("bcast", &["root"]),
    ("reduce", &["root", "operation"]),
    ("allreduce", &["operation"]),
    ("scan", &["operation"]),
    ("exscan", &["operation"]),
    ("reduce_scatter", &["operation"]),
    ("reduce_scatter_block", &["operation"]),
    ("gather", &["root", "own_longer", "own_shorter", "others_longer", "others_shorter"]),
    ("scatter", &["root", "own_longer", "own_shorter", "others_longer", "others_shorter"]),
    ("allgather", &["own_longer", "own_shorter", "others_longer", "others_shorter", "own_type"]),
    ("alltoall", &["own_longer", "own_shorter", "others_longer", "others_shorter", "own_type"]),
];

/// Blocking, non-blocking, persistent.
const FORMS: [&str; 3] = ["b", "i", "p"];
/// Elements: what rides in a descriptor, in a slab, and in neither.
const COUNTS: [u32; 3] = [2, 1000, 30000];

/// All cases; ranks that differ, and sizes, go round. At ranks that are not the root nobody looks at the blocks of all.
fn cases() -> Vec<[String; 5]> {
    let (mut cases, mut line) = (Vec::new(), 0);
    for (collective, more) in COLLECTIVES {
        let usual: &[&str] = match collective {
            "barrier" => &["call"],
            _ => &["call", "longer", "shorter", "type"],
        };
        for what in usual.iter().chain(more) {
            for (column, form) in FORMS.iter().enumerate() {
                let is_of_root = ["gather", "scatter"].contains(&collective) && what.starts_with("others");
                let odd = if is_of_root { 0 } else { (line + column) % 3 };
                let count = COUNTS[(line / 3 + column) % COUNTS.len()];
                let [form, what] = [form, what].map(|text| (*text).to_owned());
                cases.push([collective.to_owned(), form, what, odd.to_string(), count.to_string()]);
            }
            line += 1;
        }
    }
    cases
}

/// What says that a mismatch was told: the NIC's report, or the error of the rank that can see it alone.
const TOLD: [&str; 3] = [
    "that do not fit: all its ranks have to",
    "block truncated: ",
    "of this rank's own block, but its place",
];

#[test]
fn every_collective_in_every_form_tells_what_differs_at_whichever_rank() {
    let (cases, next, program) = (cases(), AtomicUsize::new(0), compiled("mismatches"));
    let untold = || {
        let mut untold = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ended = launch(&Job::of(3), &program, case);
            let said = format!("{:?}{:?}{}", ended.finding, ended.abort, ended.stderr);
            if ended.timed_out || ended.is_well() || !TOLD.iter().any(|told| said.contains(told)) {
                untold.push(format!("{}: {ended:?}", case.join(" ")));
            }
        }
        untold
    };
    let untold: Vec<String> = std::thread::scope(|scope| {
        let threads = [scope.spawn(untold), scope.spawn(untold)];
        threads.into_iter().flat_map(|thread| thread.join().expect("no fault of the test")).collect()
    });
    assert!(untold.is_empty(), "{} of {}:\n{}", untold.len(), cases.len(), untold.join("\n"));
}

//! Collectives that do not fit, as errors of the communicator: who is told what, and what can be done
//! afterwards.

use bcs_core::SliceLength;
use bcs_harness::c_programs::compiled;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use test_programs::launcher::{Ended, Job, launch};

/// What differs at rank 1, and the call whose forms are made, as reports name it.
const DIFFERENCES: [(&str, &str); 8] = [
    ("call", "allreduce"),
    ("root", "bcast"),
    ("slab", "bcast"),
    ("operation", "allreduce"),
    ("large", "alltoall"),
    ("gather", "gather"),
    ("neighbours", "neighbor_alltoall"),
    ("neighbours_large", "neighbor_alltoall"),
];

/// Blocking, non-blocking with a wait or a test, persistent.
const FORMS: [&str; 4] = ["b", "i", "t", "p"];

fn run(job: &Job, arguments: &[&str]) -> Ended {
    launch(job, &compiled("mismatch_errors"), arguments)
}

/// Whether every rank was told, by the report, of calls of this name.
fn is_told_to_all(ended: &Ended, call: &str) -> bool {
    let told = |rank: u32| {
        let start = format!("rank {rank} was told MPI_ERR_");
        ended.stdout.lines().any(|line| {
            let fits_not = line.contains(" that do not fit: all its ranks have to");
            let names_it = fits_not && line.to_lowercase().contains(call);
            line.starts_with(&start) && (names_it || line.contains("block t"))
        })
    };
    ended.is_well() && (0..3).all(told)
}

#[test]
fn a_mismatch_is_an_error_of_every_rank_in_every_form_and_the_program_goes_on() {
    let places = [1, 2];
    let cases: Vec<_> = DIFFERENCES
        .iter()
        .flat_map(|difference| FORMS.iter().map(move |form| (difference, form)))
        .flat_map(|case| places.iter().map(move |nodes| (case, *nodes)))
        .collect();
    let next = AtomicUsize::new(0);
    let untold = || {
        let mut untold = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((((what, call), form), nodes)) = cases.get(at) else { return untold };
            let handler = if at.is_multiple_of(3) { "user" } else { "return" };
            let ended = run(&Job { nodes: *nodes, ..Job::of(3) }, &[what, form, handler, "dup"]);
            if !is_told_to_all(&ended, call) {
                untold.push(format!("{what} {form} {handler} on {nodes}: {ended:#?}"));
            }
        }
    };
    let untold: Vec<String> = std::thread::scope(|scope| {
        let threads = [scope.spawn(untold), scope.spawn(untold)];
        threads.into_iter().flat_map(|thread| thread.join().expect("no fault of the test")).collect()
    });
    assert!(untold.is_empty(), "{} of {}:\n{}", untold.len(), cases.len(), untold.join("\n"));
}

#[test]
fn the_end_of_a_program_whose_world_is_broken_hangs_on_nobody() {
    for nodes in [1, 3] {
        let ended = run(&Job { nodes, ..Job::of(3) }, &["call", "b", "return", "world"]);
        assert!(is_told_to_all(&ended, "mpi_allreduce"), "{nodes}: {ended:#?}");
    }
    let slice = SliceLength::Fixed(Duration::from_micros(500));
    for nodes in [1, 2] {
        let ended = run(&Job { nodes, slice, ..Job::of(3) }, &["slab", "i", "return", "world"]);
        assert!(is_told_to_all(&ended, "mpi_ibcast"), "{nodes}: {ended:#?}");
    }
}

#[test]
fn communicators_can_be_broken_and_freed_as_often_as_a_program_likes() {
    for (what, form, nodes) in [("slab", "b", 1), ("gather", "i", 2)] {
        let ended = run(&Job { nodes, ..Job::of(3) }, &[what, form, "return", "often"]);
        assert!(ended.is_well(), "{what} on {nodes}: {ended:#?}");
    }
}

#[test]
fn communicators_that_a_rank_had_left_before_they_were_broken_can_be_freed_as_often_too() {
    for nodes in [1, 2] {
        let ended = launch(&Job { nodes, ..Job::of(3) }, &compiled("left_before"), &[""; 0]);
        assert!(ended.is_well(), "{nodes}: {ended:#?}");
    }
}

#[test]
fn after_a_mismatch_that_was_returned_an_abort_still_ends_the_job() {
    for nodes in [1, 2] {
        let ended = run(&Job { nodes, ..Job::of(3) }, &["root", "b", "return", "abort"]);
        let Some((42, message)) = &ended.abort else { panic!("{nodes}: {ended:#?}") };
        assert!(message.contains("rank 2: MPI_Abort(MPI_COMM_WORLD, 42)"), "{message}");
    }
}

#[test]
fn where_errors_are_fatal_a_mismatch_ends_the_job_with_its_report_on_all_nodes() {
    for (handler, nodes) in [("fatal", 1), ("abort", 1), ("fatal", 3), ("abort", 2)] {
        for form in ["b", "i", "p"] {
            let ended = run(&Job { nodes, ..Job::of(3) }, &["operation", form, handler, "dup"]);
            let finding = ended.finding.as_deref().unwrap_or_else(|| panic!("{form}, {nodes}: {ended:#?}"));
            assert!(finding.starts_with("collective calls of communicator "), "{finding}");
            for side in ["llreduce", "MPI_MAX of i32, 80000 bytes", "MPI_SUM of i32, 80000 bytes"] {
                assert!(finding.contains(side), "{form}, {nodes}: {finding}");
            }
            assert_eq!((ended.abort.as_ref(), ended.timed_out), (None, false), "{form}, {nodes}: {ended:#?}");
        }
    }
}

#[test]
fn a_mismatch_in_an_intercommunicator_is_an_error_of_every_rank_of_both_groups() {
    let program = compiled("inter_mismatches");
    let of = |ranks, nodes| Job { nodes, ..Job::of(ranks) };
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    // Forms differ where there are few ranks as where there are many.
    let few =
        [of(2, 1), of(3, 1), of(3, 2), Job { slice, ..Job::of(3) }].map(|job| (job, &["b", "i", "p"][..]));
    let many = [of(5, 1), of(8, 1), of(5, 3)].map(|job| (job, &["b"][..]));
    for (job, forms) in few.into_iter().chain(many) {
        for form in forms {
            let ended = launch(&job, &program, &[form, "return"]);
            let place = format!("{form} with {} ranks on {}", job.ranks, job.nodes);
            assert!(ended.is_well() && ended.stdout.is_empty(), "{place}: {ended:#?}");
        }
    }
}

#[test]
fn a_mismatch_in_an_intercommunicator_ends_a_job_whose_errors_are_fatal_with_both_sides() {
    let program = compiled("inter_mismatches");
    // What each side is said to have called, on one node.
    let cases = [
        ("barrier", "call", ["MPI_Barrier", "MPI_Bcast"]),
        ("bcast", "side", [" of the first group, 8 bytes", " of the second group, 8 bytes"]),
        ("gather", "root", ["root 0 of the first group", "root 1 of the first group"]),
        ("reduce", "operation", ["MPI_SUM of i32", "MPI_MAX of i32"]),
        (
            "scatter",
            "no_root",
            ["root 0 of the first group", "no rank of that group says MPI_ROOT with that rank"],
        ),
        ("dup", "call", ["MPI_Comm_dup", "MPI_Barrier"]),
    ];
    for (call, what, said) in cases {
        for (form, nodes) in [("b", 1), ("i", 1), ("p", 1), ("b", 3)] {
            if call == "dup" && form != "b" {
                continue;
            }
            let ended = launch(&Job { nodes, ..Job::of(4) }, &program, &[form, "fatal", call, what]);
            let finding =
                ended.finding.as_deref().unwrap_or_else(|| panic!("{call} {form}, {nodes}: {ended:#?}"));
            assert!(finding.starts_with("collective calls of communicator "), "{finding}");
            let plain = |text: &str| text.to_lowercase().replace("_init", "").replace("_i", "_");
            for side in said {
                assert!(plain(finding).contains(&plain(side)), "{call} {what} {form}, {nodes}: {finding}");
            }
            assert_eq!((ended.abort.as_ref(), ended.timed_out), (None, false), "{call} {form}: {ended:#?}");
        }
    }
}

/// What rank 1 does otherwise, and what the report says of it and of the others.
const TOLD_AS: [(&str, &[&str]); 9] = [
    ("set_info", &["rank 1: MPI_Comm_set_info, algorithms of collectives (bcs_collective) with hash "]),
    ("set_info_alone", &["rank 1: MPI_Comm_set_info, algorithms of", "MPI_Barrier"]),
    ("dup_with_info", &["rank 1: MPI_Comm_dup_with_info, algorithms of"]),
    ("idup_with_info", &["rank 1: MPI_Comm_idup_with_info, algorithms of"]),
    ("dist_graph_create", &["rank 1: MPI_Dist_graph_create, algorithms of"]),
    ("dist_graph_create_adjacent", &["rank 1: MPI_Dist_graph_create_adjacent, algorithms of"]),
    // Neither the bytes nor the root by which a context is agreed on.
    ("init", &["rank 1: MPI_Barrier_init\n", "MPI_Bcast_init\n"]),
    (
        "waitall",
        &["rank 1: MPI_Iallreduce, MPI_SUM of i32, 20 bytes", "MPI_Iallreduce, MPI_SUM of i32, 16 bytes"],
    ),
    (
        "allgatherv",
        &["MPI_Allgatherv, 4-byte integers", "rank 1: MPI_Allgatherv, 4-byte floating point numbers"],
    ),
];

#[test]
fn a_report_says_what_the_program_called_and_nothing_of_the_librarys_own() {
    let program = compiled("told_as");
    for (what, said) in TOLD_AS {
        let ended = launch(&Job::of(3), &program, &[what, "fatal"]);
        let finding = ended.finding.clone().unwrap_or_else(|| panic!("{what}: {ended:#?}")) + "\n";
        assert!(said.iter().all(|said| finding.contains(said)), "{what}: {finding}");
        for nodes in [1, 2] {
            let ended = launch(&Job { nodes, ..Job::of(3) }, &program, &[what, "returned"]);
            let told = ended.stdout.lines().filter(|line| line.ends_with("was told")).count();
            assert!(ended.is_well() && told == 3, "{what} on {nodes}: {ended:#?}");
        }
    }
}

#[test]
fn of_several_requests_the_one_that_failed_is_named_by_its_place_in_the_array() {
    let ended = launch(&Job::of(3), &compiled("told_as"), &["waitsome", "fatal"]);
    let Some((_, message)) = &ended.abort else { panic!("{ended:#?}") };
    assert!(message.contains("The first is request 1: message truncated: 8 bytes"), "{message}");
}

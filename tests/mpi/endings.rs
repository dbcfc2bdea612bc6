//! How jobs end: aborts, fatal errors, deadlocks, calls before and after MPI, each with its message.

use bcs_core::SliceLength;
use bcs_harness::c_programs::compiled;
use std::time::Duration;
use test_programs::launcher::{Ended, Job, launch};

fn end(ranks: u32, how: &str) -> Ended {
    end_as(&Job::of(ranks), how)
}

fn end_as(job: &Job, how: &str) -> Ended {
    let ended = launch(job, &compiled("endings"), &[how]);
    assert!(!ended.timed_out, "{how}: {ended:#?}");
    ended
}

#[track_caller]
fn aborts(ranks: u32, how: &str, code: i32, texts: &[&str]) {
    let ended = end(ranks, how);
    let Some((said, message)) = &ended.abort else { panic!("{how} does not abort: {ended:#?}") };
    assert_eq!(*said, code, "{message}");
    for text in texts {
        assert!(message.contains(text), "no \"{text}\" in \"{message}\"");
    }
}

#[test]
fn an_abort_tells_the_rank_and_the_code() {
    aborts(3, "abort", 42, &["rank 2: MPI_Abort(MPI_COMM_WORLD, 42)"]);
}

#[test]
fn a_fatal_error_tells_rank_call_argument_value_and_what_is_allowed() {
    let text =
        "rank 2: MPI_Send: argument 'dest' is 12, but MPI_COMM_WORLD has ranks 0..2 (or MPI_PROC_NULL)";
    aborts(3, "fatal", 6, &[text]);
}

#[test]
fn one_fatal_error_is_one_message_whatever_the_other_ranks_are_in() {
    for how in ["fatal_among_others", "abort_among_others"] {
        let ended = end(5, how);
        let Some((code, message)) = &ended.abort else { panic!("{how} does not abort: {ended:#?}") };
        assert_eq!(*code, 6, "{message}");
        assert!(message.contains("rank 4: MPI_Send: argument 'dest' is 12, but "), "{message}");
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""), "{how}: others have a say");
        assert_eq!(ended.finding, None, "{how}");
    }
}

#[test]
fn a_rank_that_does_not_receive_is_named_when_its_messages_are_at_the_limit() {
    for nodes in [1, 2] {
        let ended = end_as(&Job { nodes, unexpected_bytes: 1 << 20, ..Job::of(2) }, "never_received");
        let finding = ended.finding.as_deref().unwrap_or_else(|| panic!("no deadlock: {ended:#?}"));
        let expected = "no room: rank 1 has not received 1MiB of messages, of at most 1MiB (--unexpected-limit); \
                        rank 0 waits until it receives some";
        assert!(finding.contains(expected), "{finding}");
    }
}

#[test]
fn a_rank_whose_buffer_is_no_memory_is_named_whoever_finds_it() {
    let ended = end(3, "no_memory");
    // The rank itself, where it copies; else whoever reads or writes its memory.
    let killed = ended.codes.get(2) == Some(&(128 + libc::SIGSEGV));
    let named = ended.abort.as_ref().is_some_and(|(_, message)| message.contains("rank 2"));
    assert!(killed || named, "{ended:#?}");
}

#[test]
fn errors_that_are_returned_to_one_rank_do_not_hold_up_the_others() {
    let ended = end(3, "returned");
    assert!(ended.is_well(), "{ended:#?}");
}

#[test]
fn a_fatal_truncation_tells_both_sizes_source_and_tag() {
    aborts(
        2,
        "truncated",
        15,
        &["rank 1: MPI_Recv: message truncated", "40 bytes", "room for 16", "rank 0", "tag 7"],
    );
}

#[test]
fn a_second_initialisation_is_an_error() {
    aborts(1, "twice", 16, &["MPI_Init: called twice"]);
}

#[test]
fn a_call_before_or_after_mpi_says_so() {
    for (how, text) in [("before", "called before MPI_Init"), ("after", "called after MPI_Finalize")] {
        let ended = end(2, how);
        assert!(ended.codes.iter().all(|code| (1..128).contains(code)), "{ended:#?}");
        assert!(ended.stderr.contains(text), "{ended:#?}");
    }
}

#[test]
fn a_cycle_of_receives_is_reported() {
    let report = end(3, "cycle").finding.expect("a deadlock");
    assert!(report.contains("in MPI_Recv from 1, tag 7, 40 bytes, MPI_COMM_WORLD"), "{report}");
    assert!(report.contains("cycle: 0 -> 1 -> 2 -> 0"), "{report}");
}

#[test]
fn the_odd_one_out_is_reported() {
    let report = end(4, "odd").finding.expect("a deadlock");
    assert!(report.contains("rank 1: waits in MPI_Recv from 0, tag 3"), "{report}");
    assert!(report.contains("ranks 0, 2, 3: wait in MPI_Barrier"), "{report}");
}

#[test]
fn partitions_that_nobody_makes_ready_are_reported() {
    for job in [Job::of(2), Job { nodes: 2, ..Job::of(2) }] {
        let report = end_as(&job, "parts").finding.expect("a deadlock");
        let (sends, receives) = ("MPI_Psend_init to 1", "MPI_Precv_init from 0");
        for (rank, what) in [(0, sends), (1, receives)] {
            let line = format!("rank {rank}: waits in {what}, tag 4, 200000 bytes, MPI_COMM_WORLD");
            assert!(report.contains(&line), "{report}");
        }
    }
}

#[test]
fn groups_that_call_different_collectives_are_reported() {
    let report = end(3, "groups").finding.expect("a mismatch");
    assert!(report.contains("rank 0: MPI_Barrier"), "{report}");
    assert!(report.contains("MPI_Allreduce, MPI_SUM of i32, 4 bytes"), "{report}");
}

/// A job whose broadcasts the NIC does, also between nodes: there they lack slabs.
fn with_broadcasts_on_nic(nodes: u32) -> Job {
    let environment = vec![("BCS_COLLECTIVE".to_owned(), "bcast=nic".to_owned())];
    Job { nodes, environment, ..Job::of(3) }
}

#[test]
fn a_rank_that_waits_for_room_is_known_to_wait_and_for_what() {
    let slabs = "its 256 slabs hold what others have not taken";
    let ring = "all 64 cells of its collective ring wait for a slice that has room for them";
    let full = "no room: a node holds no more than 2048 collectives that members have still to come to";
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    for (job, by_slabs) in [
        (Job::of(3), slabs),
        (with_broadcasts_on_nic(2), slabs),
        (with_broadcasts_on_nic(3), slabs),
        (Job { nodes: 3, slice, ..Job::of(3) }, slabs),
        // By messages, which wait at the members.
        (Job { nodes: 2, ..Job::of(3) }, ring),
        (Job { nodes: 3, ..Job::of(3) }, ring),
    ] {
        for (how, room) in [("ahead_slabs", by_slabs), ("ahead_ring", ring)] {
            let report = end_as(&job, how).finding.expect("a deadlock");
            let line = format!("rank 0: waits in MPI_Bcast, MPI_COMM_WORLD, for room: {room}");
            assert!(report.contains(&line), "{how}: {report}");
            assert!(report.contains("cycle: 1 -> 2 -> 1"), "{how}: {report}");
            assert_eq!(report.contains(full), room == ring, "{how}: {report}");
        }
    }
}

#[test]
fn members_that_meet_elsewhere_first_leave_one_that_is_ahead_without_room_and_all_are_told() {
    for nodes in [1, 3] {
        let report = end_as(&Job { nodes, ..Job::of(3) }, "apart").finding.expect("a deadlock");
        assert!(report.contains("rank 0: waits in MPI_Bcast, MPI_COMM_WORLD, for room: "), "{report}");
        assert!(report.contains("ranks 1, 2: wait in MPI_Barrier, communicator "), "{report}");
    }
}

#[test]
fn a_rank_that_has_not_seen_yet_that_there_is_room_again_is_in_no_deadlock() {
    for nodes in [1, 2, 3] {
        let ended = launch(&with_broadcasts_on_nic(nodes), &compiled("stopped"), &[""; 0]);
        assert!(ended.is_well(), "{ended:#?}");
    }
}

#[test]
fn an_abort_ends_a_rank_that_waits_for_room() {
    aborts(3, "ahead_abort", 42, &["rank 1: MPI_Abort(MPI_COMM_WORLD, 42)"]);
}

#[test]
fn what_was_freed_under_way_is_finished_before_the_end() {
    let ended = end(2, "unwaited");
    assert!(ended.is_well(), "{ended:#?}");
}

/// What differs between rank 1 and the others, and the two sides as the message has to tell them. Calls with
/// large vectors take other ways through the NIC than small ones.
const MISMATCHES: &[(&str, &str, &str)] = &[
    ("call", "MPI_Bcast, root 0, 4 bytes of 4-byte integers", "MPI_Barrier"),
    (
        "root",
        "MPI_Gather, root 1, 4 bytes of 4-byte integers",
        "MPI_Gather, root 0, 4 bytes of 4-byte integers",
    ),
    ("operation", "MPI_Allreduce, MPI_MAX of i32, 4 bytes", "MPI_Allreduce, MPI_SUM of i32, 4 bytes"),
    ("type", "MPI_Reduce, root 0, MPI_SUM of f32, 4 bytes", "MPI_Reduce, root 0, MPI_SUM of i32, 4 bytes"),
    (
        "count",
        "MPI_Bcast, root 0, 8 bytes of 4-byte integers",
        "MPI_Bcast, root 0, 4 bytes of 4-byte integers",
    ),
    (
        "block",
        "MPI_Gather, root 0, 8 bytes of 4-byte integers",
        "MPI_Gather, root 0, 4 bytes of 4-byte integers",
    ),
    ("kind", "MPI_Exscan, MPI_SUM of i32, 4 bytes", "MPI_Scan, MPI_SUM of i32, 4 bytes"),
    ("large", "MPI_Allreduce, MPI_SUM of i32, 800000 bytes", "MPI_Allreduce, MPI_SUM of i32, 400000 bytes"),
    (
        "large_bcast",
        "MPI_Bcast, root 0, 800000 bytes of 4-byte integers",
        "MPI_Bcast, root 0, 400000 bytes of 4-byte integers",
    ),
    ("missing", "MPI_Finalize", "MPI_Barrier"),
    (
        "derived",
        "MPI_Bcast, root 0, 8 bytes of 8-byte floating point numbers",
        "MPI_Bcast, root 0, 8 bytes of 4-byte integers",
    ),
    (
        "gathered",
        "MPI_Allgather, 4 bytes of 4-byte floating point numbers",
        "MPI_Allgather, 4 bytes of 4-byte integers",
    ),
    ("call_i", "MPI_Ibcast, root 0, 400000 bytes of 4-byte integers", "MPI_Igatherv, root 0"),
    (
        "root_i",
        "MPI_Ibcast, root 1, 400000 bytes of 4-byte integers",
        "MPI_Ibcast, root 0, 400000 bytes of 4-byte integers",
    ),
    (
        "operation_i",
        "MPI_Iallreduce, MPI_MAX of i32, 400000 bytes",
        "MPI_Iallreduce, MPI_SUM of i32, 400000 bytes",
    ),
    (
        "user_i",
        "MPI_Ireduce, root 0, an operation of the program, 4 bytes",
        "MPI_Ireduce, root 0, MPI_SUM of i32, 4 bytes",
    ),
    (
        "type_i",
        "MPI_Iallgather, 4 bytes of 4-byte floating point numbers",
        "MPI_Iallgather, 4 bytes of 4-byte integers",
    ),
    ("count_i", "MPI_Ialltoall, 8 bytes of 4-byte integers", "MPI_Ialltoall, 4 bytes of 4-byte integers"),
    (
        "root_init",
        "MPI_Scatter_init, root 1, 12 bytes of 4-byte integers",
        "MPI_Scatter_init, root 0, 12 bytes of 4-byte integers",
    ),
    ("count_scan", "MPI_Iscan, MPI_SUM of i32, 8 bytes", "MPI_Iscan, MPI_SUM of i32, 4 bytes"),
];

#[test]
fn collectives_that_do_not_fit_are_told_with_both_sides() {
    for (what, of_one, of_others) in MISMATCHES {
        let ended = end(3, what);
        let finding = ended.finding.as_ref().unwrap_or_else(|| panic!("{what}: {ended:#?}"));
        // A persistent one has numbers of its own.
        let of = if what.ends_with("_init") { "communicator " } else { "MPI_COMM_WORLD that do not fit" };
        assert!(finding.starts_with(&format!("collective calls of {of}")), "{finding}");
        assert!(finding.contains(&format!("\n  rank 1: {of_one}")), "{what}: {finding}");
        let others = finding.lines().find(|line| line.ends_with(&format!(": {of_others}")));
        assert!(others.is_some_and(|line| line.contains('0') || line.contains('2')), "{what}: {finding}");
    }
}

#[test]
fn a_mismatch_that_no_rank_waits_in_is_told_at_the_latest_when_mpi_is_finalized() {
    let slice = SliceLength::Fixed(Duration::from_millis(2));
    for job in [
        Job::of(2),
        Job { nodes: 2, ..Job::of(2) },
        Job { slice, ..Job::of(2) },
        Job { nodes: 2, slice, ..Job::of(2) },
    ] {
        for how in ["all_give", "all_give_and_free"] {
            let ended = end_as(&job, how);
            let finding = ended.finding.as_deref().unwrap_or_else(|| panic!("{how}: {ended:#?}"));
            assert!(finding.contains("MPI_Bcast, root 0, 8 bytes of 4-byte integers"), "{finding}");
            assert!(finding.contains("MPI_Bcast, root 1, 8 bytes of 4-byte integers"), "{finding}");
        }
        let ended = end_as(&job, "all_give_and_free_returned");
        assert!(ended.is_well(), "{ended:#?}");
    }
}

#[test]
fn with_too_many_broken_communicators_the_call_that_makes_another_says_so() {
    for nodes in [1, 2] {
        let ended = end_as(&Job { nodes, ..Job::of(2) }, "broken_and_kept");
        assert!(ended.is_well(), "{nodes}: {ended:#?}");
        let lines: Vec<&str> = ended.stdout.lines().collect();
        let says_so = |line: &&str| line.starts_with("256: ") && line.contains("communicators are broken");
        assert!(lines.len() == 2 && lines.iter().all(says_so), "{nodes}: {lines:?}");
    }
}

/// What differs between rank 1 and its neighbours on a ring, and what both ends of an edge between them have
/// to be told of.
const EDGE_MISMATCHES: &[(&str, &str, &str)] = &[
    (
        "edge_call",
        "MPI_Neighbor_allgather, 4 bytes of 4-byte integers",
        "MPI_Neighbor_alltoall, 4 bytes of 4-byte integers",
    ),
    (
        "edge_count",
        "MPI_Neighbor_alltoall, 8 bytes of 4-byte integers",
        "MPI_Neighbor_alltoall, 4 bytes of 4-byte integers",
    ),
    (
        "edge_type",
        "MPI_Neighbor_allgather, 4 bytes of 4-byte floating point numbers",
        "MPI_Neighbor_allgather, 4 bytes of 4-byte integers",
    ),
    (
        "edge_large",
        "MPI_Neighbor_alltoall, 400000 bytes of 4-byte integers",
        "MPI_Neighbor_alltoall, 800000 bytes of 4-byte integers",
    ),
    (
        "edge_v",
        "MPI_Neighbor_alltoallv, 8 bytes of 4-byte integers",
        "MPI_Neighbor_alltoallv, 4 bytes of 4-byte integers",
    ),
    (
        "edge_w",
        "MPI_Neighbor_alltoallw, 8 bytes of 4-byte floating point numbers",
        "MPI_Neighbor_alltoallw, 8 bytes of 4-byte integers",
    ),
    (
        "edge_call_i",
        "MPI_Ineighbor_allgather, 4 bytes of 4-byte integers",
        "MPI_Ineighbor_alltoall, 4 bytes of 4-byte integers",
    ),
    (
        "edge_count_i",
        "MPI_Ineighbor_allgatherv, 8 bytes of 4-byte integers",
        "MPI_Ineighbor_allgatherv, 4 bytes of 4-byte integers",
    ),
    (
        "edge_large_i",
        "MPI_Ineighbor_alltoall, 400000 bytes of 4-byte integers",
        "MPI_Ineighbor_alltoall, 800000 bytes of 4-byte integers",
    ),
    (
        "edge_type_init",
        "MPI_Neighbor_alltoall_init, 4 bytes of 4-byte floating point numbers",
        "MPI_Neighbor_alltoall_init, 4 bytes of 4-byte integers",
    ),
];

#[test]
fn neighbours_whose_calls_do_not_fit_are_told_with_both_ends_of_an_edge() {
    for (what, of_one, of_other) in EDGE_MISMATCHES {
        let ended = end(3, what);
        let finding = ended.finding.as_ref().unwrap_or_else(|| panic!("{what}: {ended:#?}"));
        assert!(finding.starts_with("neighbourhood collectives of communicator "), "{finding}");
        let line = |start: &str, end: &str| {
            finding.lines().any(|line| line.starts_with(start) && line.ends_with(&format!(": {end}")))
        };
        assert!(line("  rank 1 ", of_one), "{what}: {finding}");
        assert!(line("  rank 0 ", of_other) || line("  rank 2 ", of_other), "{what}: {finding}");
    }
}

//! The MPI library as programs see it: the C programs of `tests/programs/mpi`, which check themselves, run as
//! jobs on one NIC and on those of several nodes.
//!
//! The programs are portable: they also hold under other MPI implementations (`mpicc -o x x.c && mpiexec -n 4
//! ./x`).

mod across_nodes;
mod bad_input;
mod endings;
mod exports;
mod files;
mod mismatch_errors;
mod mismatches;
mod random_collectives;
mod start;
mod tools;
mod windows;
mod wrong_arguments;

use bcs_core::SliceLength;
use bcs_harness::c_programs::compiled;
use bcs_harness::times;
use bcs_mpi::object::wanted::VARIABLE;
use nic_emu::host::CrossMemory;
use std::time::Duration;
use test_programs::launcher::{Job, launch};

/// Runs a program that checks itself, and says what went wrong.
fn holds(name: &str, job: &Job) {
    holds_as_told(name, job, &[]);
}

/// The same with arguments.
fn holds_as_told(name: &str, job: &Job, arguments: &[&str]) {
    let ended = launch(job, &compiled(name), arguments);
    assert!(ended.is_well(), "{name} with {} ranks: {ended:#?}", job.ranks);
}

fn holds_with(name: &str, ranks: &[u32]) {
    ranks.iter().for_each(|&ranks| holds(name, &Job::of(ranks)));
}

#[test]
fn every_send_mode_brings_every_size_byte_for_byte() {
    holds_with("send_modes", &[1, 2, 5]);
    holds("send_modes", &Job { cross_memory: CrossMemory::Off, ..Job::of(2) });
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("send_modes", &Job { slice, ..Job::of(2) });
}

#[test]
fn communicators_are_made_and_freed_as_often_as_a_program_likes() {
    holds_as_told("contexts", &Job::of(2), &["70000"]);
    holds_as_told("contexts", &Job::of(3), &["1000"]);
}

#[test]
fn data_of_an_operation_on_a_window_may_be_less_than_there_is_room_for() {
    holds_with("window_room", &[1, 2]);
    holds("window_room", &Job { nodes: 2, ..Job::of(2) });
}

#[test]
fn topologies_are_made_used_and_freed_as_often_as_a_program_likes() {
    for (ranks, bytes) in [(3, "65537"), (5, "65536"), (5, "65537"), (8, "65537"), (5, "48"), (5, "49")] {
        holds_as_told("neighbours_again", &Job::of(ranks), &["100", bytes]);
    }
    holds_as_told(
        "neighbours_again",
        &Job { cross_memory: CrossMemory::Off, ..Job::of(5) },
        &["50", "65537"],
    );
    holds_as_told("neighbours_again", &Job { nodes: 2, ..Job::of(5) }, &["50", "65537"]);
}

#[test]
fn collectives_bring_every_block_where_it_belongs() {
    holds_with("collectives", &[1, 2, 3, 8]);
    holds("collectives", &Job { cross_memory: CrossMemory::Off, ..Job::of(3) });
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("collectives", &Job { slice, ..Job::of(2) });
}

#[test]
fn a_collective_for_which_there_is_no_memory_is_an_error_and_the_program_goes_on() {
    holds_with("no_memory", &[1, 2, 3]);
}

#[test]
fn a_block_that_is_not_as_long_as_others_expect_is_told_to_all_of_them() {
    holds_with("uneven_blocks", &[2, 3, 5]);
    for (ranks, nodes) in [(5, 2), (8, 3), (4, 4)] {
        holds("uneven_blocks", &Job { nodes, ..Job::of(ranks) });
    }
}

#[test]
fn large_contributions_are_read_where_they_are_lent_and_go_through_lanes_where_that_is_refused() {
    for ranks in [2, 3, 8] {
        let job = Job { cross_memory: CrossMemory::Always, ..Job::of(ranks) };
        holds("reductions_of_any_size", &job);
        across_nodes::holds_refused("reductions_of_any_size", &job, &[]);
    }
    for ranks in [2, 3] {
        let job = Job { cross_memory: CrossMemory::Always, ..Job::of(ranks) };
        holds_as_told("large_vectors", &job, &["6000000"]);
        across_nodes::holds_refused("large_vectors", &job, &["6000000"]);
        holds_as_told("large_vectors", &Job { cross_memory: CrossMemory::Off, ..job }, &["6000000"]);
    }
    for ranks in [1, 5] {
        holds("reductions_of_any_size", &Job::of(ranks));
        holds("reductions_of_any_size", &Job { cross_memory: CrossMemory::Off, ..Job::of(ranks) });
    }
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("reductions_of_any_size", &Job { slice, ..Job::of(3) });
}

#[test]
fn loops_without_other_synchronisation_go_on_however_far_one_is_ahead() {
    let of = |ranks| Job { limit: Duration::from_secs(300), ..Job::of(ranks) };
    let (often, rounds) = (times(600).to_string(), times(300).to_string());
    holds_as_told("drift", &of(3), &[&often, "bcast"]);
    for loops in ["reduce", "scatter", "exscan", "one_way", "beside", "apart", "between"] {
        holds_as_told("drift", &of(3), &[&rounds, loops]);
    }
    holds_as_told("drift", &of(5), &["10"]);
    let slice = SliceLength::Fixed(Duration::from_micros(50));
    holds_as_told("drift", &Job { slice, ..of(3) }, &["400", "bcast"]);
}

#[test]
fn nonblocking_collectives_complete_in_any_order_beside_messages() {
    holds_with("nonblocking", &[1, 2, 3, 5, 8]);
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("nonblocking", &Job { slice, ..Job::of(2) });
}

#[test]
fn persistent_collectives_are_started_as_often_as_wanted() {
    holds_with("persistent_collectives", &[1, 2, 5]);
    let starts = times(1000).to_string();
    holds_as_told("persistent_collectives", &Job { nodes: 2, ..Job::of(3) }, &[&starts]);
    let wanted = "allreduce=board,bcast=binomial,gather=binomial,allgather=bruck,alltoall=bruck";
    let environment = vec![("BCS_COLLECTIVE".to_owned(), wanted.to_owned())];
    holds("persistent_collectives", &Job { environment, ..Job::of(3) });
}

#[test]
fn persistent_collectives_are_started_in_any_order() {
    holds_with("persistent_order", &[1, 2, 5]);
    holds("persistent_order", &Job { nodes: 2, ..Job::of(4) });
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("persistent_order", &Job { slice, ..Job::of(2) });
}

#[test]
fn neighbours_get_what_was_sent_along_their_edge() {
    holds_with("neighbourhoods", &[1, 2, 3]);
}

#[test]
fn neighbours_get_it_in_fixed_slices_too() {
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("neighbourhoods", &Job { slice, ..Job::of(2) });
}

#[test]
fn operations_of_the_program_are_applied_in_the_order_of_ranks() {
    holds_with("operations", &[1, 2, 5, 8]);
}

#[test]
fn an_operation_may_want_a_lock_that_another_thread_holds_in_mpi() {
    holds_with("threaded_collectives", &[1, 3]);
}

#[test]
fn more_threads_exchange_at_once_than_lanes_have_slots() {
    let kinds = ["allreduce", "scan", "reduce_scatter", "alltoall", "bcast"];
    let wanted = kinds.map(|kind| format!("{kind}=exchange")).join(",");
    for cross_memory in [CrossMemory::WhereFaster, CrossMemory::Off] {
        for ranks in [3, 6] {
            let environment = vec![(VARIABLE.to_owned(), wanted.clone())];
            holds("threaded_exchanges", &Job { environment, cross_memory, ..Job::of(ranks) });
        }
    }
}

#[test]
fn messages_arrive_in_order_however_many_wait() {
    holds_with("ordering", &[2, 3]);
}

#[test]
fn requests_complete_once_and_say_what_happened() {
    holds_with("requests", &[2, 3]);
}

#[test]
fn loops_of_calls_that_do_not_wait_get_on_where_ranks_share_cores() {
    holds_with("test_loops", &[1, 2, 5, 8]);
    holds("test_loops", &Job { nodes: 2, ..Job::of(4) });
}

#[test]
fn what_cancel_decided_is_seen_by_the_next_call() {
    holds_with("cancel", &[1, 2, 3]);
    let slice = SliceLength::Fixed(Duration::from_micros(50));
    holds("cancel", &Job { slice, ..Job::of(2) });
}

#[test]
fn the_message_of_a_freed_receive_is_there_when_a_call_has_told_that_it_came() {
    holds_with("freed_receives", &[2, 3]);
    holds("freed_receives", &Job { cross_memory: CrossMemory::Off, ..Job::of(2) });
    holds_as_told("freed_receives", &Job { nodes: 2, ..Job::of(3) }, &["8192"]);
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds_as_told("freed_receives", &Job { slice, ..Job::of(2) }, &["1048576", "no-probes"]);
}

#[test]
fn persistent_and_generalized_requests_live_as_the_standard_says() {
    holds_with("persistent", &[1, 2, 5]);
    holds("persistent", &Job { cross_memory: CrossMemory::Off, ..Job::of(2) });
}

#[test]
fn what_is_sent_part_by_part_arrives_part_by_part_however_both_ends_cut_it() {
    holds_with("partitioned", &[1, 2, 5]);
    holds("partitioned", &Job { cross_memory: CrossMemory::Off, ..Job::of(2) });
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("partitioned", &Job { slice, ..Job::of(2) });
}

#[test]
fn a_quarter_of_a_gigabyte_arrives_part_by_part() {
    holds_as_told("partitioned", &Job::of(2), &["large"]);
    holds_as_told("partitioned", &Job { cross_memory: CrossMemory::Off, ..Job::of(2) }, &["large"]);
}

#[test]
fn partitioned_requests_are_started_made_and_freed_as_often_as_wanted() {
    let rounds = times(10_000).to_string();
    for ranks in [1, 2, 5] {
        holds_as_told("partitioned", &Job::of(ranks), &["often", &rounds]);
    }
}

#[test]
fn parts_that_are_ready_get_there_while_either_end_computes() {
    holds_with("parts_while_computing", &[2]);
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("parts_while_computing", &Job { slice, ..Job::of(2) });
}

#[test]
fn a_send_whose_receive_has_begun_ends_while_the_receiver_computes() {
    holds_with("received_while_computing", &[2]);
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("received_while_computing", &Job { slice, ..Job::of(2) });
}

#[test]
fn threads_make_parts_ready_and_see_them_arrive_at_the_same_time() {
    for ranks in [1, 2, 3] {
        holds_as_told("partitioned", &Job::of(ranks), &["threads"]);
    }
}

#[test]
fn a_program_of_the_first_standard_runs_as_it_was_written() {
    holds_with("first_standard", &[1, 2, 3]);
}

#[test]
fn a_matched_message_is_received_by_its_handle_alone() {
    holds_with("matched", &[1, 2, 5]);
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("matched", &Job { slice, ..Job::of(2) });
}

#[test]
fn a_buffered_message_goes_through_the_buffer_of_its_communicator_session_or_process() {
    holds_with("buffers", &[1, 2, 3]);
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("buffers", &Job { slice, ..Job::of(2) });
}

#[test]
fn sessions_begin_and_end_before_beside_and_after_the_world_model() {
    holds_with("sessions", &[1, 3]);
}

#[test]
fn communicators_keep_their_messages_and_attributes_apart() {
    holds_with("communicators", &[1, 2, 5]);
}

#[test]
fn the_two_groups_of_an_intercommunicator_talk_to_each_other() {
    holds_with("intercommunicators", &[2, 3, 5]);
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("intercommunicators", &Job { slice, ..Job::of(3) });
}

#[test]
fn what_one_group_gives_in_a_collective_the_other_one_gets() {
    holds_with("intercollectives", &[2, 3, 5]);
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("intercollectives", &Job { slice, ..Job::of(3) });
}

#[test]
fn communicators_may_be_freed_while_collectives_of_theirs_are_under_way() {
    holds_with("freed_in_use", &[2, 3, 5]);
    for (ranks, nodes) in [(4, 2), (3, 3), (8, 4)] {
        holds("freed_in_use", &Job { nodes, ..Job::of(ranks) });
    }
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("freed_in_use", &Job { slice, ..Job::of(3) });
}

#[test]
fn mistakes_with_intercommunicators_are_told() {
    holds_with("inter_mistakes", &[2, 3, 5]);
}

#[test]
fn topologies_name_the_neighbours_that_the_standard_names() {
    holds_with("topologies", &[1, 2, 4, 7]);
}

#[test]
fn a_thousand_small_messages_may_come_before_their_receives() {
    for ranks in [2, 4] {
        holds_as_told("early", &Job::of(ranks), &["1000", "3000"]);
    }
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds_as_told("early", &Job { slice, ..Job::of(2) }, &["1000", "3000"]);
}

#[test]
fn messages_of_mixed_sizes_may_come_before_their_receives() {
    for ranks in [2, 4] {
        holds_as_told("early", &Job::of(ranks), &["3000", "65536", "100"]);
    }
    holds_as_told(
        "early",
        &Job { cross_memory: CrossMemory::Off, ..Job::of(3) },
        &["1000", "65536", "0", "2"],
    );
}

#[test]
fn messages_are_whole_on_both_sides_of_every_length_at_which_their_way_changes() {
    for ranks in [2, 5] {
        holds_as_told("long_messages", &Job::of(ranks), &["20"]);
    }
    holds_as_told("long_messages", &Job { cross_memory: CrossMemory::Off, ..Job::of(3) }, &["10"]);
    holds_as_told("long_messages", &Job { nodes: 2, ..Job::of(3) }, &["4"]);
    holds_as_told("long_messages", &Job { nodes: 4, ..Job::of(5) }, &["2"]);
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds_as_told("long_messages", &Job { slice, ..Job::of(2) }, &["4"]);
}

#[test]
fn a_hundred_thousand_messages_may_come_before_their_receives_from_one_and_from_many() {
    holds_as_told("early", &Job::of(2), &["100000", "65536", "100"]);
    holds_as_told("early", &Job { nodes: 4, ..Job::of(5) }, &["10000", "65536", "100"]);
}

#[test]
fn room_that_a_slow_receiver_makes_is_used_by_who_waits_for_it() {
    let fixed = SliceLength::Fixed(Duration::from_micros(200));
    for (nodes, slice) in [(1, SliceLength::Elastic), (2, SliceLength::Elastic), (1, fixed), (2, fixed)] {
        let job = Job { nodes, slice, unexpected_bytes: 1 << 20, ..Job::of(2) };
        holds_as_told("slow_receiver", &job, &["600"]);
    }
}

#[test]
fn the_environment_is_as_the_standard_says() {
    holds_with("environment", &[1, 2]);
}

#[test]
fn finalization_deletes_the_attributes_of_self_while_mpi_still_works() {
    holds_with("finalization", &[1, 3]);
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("finalization", &Job { slice, ..Job::of(2) });
}

#[test]
fn what_other_libraries_let_pass_is_let_pass() {
    holds_with("leniency", &[1, 2, 3]);
}

#[test]
fn collectives_of_no_elements_may_name_any_type() {
    holds_with("nothing_of_any_type", &[1, 2, 3, 5]);
    holds("nothing_of_any_type", &Job { nodes: 2, ..Job::of(3) });
}

#[test]
fn what_is_available_at_any_time_needs_no_initialised_mpi() {
    holds_with("any_time", &[1, 2]);
}

#[test]
fn threads_that_wait_do_not_hold_up_others() {
    holds_with("threads", &[1, 2, 4]);
}

#[test]
fn threads_blocked_in_different_calls_are_let_go_each_by_its_own() {
    holds_with("blocked_threads", &[2, 3]);
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    holds("blocked_threads", &Job { slice, ..Job::of(2) });
    holds("blocked_threads", &Job { slice, ..Job::of(3) });
}

#[test]
fn a_tool_may_stand_between_program_and_library() {
    holds_with("profiled", &[2]);
}

#[test]
fn the_bcs_api_serves_programs_in_c() {
    holds_with("bcs", &[1, 2, 5]);
}

#[test]
fn datatypes_are_what_their_constructors_say() {
    holds_with("datatypes", &[1, 2]);
}

#[test]
fn bounds_of_types_are_those_that_another_implementation_gives() {
    let program = compiled("bounds");
    let ended = launch(&Job::of(1), &program, &["1", "400", "2", "8"]);
    assert!(ended.is_well(), "{ended:#?}");
    let known = include_str!("bounds.txt");
    let other = known.lines().zip(ended.stdout.lines()).find(|(known, ours)| known != ours);
    assert_eq!(other, None, "known, ours");
    assert_eq!(known.lines().count(), ended.stdout.lines().count());
}

#[test]
fn messages_go_from_one_datatype_to_another_that_matches() {
    holds_with("derived_messages", &[1, 2, 3]);
    holds("derived_messages", &Job { cross_memory: CrossMemory::Off, ..Job::of(2) });
}

#[test]
fn collectives_take_derived_datatypes() {
    holds_with("derived_collectives", &[1, 2, 4]);
    holds("derived_collectives", &Job { cross_memory: CrossMemory::Off, ..Job::of(3) });
}

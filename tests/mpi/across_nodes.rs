//! The same programs as jobs on several nodes, all of them this machine: real NICs over a real network.

use crate::{holds, holds_as_told};
use bcs_core::{SliceLength, Transport};
use bcs_harness::c_programs::compiled;
use bcs_harness::{refuse_attach, skip, times};
use nic_emu::host::CrossMemory;
use std::net::Ipv4Addr;
use std::time::Duration;
use test_programs::launcher::{Job, launch};

fn holds_on(name: &str, ranks: u32, nodes: u32) {
    holds(name, &Job { nodes, ..Job::of(ranks) });
}

#[test]
fn messages_of_every_kind_reach_other_nodes() {
    holds_on("send_modes", 3, 3);
    holds_on("matched", 2, 2);
    holds_on("persistent", 5, 2);
    holds_on("cancel", 3, 3);
    holds_on("derived_messages", 4, 3);
    holds_on("truncation", 2, 2);
}

#[test]
fn what_is_sent_part_by_part_arrives_part_by_part_on_other_nodes() {
    holds_on("partitioned", 2, 2);
    holds_on("partitioned", 5, 3);
    for (ranks, nodes) in [(2, 2), (3, 2)] {
        holds_as_told("partitioned", &Job { nodes, ..Job::of(ranks) }, &["threads"]);
    }
    holds_on("parts_while_computing", 2, 2);
    let job = |ranks, nodes| Job { nodes, limit: Duration::from_secs(300), ..Job::of(ranks) };
    holds_as_told("partitioned", &job(2, 2), &["large"]);
    for (ranks, nodes, rounds) in [(2, 2, 10_000), (4, 2, 2_000)] {
        holds_as_told("partitioned", &job(ranks, nodes), &["often", &times(rounds).to_string()]);
    }
}

#[test]
fn what_was_sent_gets_there_while_the_rank_computes() {
    holds_on("sent_before_computing", 2, 2);
    holds("sent_before_computing", &Job { nodes: 2, transport: Transport::Quic, ..Job::of(2) });
}

#[test]
fn a_send_whose_receive_has_begun_ends_while_the_receiver_computes() {
    holds_on("received_while_computing", 2, 2);
    holds("received_while_computing", &Job { nodes: 2, transport: Transport::Quic, ..Job::of(2) });
}

#[test]
fn what_was_sent_gets_there_while_the_rank_waits_for_one_of_its_node() {
    holds_on("sent_before_waiting", 4, 2);
    holds("sent_before_waiting", &Job { nodes: 2, transport: Transport::Quic, ..Job::of(4) });
}

#[test]
fn they_go_over_quic_as_over_tcp() {
    let job = |ranks, nodes| Job { nodes, transport: Transport::Quic, ..Job::of(ranks) };
    for (name, ranks, nodes) in [
        ("send_modes", 3, 3),
        ("matched", 2, 2),
        ("collectives", 5, 2),
        ("derived_collectives", 4, 2),
        ("freed_in_use", 4, 4),
    ] {
        holds(name, &job(ranks, nodes));
    }
    holds("partitioned", &job(3, 2));
    holds("parts_while_computing", &job(2, 2));
    holds_as_told("early", &job(3, 3), &["500", "65536", "50"]);
    holds_as_told("large_vectors", &job(3, 3), &["1048584"]);
}

/// A provider of libfabric that needs no network card, if it is there.
fn libfabric() -> Option<Transport> {
    const PROVIDER: &str = "tcp;ofi_rxm";
    match program_launcher::network_card::find(Some(PROVIDER), Ipv4Addr::LOCALHOST.into()) {
        Ok(card) => Some(Transport::Ofi(Some(card.provider))),
        Err(error) => {
            skip(error);
            None
        }
    }
}

#[test]
fn they_go_over_libfabric_as_over_tcp() {
    let Some(transport) = libfabric() else { return };
    let job = |ranks, nodes| Job { nodes, transport: transport.clone(), ..Job::of(ranks) };
    for (name, ranks, nodes) in
        [("send_modes", 3, 3), ("cancel", 3, 3), ("truncation", 2, 2), ("derived_messages", 4, 3)]
    {
        holds(name, &job(ranks, nodes));
    }
    holds("sent_before_computing", &job(2, 2));
    holds("partitioned", &job(3, 2));
    holds("parts_while_computing", &job(2, 2));
    holds_as_told("partitioned", &job(2, 2), &["large"]);
    holds_as_told("long_messages", &job(4, 2), &["4"]);
    holds_as_told("large_vectors", &job(3, 3), &["1048584"]);
}

#[test]
fn long_messages_come_from_memory_as_it_is_and_not_as_it_was() {
    for ranks in [1, 3] {
        holds_as_told("changing_memory", &Job::of(ranks), &["4"]);
    }
    holds_as_told("changing_memory", &Job { nodes: 2, ..Job::of(3) }, &["4"]);
    let Some(transport) = libfabric() else { return };
    for (ranks, nodes) in [(2, 2), (3, 2)] {
        let job = Job { nodes, transport: transport.clone(), ..Job::of(ranks) };
        let ended = launch(&job, &compiled("changing_memory"), &["13"]);
        assert!(ended.is_well() && ended.stderr.is_empty(), "{ended:#?}");
        assert!(ended.written > 0, "none went from buffer to buffer");
        let environment = vec![("BCS_BUFFER_WRITES".to_owned(), "0".to_owned())];
        let ended = launch(&Job { environment, ..job }, &compiled("changing_memory"), &["2"]);
        assert!(ended.is_well() && ended.written == 0, "{ended:#?}");
    }
}

#[test]
fn what_a_rank_executes_inherits_nothing_of_the_nic() {
    holds_on("environment", 2, 2);
}

#[test]
fn messages_from_other_nodes_may_come_before_their_receives() {
    for nodes in [2, 3] {
        holds_as_told("early", &Job { nodes, ..Job::of(3) }, &["1000", "3000"]);
        holds_as_told("early", &Job { nodes, ..Job::of(3) }, &["500", "65536", "50"]);
    }
    let slice = SliceLength::Fixed(Duration::from_micros(500));
    holds_as_told("early", &Job { nodes: 2, slice, ..Job::of(2) }, &["500", "65536", "50"]);
}

#[test]
fn collectives_span_nodes() {
    holds_on("collectives", 5, 2);
    holds_on("operations", 4, 3);
    holds_on("neighbourhoods", 3, 3);
    holds_on("derived_collectives", 4, 2);
    holds_on("intercollectives", 5, 2);
}

#[test]
fn ranks_that_share_memory_are_those_of_a_node() {
    for (ranks, nodes) in [(1, 1), (4, 1), (2, 2), (5, 2), (7, 3)] {
        holds_as_told("node_mates", &Job { nodes, ..Job::of(ranks) }, &[&nodes.to_string()]);
    }
}

#[test]
fn vectors_of_any_size_go_between_nodes() {
    let job = |ranks, nodes| Job { nodes, limit: Duration::from_secs(120), ..Job::of(ranks) };
    // None, one element, a slab and one more, the most that a board takes and one more, and what is combined
    // in several parts.
    for bytes in ["0", "8", "8192", "8200", "1048576", "1048584", "25000000"] {
        holds_as_told("large_vectors", &job(3, 3), &[bytes]);
    }
    holds_as_told("large_vectors", &job(5, 2), &["3000000"]);
}

#[test]
fn loops_go_on_however_far_a_node_is_ahead() {
    let job = |ranks, nodes| Job { nodes, limit: Duration::from_secs(300), ..Job::of(ranks) };
    let rounds = times(15).to_string();
    for loops in ["bcast", "reduce", "one_way", "beside", "late"] {
        holds_as_told("drift", &job(3, 2), &[&rounds, loops]);
    }
    holds_as_told("drift", &job(4, 4), &[&rounds, "late"]);
}

#[test]
fn of_no_bytes_every_signature_fits_every_other_on_all_nodes_as_on_one() {
    holds_on("nothing", 3, 1);
    holds_on("nothing", 3, 2);
    holds_on("nothing", 4, 4);
}

#[test]
fn communicators_span_nodes() {
    holds_on("communicators", 5, 3);
    holds_on("topologies", 4, 2);
    holds_on("sessions", 3, 3);
    holds_on("intercommunicators", 3, 2);
    holds_on("blocked_threads", 3, 2);
}

#[test]
fn communicators_are_freed_and_made_again_as_often_as_a_program_likes() {
    // The sixty-four numbers that there are at a time go round again and again.
    let job = |ranks, nodes| Job { nodes, context_slots: 64, ..Job::of(ranks) };
    holds_as_told("contexts", &job(2, 2), &["600", "64"]);
    holds_as_told("contexts", &job(5, 3), &["200", "64"]);
}

/// The same where the system refuses cross-memory attach, which shows when the first message goes.
pub fn holds_refused(name: &str, job: &Job, arguments: &[&str]) {
    std::thread::scope(|scope| {
        let run = || {
            refuse_attach().expect("a filter of system calls");
            holds_as_told(name, job, arguments);
        };
        scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

#[test]
fn messages_of_any_size_go_between_nodes_where_the_system_refuses_cross_memory_attach() {
    let job = |ranks, nodes| Job { nodes, ..Job::of(ranks) };
    holds_refused("staged", &job(4, 2), &[]);
    holds_refused("staged", &job(2, 2), &["67108864"]);
    holds_refused("send_modes", &job(3, 3), &[]);
    holds_refused("cancel", &job(3, 3), &[]);
    holds_refused("derived_messages", &job(4, 3), &[]);
    for bytes in ["8200", "3000000"] {
        holds_refused("large_vectors", &job(4, 2), &[bytes]);
    }
    // Known from the start.
    holds("staged", &Job { cross_memory: CrossMemory::Off, ..job(4, 2) });
    let slice = SliceLength::Fixed(Duration::from_millis(1));
    holds_refused("staged", &Job { slice, ..job(4, 2) }, &[]);
}

/// By the way of `made_and_freed`: the slices that a communicator of four members takes (`docs/protocol.md`),
/// and the one that it is made of.
const SLICES: [(&str, u64); 11] = [
    ("dup", 2),
    ("idup", 2),
    ("create", 2),
    ("cart", 2),
    ("sub", 2 + 2),
    ("split", 4),
    ("split_type", 4),
    ("create_group", 4),
    ("graph", 10),
    ("inter", 4),
    ("merge", 4 + 6),
];

#[test]
fn a_communicator_takes_a_bounded_number_of_slices_in_whatever_way_it_is_made_and_freed() {
    let slice = SliceLength::Fixed(Duration::from_millis(8));
    for nodes in [1, 2] {
        let job = Job { nodes, slice, ..Job::of(4) };
        let slices = |way: &str, times: u32| {
            let ended = launch(&job, &compiled("made_and_freed"), &[way, &times.to_string()]);
            assert!(ended.is_well(), "{way} on {nodes} nodes: {ended:#?}");
            ended.slices
        };
        for (way, most) in SLICES {
            // On a busy machine ranks come to a collective some slices after each other: twice as many, now
            // and then, but not three times.
            let of_six = || slices(way, 8).saturating_sub(slices(way, 2));
            let is_bounded = (0..3).any(|_| of_six() <= 2 * 6 * most + 6);
            assert!(is_bounded, "{way} on {nodes} nodes takes more than {most} slices a communicator");
        }
    }
}

#[test]
fn fixed_slices_keep_their_beat_on_all_nodes() {
    let slice = SliceLength::Fixed(Duration::from_millis(1));
    holds("send_modes", &Job { nodes: 2, slice, ..Job::of(2) });
    holds("collectives", &Job { nodes: 2, slice, ..Job::of(3) });
}

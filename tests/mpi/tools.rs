//! The tool interface: variables, events and categories, on one node and on several; and the same numbers as
//! MDS.

use super::{holds, holds_as_told, holds_with};
use bcs_core::SliceLength;
use bcs_harness::c_programs::compiled;
use bcs_harness::runs::run;
use mds::{EmdsConfig, Primitive};
use nic_emu::nic_thread::FINDING_STATUS;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use test_programs::launcher::{Ended, Job, launch};

fn on_nodes(ranks: u32, nodes: u32) -> Job {
    Job { nodes, ..Job::of(ranks) }
}

fn in_fixed_slices(job: Job) -> Job {
    Job { slice: SliceLength::Fixed(Duration::from_micros(200)), ..job }
}

#[test]
fn the_interface_begins_and_ends_as_often_as_a_program_likes() {
    holds_with("tool_life", &[1, 2]);
}

#[test]
fn control_variables_tell_what_they_are_and_ranks_go_by_what_is_written() {
    holds_with("tool_controls", &[1, 2, 3]);
    holds("tool_controls", &on_nodes(4, 2));
    holds("tool_controls", &in_fixed_slices(Job::of(2)));
}

#[test]
fn performance_variables_measure_for_each_session_what_the_program_does() {
    holds_with("tool_performance", &[1, 2, 3]);
    holds_as_told("tool_performance", &Job::of(2), &["early"]);
    holds("tool_performance", &on_nodes(4, 2));
    holds("tool_performance", &in_fixed_slices(Job::of(2)));
}

#[test]
fn every_variable_and_every_event_is_in_a_category() {
    holds_with("tool_categories", &[1, 2]);
}

#[test]
fn events_are_told_once_in_order_and_those_that_are_lost_are_counted() {
    holds_with("tool_events", &[1, 2, 3]);
    holds("tool_events", &on_nodes(4, 2));
    holds("tool_events", &in_fixed_slices(Job::of(2)));
    holds_as_told("tool_events", &Job::of(2), &["threaded"]);
    holds_as_told("tool_events", &on_nodes(3, 2), &["threaded"]);
}

#[test]
fn threads_read_variables_while_others_are_in_mpi() {
    holds_with("tool_threads", &[1, 2]);
    holds_as_told("tool_threads", &Job::of(2), &["multiple"]);
}

#[test]
fn a_hang_is_told_before_the_job_is_ended() {
    let ended = run(&mut Command::new(compiled("tool_hang")));
    assert_eq!(ended.code(), i32::from(FINDING_STATUS), "{ended:?}");
    ended.says("told of a hang of 1 ranks").says("deadlock");
    for when in ["before", "after"] {
        let ended = launch(&Job::of(3), &compiled("tool_hang"), &[when]);
        assert_eq!(ended.stdout.matches("told of a hang of 3 ranks").count(), 3, "{ended:#?}");
        assert!(ended.finding.is_some_and(|finding| finding.contains("deadlock")), "{when}");
    }
}

/// What the ranks of `tool_numbers` print: by rank and variable.
fn numbers(ended: &Ended) -> BTreeMap<(u64, String), u64> {
    assert!(ended.is_well(), "{ended:#?}");
    let read = |line: &str| {
        let [rank, name, value] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{line}"));
        ((number(rank), name.to_owned()), number(value))
    };
    ended.stdout.lines().map(read).collect()
}

/// What `mds` prints of a trace.
fn mds(arguments: &[&str], trace: &Path) -> String {
    let mut command = Command::new(bcs_harness::built::program("mds"));
    let output = command.args(arguments).arg(trace).output().expect("mds runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn tools_read_what_mds_shows_of_the_same_calls() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = directory.path().to_str().expect("text").to_owned();
    let environment = [("BCS_MMDS", "1"), ("BCS_TRACE_DIR", &trace)];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let ranks = 3;
    let job = Job { environment, ..Job::of(ranks) };
    let numbers = numbers(&launch(&job, &compiled("tool_numbers"), &[] as &[&str]));
    let dump = mds(&["dump", "--csv", "--mmds"], directory.path());
    let mut lines = dump.lines().map(|line| line.split(',').map(str::trim).collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let mut compared = 0;
    for line in lines {
        let cell = |column: &str| {
            let place = header.iter().position(|name| *name == column).expect("a column");
            line[place]
        };
        let number = |column: &str| cell(column).parse::<u64>().unwrap_or_default();
        let of_tool =
            |name: &str| numbers.get(&(number("rank"), name.to_owned())).copied().unwrap_or_default();
        if cell("record") != "call" {
            continue;
        }
        let (name, rank) = (cell("name"), number("rank"));
        assert_eq!(
            of_tool(&format!("calls_{name}")),
            number("count"),
            "rank {rank}: calls of {name}\n{dump}"
        );
        assert_eq!(of_tool(&format!("time_ns_{name}")), number("total_ns"), "rank {rank}: time in {name}");
        assert_eq!(of_tool(&format!("bytes_{name}")), number("bytes"), "rank {rank}: bytes of {name}");
        compared += 1;
    }
    let called = |name: &str| Primitive::ALL.iter().any(|call| name == format!("calls_{call}"));
    assert_eq!(compared, numbers.keys().filter(|(_, name)| called(name)).count(), "{dump}");
    // What people read: the sums over all ranks.
    let summary = mds(&["summary"], directory.path());
    for (call, count) in [("MPI_Barrier", 30), ("MPI_Allreduce", 10), ("MPI_Isend", 20), ("MPI_Waitall", 20)]
    {
        let of_tools: u64 = (0..ranks.into()).map(|rank| numbers[&(rank, format!("calls_{call}"))]).sum();
        assert_eq!(of_tools, u64::from(ranks) * count, "{call}");
        let row = summary.lines().find(|line| line.split_whitespace().next() == Some(call)).expect("a row");
        assert_eq!(row.split_whitespace().nth(4), Some(&*of_tools.to_string()), "{summary}");
    }
    for (collective, operations) in [("barrier", 30), ("allreduce", 10), ("bcast", 1)] {
        let by = numbers.iter().filter(|((_, name), _)| name.starts_with(&format!("{collective}_by_")));
        assert_eq!(by.map(|(_, count)| count).sum::<u64>(), operations * u64::from(ranks), "{collective}");
    }
}

#[test]
fn tools_read_what_emds_has_recorded_of_the_same_slices() {
    for slice in [SliceLength::Elastic, SliceLength::Fixed(Duration::from_micros(500))] {
        let job = Job { slice, emds: Some(EmdsConfig::default()), ..Job::of(1) };
        let ended = launch(&job, &compiled("tool_numbers"), &[] as &[&str]);
        let numbers = numbers(&ended);
        let tables = ended.emds.as_ref().expect("EMDS records");
        let slices = tables[0].slices.len() as u64;
        let read = |name: &str| numbers.get(&(0, name.to_owned())).copied().unwrap_or_default();
        assert!(slices > 0 && read("emds_slices") <= slices, "{} of {slices}", read("emds_slices"));
        for (metric, column) in tables.iter().flat_map(|table| &table.columns) {
            // With fixed slices more may have been recorded since the first variable was read.
            let told = read(&format!("emds_{}", metric.column()));
            let least = (read("emds_slices") as usize).min(column.len());
            let mut sums = (least..=column.len()).map(|rows| column[..rows].iter().sum::<u64>());
            assert!(sums.any(|sum| sum == told), "{metric}: {told}, {slice:?}: {column:?}");
        }
    }
}

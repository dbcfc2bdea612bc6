//! What the NIC knows of a job decides how it ends: aborts, ranks that leave, deadlocks, the record of
//! slices.

use crate::common::*;
use bcs_harness::runs::{run, start};
use bcs_harness::{built, processes};
use std::process::Command;
use std::time::Duration;

/// `storm run` of ranks that use their NIC.
fn ranks(options: &str, words: &[&str]) -> Command {
    let mut command = storm(options);
    command.arg(built::program("nic_rank")).args(words);
    command
}

#[test]
fn ranks_find_their_nic_and_each_other() {
    for slice in ["elastic", "500us"] {
        run(&mut ranks(&format!("-n 4 --slice {slice}"), &["ring", "1"])).succeeds_quietly();
    }
    run(&mut ranks("-n 4 --nic-arith softfloat --cross-memory off --nic-core 0", &["ring", "1"]))
        .succeeds_quietly();
}

#[test]
fn abort_gives_the_status_and_the_message_though_others_leave_first() {
    let line = format!("storm: rank 1 on {} aborted the job with code 7: no mesh\n", host());
    for _ in 0..5 {
        let ran = run(&mut ranks("-n 4", &["abort", "7", "no mesh"]));
        assert_eq!((ran.code(), ran.stderr), (7, line.clone()));
    }
    run(&mut ranks("-n 2", &["abort", "256", "x"])).fails_with(1, &["rank 1", "code 256"]);
}

#[test]
fn rank_that_leaves_without_finalize_is_a_failure() {
    run(&mut ranks("-n 3", &["leave"])).fails_with(125, &["rank 0 on", "without MPI_Finalize"]);
    run(&mut ranks("-n 1", &["leave"])).succeeds_quietly();
    run(&mut ranks("-n 3", &["finalize"])).succeeds_quietly();
}

#[test]
fn deadlock_ends_by_itself_with_a_report() {
    let ran = run(&mut ranks("-n 3", &["block"]));
    assert_eq!(ran.code(), 125, "{ran:?}");
    assert!(ran.stderr.starts_with("storm: deadlock: "), "{ran:?}");
    for word in ["MPI_Recv", "tag 7", "0 -> 1 -> 2 -> 0"] {
        assert!(ran.stderr.contains(word), "no {word} in {}", ran.stderr);
    }
    assert!(ran.took < Duration::from_secs(20), "{ran:?}");
}

#[test]
fn time_limit_reports_what_every_rank_does() {
    let mut command = ranks("-n 1 --timeout 0.5", &["compute"]);
    command.args([":", "-n", "2", "sleep", "100"]);
    let ran = run(&mut command);
    assert_eq!(ran.code(), 124, "{ran:?}");
    assert!(ran.stderr.contains("what its ranks were doing:\n"), "{ran:?}");
    assert!(ran.stderr.contains("computes") && ran.stderr.contains("not in MPI"), "{ran:?}");
}

#[test]
fn slices_are_recorded_in_the_trace_directory() {
    let place = tempfile::tempdir().unwrap();
    let mut command = ranks("-n 2 --emds 1:100 --trace-dir trace", &["ring", "1"]);
    run(command.current_dir(place.path())).succeeds_quietly();
    let trace = mds_trace::Trace::read(&place.path().join("trace")).unwrap();
    assert_eq!((trace.run.ranks, trace.emds.len()), (2, 1));
    assert!(trace.run.id.starts_with(&host()));
    assert!(!trace.emds[0].tables[0].slices.is_empty(), "{trace:?}");
}

#[test]
fn nic_memory_goes_with_the_job() {
    let mut command = ranks("-n 2", &["compute"]);
    let running = start(&mut command);
    let ranks = running.await_processes("nic_rank", 2);
    let memory = || {
        let links = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .flat_map(|process| std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten());
        let held = links.filter_map(|link| {
            let target = std::fs::read_link(link.path()).ok()?;
            let owner: u32 = link.path().components().nth(2)?.as_os_str().to_str()?.parse().ok()?;
            target.to_string_lossy().starts_with("/memfd:bcs-nic").then_some(owner)
        });
        held.collect::<Vec<_>>()
    };
    let launcher = processes::parent(ranks[0]).unwrap();
    assert!(memory().contains(&launcher));
    running.signal(libc::SIGKILL);
    assert_eq!(running.wait().code(), 137);
    assert!(!memory().iter().any(|owner| *owner == launcher || ranks.contains(owner)));
}

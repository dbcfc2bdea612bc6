//! Jobs that go well: what their ranks have around them, and who is told what.

use crate::managers::*;
use bcs_core::{Rank, SliceLength};
use bcs_harness::processes::children;
use bcs_harness::refuse_attach;
use bcs_harness::waiting::{await_some, until};
use mds::EmdsConfig;
use mds::config::Selection;
use mds_trace::Trace;
use nic_emu::hang::{self, JobState, RankState};
use program_launcher::control::{Command, Notice};
use program_launcher::job::StdinTo;
use std::process;
use std::thread;
use std::time::Duration;

#[test]
fn a_job_on_one_node_runs_as_its_user_would() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().canonicalize().unwrap();
    let text = "echo $BCS_RANK of $BCS_SIZE $COLOUR $(umask) $(pwd)";
    let mut job = launch_in(&job(vec![script(2, text)], &[0, 0]), &surroundings(&here));
    assert_eq!(job.start()[0].len(), 2);
    job.succeed();
    let stdout = job.nodes[0].stdout();
    let mut lines: Vec<_> = stdout.lines().collect();
    lines.sort_unstable();
    let line = |rank| format!("{rank} of 2 red 0027 {}", here.display());
    assert_eq!(lines, [line(0), line(1)]);
}

#[test]
fn ranks_of_three_nodes_find_each_other() {
    let rounds = 20;
    for slice in [SliceLength::Elastic, SliceLength::Fixed(Duration::from_millis(1))] {
        let program = nic_ranks(4, &["ring", &rounds.to_string()]);
        let mut description = job(vec![program], &[0, 1, 2, 1]);
        description.nic.slice = slice;
        let mut job = launch(&description);
        let pids = job.start();
        assert_eq!(pids.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1]);
        job.succeed();
        assert_eq!(job.nodes[0].stdout(), format!("sum {}\n", rounds * (1 + 2 + 3)));
    }
}

#[test]
fn all_nodes_say_in_the_same_words_that_the_system_refuses_cross_memory_attach() {
    let remarks = thread::spawn(|| {
        refuse_attach().unwrap();
        let mut job = launch(&job(vec![nic_ranks(3, &["ring", "3"])], &[0, 1, 2]));
        job.start();
        job.succeed();
        job.nodes.iter().flat_map(|node| node.remarks.clone()).collect::<Vec<_>>()
    });
    let remarks = remarks.join().unwrap();
    assert!(remarks.len() == 3 && remarks.iter().all(|remark| *remark == remarks[0]), "{remarks:?}");
    assert!(remarks[0].contains("refuses cross-memory attach"), "{remarks:?}");
}

#[test]
fn slices_are_recorded_by_the_nodes_that_were_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let mut description = job(vec![nic_ranks(3, &["ring", "5"])], &[0, 1, 2]);
    let nodes = Selection::Ranges(vec![0..=0, 2..=2]);
    description.recording.slices = Some(EmdsConfig { nodes, ..EmdsConfig::default() });
    description.recording.trace_directory = Some(place.path().join("trace"));
    let mut job = launch(&description);
    job.start();
    job.succeed();
    let trace = Trace::read(&place.path().join("trace")).unwrap();
    let recorded: Vec<_> = trace.emds.iter().map(|file| (file.node.node, file.node.host.clone())).collect();
    assert_eq!(recorded, [(0, host(0)), (2, host(2))]);
    assert!(trace.emds.iter().all(|file| !file.tables[0].slices.is_empty()), "{trace:?}");
}

#[test]
fn only_the_node_of_the_reader_passes_input_on_and_lines_are_labelled_everywhere() {
    let text = "cat | tr a-z A-Z; echo from $BCS_RANK >&2";
    let mut description = job(vec![script(3, text)], &[0, 1, 1]);
    description.labels = true;
    description.stdin = StdinTo::Rank(Rank(2));
    let mut job = launch(&description);
    job.start();
    job.nodes[0].give_input(b"not for us\n");
    job.nodes[1].give_input(b"one\ntwo\n");
    job.succeed();
    assert_eq!((job.nodes[0].stdout(), job.nodes[0].stderr()), (String::new(), "[0] from 0\n".into()));
    assert_eq!(job.nodes[1].stdout(), "[2] ONE\n[2] TWO\n");
    let stderr = job.nodes[1].stderr();
    let mut lines: Vec<_> = stderr.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[1] from 1", "[2] from 2"]);
}

#[test]
fn every_reader_gets_all_of_the_input() {
    let mut description = job(vec![script(3, "cat")], &[0, 1, 1]);
    description.stdin = StdinTo::All;
    let mut job = launch(&description);
    job.start();
    job.nodes.iter_mut().for_each(|node| node.give_input(b"line\n"));
    job.succeed();
    assert_eq!(job.nodes[0].stdout(), "line\n");
    assert_eq!(job.nodes[1].stdout(), "line\nline\n");
}

#[test]
fn nothing_that_is_inherited_by_mistake_reaches_a_rank() {
    let (reader, writer) = std::io::pipe().unwrap();
    let writer = inheritable(&writer.into());
    let mut job = launch(&job(vec![application(1, "ls", &["/proc/self/fd"])], &[0]));
    drop(writer);
    job.start();
    // Nobody holds the other end any more: neither the launcher nor its ranks.
    assert_eq!(std::io::read_to_string(reader).unwrap(), "");
    job.succeed();
    let stdout = job.nodes[0].stdout();
    let mut listed: Vec<u32> = stdout.lines().map(|line| line.parse().unwrap()).collect();
    listed.sort_unstable();
    // The last small one is what `ls` itself has opened; the NIC's is beyond those that shell scripts use.
    assert!(matches!(listed[..], [0, 1, 2, 3, nic] if nic >= 128), "{listed:?}");
}

#[test]
fn signals_reach_ranks_even_when_they_come_before_them() {
    let text = "trap 'echo usr1; exit 0' USR1; echo ready; while :; do sleep 0.01; done";
    let mut job = launch(&job(vec![script(1, text)], &[0]));
    job.prepare();
    // Whoever ignores it has to be a rank: the shell dies of one that comes before its trap.
    job.nodes[0].tell(Command::Forward(libc::SIGCONT));
    job.go();
    until("the rank has set its trap", || {
        children(job.nodes[0].pid()).iter().any(|pid| catches(*pid, libc::SIGUSR1))
    });
    job.nodes[0].tell(Command::Forward(libc::SIGUSR1));
    job.succeed();
    assert_eq!(job.nodes[0].stdout(), "ready\nusr1\n");
}

/// Whether a process has a handler for a signal.
fn catches(pid: u32, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    caught & (1 << (signal - 1)) != 0
}

/// What the ranks of a node do, as its launcher says when it is asked.
#[track_caller]
fn report(node: &mut Node, round: u64) -> JobState {
    node.tell(Command::Report { round });
    node.expect("Report", |notice| match notice {
        Notice::Report { round: answered, state } if *answered == round => Some(state.clone()),
        _ => None,
    })
}

#[test]
fn launchers_say_when_all_their_ranks_are_blocked_and_what_they_say_then_is_a_deadlock() {
    let mut job = launch(&job(vec![nic_ranks(3, &["block"])], &[0, 1, 0]));
    job.start();
    let mut round = 0;
    for node in &mut job.nodes {
        until("Blocked", || {
            round += 1;
            report(node, round);
            node.blocked > 0
        });
    }
    // It takes two rounds between which every rank has looked; these sleep, and nobody wakes them.
    let report = await_some("a deadlock", || {
        let [first, second] = [1, 2].map(|_| {
            std::thread::sleep(hang::LOOK_PERIOD);
            round += 1;
            job.nodes.iter_mut().map(|node| report(node, round)).collect::<Vec<_>>()
        });
        hang::is_deadlock(&first, &second)
    });
    let text = report.to_string();
    assert!(text.contains("cycle: 0 -> 1 -> 2 -> 0"), "{text}");
    assert!(job.nodes.iter().all(|node| node.blocked == 1), "it is news once");
}

#[test]
fn a_launcher_says_at_any_time_what_its_ranks_do() {
    let mut job = launch(&job(vec![nic_ranks(3, &["block"])], &[0, 1, 0]));
    job.prepare();
    let ranks = |state: &JobState| state.ranks.iter().map(|r| r.rank).collect::<Vec<_>>();
    assert_eq!(ranks(&report(&mut job.nodes[0], 1)), [0, 2].map(Rank));
    job.go();
    let peers = [vec![1, 0], vec![2]];
    for (node, peers) in job.nodes.iter_mut().zip(peers) {
        let mut round = 1;
        until("ranks that wait", || {
            round += 1;
            let state = report(node, round);
            let waits = |r: &RankState| r.waits_for.tag == 7;
            let seen: Vec<u32> = state.ranks.iter().map(|r| r.waits_for.peer.0).collect();
            state.ranks.iter().all(waits) && seen == peers
        });
    }
    job.nodes.iter_mut().for_each(|node| node.tell(Command::End));
    for node in &mut job.nodes {
        node.ranks_gone();
        node.finish();
    }
    job.assert_nothing_left();
}

#[test]
fn started_by_hand_it_says_what_it_is() {
    for arguments in [&[][..], &["-n", "4"]] {
        let mut command = process::Command::new(LAUNCHER);
        let null = std::fs::File::open("/dev/null").unwrap();
        use std::os::fd::AsRawFd;
        let mut node = Node::start_with(command.args(arguments), null.as_raw_fd(), None);
        assert_eq!(node.exit().code(), Some(1));
        assert!(node.stderr().contains("storm run"));
    }
}

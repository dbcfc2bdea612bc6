//! How a process becomes a rank: environments that no launcher makes are told, and a program without one runs
//! alone.

use bcs_harness::c_programs::compiled;
use bcs_harness::runs::{Ended, Running, run, start};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use test_programs::launcher::{Job, launch};

fn run_in(environment: &[(&str, &str)]) -> Ended {
    run(Command::new(compiled("environment")).envs(environment.iter().copied()))
}

#[test]
fn a_program_without_a_launcher_is_a_job_of_one_rank() {
    run_in(&[]).succeeds();
}

/// Starts a program of one process, in a directory and a process group of its own.
fn start_alone(directory: &Path, how: &str) -> Running {
    let mut command = Command::new(compiled("alone"));
    start(command.arg(how).current_dir(directory).env("TMPDIR", directory).process_group(0))
}

/// Neither files nor processes of the program are left, which has been waited for.
#[track_caller]
fn nothing_is_left(directory: &Path, group: u32) {
    let files: Vec<_> = std::fs::read_dir(directory).expect("the directory").collect();
    assert!(files.is_empty(), "{files:?}");
    // SAFETY: a signal that is none asks whether there are processes in the group.
    assert_eq!(unsafe { libc::kill(-(group as i32), 0) }, -1, "processes are left");
}

#[test]
fn a_program_alone_has_messages_sessions_and_threads_and_leaves_nothing() {
    for how in ["single", "multiple", "sessions"] {
        let directory = tempfile::tempdir().expect("a directory");
        let program = start_alone(directory.path(), how);
        let group = program.pid();
        let ended = program.wait().succeeds();
        assert_eq!(ended.stdout, "alone\n", "{how}");
        nothing_is_left(directory.path(), group);
    }
}

#[test]
fn a_program_alone_that_waits_for_what_never_comes_ends_with_the_report() {
    for (how, text) in [
        ("receives", "rank 0: waits in MPI_Recv from 0, tag 3, 40 bytes, MPI_COMM_WORLD"),
        ("probes", "rank 0: waits in MPI_Probe from any source, any tag"),
        ("sends", "rank 0: waits in MPI_Ssend to 0, tag 4, 1 byte"),
        ("completes", "rank 0: waits in MPI_Waitall for 2 requests, first from 0, tag 5"),
    ] {
        let ended = run(Command::new(compiled("endings")).arg(how));
        let stderr = &ended.stderr;
        assert_eq!(ended.code(), 125, "{how}: {stderr}");
        assert!(stderr.starts_with("deadlock: every rank") && stderr.contains(text), "{how}: {stderr}");
        let launched = launch(&Job::of(1), &compiled("endings"), &[how]);
        assert!(launched.finding.is_some_and(|report| report.contains(text)), "{how}");
    }
}

#[test]
fn output_of_any_length_on_both_ways_is_read() {
    let ended = launch(&Job::of(2), &compiled("endings"), &["talks"]);
    assert!(ended.is_well(), "{:?} {:?}", ended.codes, ended.finding);
    assert_eq!((ended.stdout.len(), ended.stderr.len()), (2 * 300_000, 2 * 300_000));
}

#[test]
fn nothing_is_left_of_a_program_alone_that_is_killed() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut program = start_alone(directory.path(), "looks");
    let mut line = String::new();
    BufReader::new(program.child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    assert_eq!(line, "looks\n");
    let group = program.pid();
    program.signal(libc::SIGKILL);
    program.wait();
    nothing_is_left(directory.path(), group);
}

#[test]
fn an_environment_that_is_no_launchers_is_told() {
    let complete = [("BCS_RANK", "0"), ("BCS_SIZE", "1"), ("BCS_LOCAL_RANK", "0"), ("BCS_NIC_FD", "0")];
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("BCS_RANK", "0")], "BCS_SIZE"),
        (&[("BCS_RANK", "x")], "BCS_RANK=\"x\""),
        (&complete, "BCS_NIC_FD=\"0\""),
    ];
    for (environment, text) in cases {
        let ended = run_in(environment);
        let stderr = &ended.stderr;
        assert!(matches!(ended.status.code(), Some(1..128)), "{ended:?}");
        assert!(stderr.contains(text) && stderr.contains("MPI_Init"), "no \"{text}\" in \"{stderr}\"");
    }
    run_in(&[&complete[..3], &[("BCS_NIC_FD", "990"), ("BCS_LAUNCHER_PID", "999999999")]].concat())
        .says("launcher process 999999999");
}

#[test]
fn there_is_no_world_communicator_for_sessions_alone() {
    for when in ["before", "after", "self"] {
        let ended = launch(&Job::of(2), &compiled("worldless"), &[when]);
        let (_, message) = ended.abort.as_ref().unwrap_or_else(|| panic!("{when}: {ended:#?}"));
        let text = "MPI_Comm_rank: argument 'comm' is MPI_COMM_WORLD or MPI_COMM_SELF (0x10";
        assert!(message.contains(text) && message.contains("between MPI_Init and MPI_Finalize"), "{message}");
    }
}

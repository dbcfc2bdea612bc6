//! How a process becomes a rank: environments that no launcher makes are told, and a program without one runs alone.

use crate::launcher::{Job, launch};
use crate::programs::compiled;
use std::process::{Command, Output};

fn run(environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(compiled("environment"));
    command.envs(environment.iter().copied());
    command.output().expect("the program runs")
}

#[test]
fn a_program_without_a_launcher_is_a_job_of_one_rank() {
    let ended = run(&[]);
    assert!(ended.status.success(), "{ended:?}");
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
        let ended = run(environment);
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(matches!(ended.status.code(), Some(1..128)), "{ended:?}");
        assert!(stderr.contains(text) && stderr.contains("MPI_Init"), "no \"{text}\" in \"{stderr}\"");
    }
    let unreachable =
        run(&[&complete[..3], &[("BCS_NIC_FD", "990"), ("BCS_LAUNCHER_PID", "999999999")]].concat());
    assert!(
        String::from_utf8_lossy(&unreachable.stderr).contains("launcher process 999999999"),
        "{unreachable:?}"
    );
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

//! Signals to `storm` are signals to the job.

use crate::common::*;
use bcs_harness::processes;
use bcs_harness::runs::{Running, run, start};
use bcs_harness::waiting::until;
use std::time::Duration;

/// A script that answers a signal by a word and a code.
fn answering(signal: &str, code: i32) -> String {
    format!(
        "exec 2>/dev/null; trap 'echo caught; exit {code}' {signal}; echo ready; while :; do sleep 0.01; done"
    )
}

/// Waits until the ranks' shells have set their traps.
fn await_ready(running: &mut Running, ranks: usize) {
    use std::io::Read;
    let stdout = running.child.stdout.as_mut().unwrap();
    let mut seen = Vec::new();
    while seen.iter().filter(|byte| **byte == b'\n').count() < ranks {
        let mut byte = [0];
        stdout.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
}

#[test]
fn signals_are_forwarded_to_every_rank() {
    for (name, number) in [
        ("HUP", libc::SIGHUP),
        ("INT", libc::SIGINT),
        ("TERM", libc::SIGTERM),
        ("USR1", libc::SIGUSR1),
        ("USR2", libc::SIGUSR2),
    ] {
        let mut running = start(&mut script("-n 3", &answering(name, 0)));
        await_ready(&mut running, 3);
        running.signal(number);
        let ran = running.wait();
        assert_eq!((ran.code(), ran.stdout.as_str()), (0, "caught\ncaught\ncaught\n"), "{name} {ran:?}");
    }
}

#[test]
fn job_that_dies_of_a_forwarded_signal_has_its_status() {
    for (number, name) in [
        (libc::SIGINT, "SIGINT"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGQUIT, "SIGQUIT"),
    ] {
        let running = start(&mut storm("-n 3 sleep 100"));
        running.await_processes("sleep", 3);
        running.signal(number);
        running.wait().fails_with(128 + number, &["the job was ended by", name]);
    }
}

#[test]
fn ranks_that_handle_the_signal_give_the_status() {
    let mut running = start(&mut script("-n 2", &answering("TERM", 6)));
    await_ready(&mut running, 2);
    running.signal(libc::SIGTERM);
    running.wait().fails_with(6, &["the job was ended by SIGTERM"]);
}

#[test]
fn second_interrupt_kills_ranks_that_ignore_the_first() {
    let mut running = start(&mut script("-n 3", "trap '' INT TERM; echo ready; while :; do sleep 100; done"));
    await_ready(&mut running, 3);
    running.signal(libc::SIGINT);
    std::thread::sleep(Duration::from_millis(200));
    assert!(running.child.try_wait().unwrap().is_none());
    running.signal(libc::SIGINT);
    running.wait().fails_with(130, &["the job was ended by SIGINT"]);
}

#[test]
fn stop_and_continue_reach_the_ranks() {
    let running = start(&mut storm("-n 2 sleep 1"));
    let ranks = running.await_processes("sleep", 2);
    let launcher = processes::parent(ranks[0]).unwrap();
    running.signal(libc::SIGTSTP);
    for pid in ranks.iter().chain([&running.pid()]) {
        until("the stop", || processes::state(*pid) == 'T');
    }
    assert_ne!(processes::state(launcher), 'T', "the launcher is there for the end of storm");
    running.signal(libc::SIGCONT);
    running.wait().succeeds_quietly();
}

#[test]
fn stopped_job_ends_with_storm() {
    let running = start(&mut storm("-n 2 sleep 1000"));
    let ranks = running.await_processes("sleep", 2);
    running.signal(libc::SIGTSTP);
    until("the stop", || processes::state(ranks[1]) == 'T');
    running.signal(libc::SIGKILL);
    assert_eq!(running.wait().code(), 137);
}

#[test]
fn ignored_signals_are_not_forwarded() {
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg("trap '' HUP; exec \"$0\" run -n 1 sleep 0.3").arg(storm_path());
    let running = start(&mut command);
    running.await_processes("sleep", 1);
    running.signal(libc::SIGHUP);
    running.wait().succeeds_quietly();
}

#[test]
fn signal_to_the_launcher_is_a_signal_to_the_job() {
    let running = start(&mut storm("-n 2 sleep 1000"));
    let ranks = running.await_processes("sleep", 2);
    processes::signal(processes::parent(ranks[0]).unwrap(), libc::SIGTERM);
    running.wait().fails_with(143, &["ended by SIGTERM"]);
}

#[test]
fn ranks_have_the_signal_mask_and_actions_of_an_ordinary_process() {
    let show = "grep -E '^Sig(Blk|Ign)' /proc/self/status";
    let ordinary = run(std::process::Command::new("sh").args(["-c", show]));
    let ran = run(&mut script("-n 1", show));
    assert_eq!(ran.succeeds_quietly().stdout, ordinary.stdout);
}

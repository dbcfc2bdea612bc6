//! Whoever of a job is killed, at whatever moment: no wrong answer, no hang, nothing left.

use crate::hosts::Cluster;
use bcs_harness::installation::{deck, example};
use bcs_harness::processes::kill;
use bcs_harness::runs::{run, start};
use std::time::Duration;

#[test]
fn whoever_of_a_job_is_killed_at_whatever_moment_nothing_hangs_and_nothing_is_left() {
    let cluster = Cluster::take();
    let (program, deck) = (example("sweep"), deck("sweep", "default"));
    let words = ["-n", "8", "--ppn", "2", program.to_str().unwrap(), deck.to_str().unwrap()];
    // A generator of our own state: rounds differ, runs do not.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for round in 0..12 {
        let running = start(&mut cluster.storm_run(&words));
        std::thread::sleep(Duration::from_millis(random(1200)));
        let victims: Vec<u32> = match round % 3 {
            0 => vec![running.pid()],
            _ => running.processes().into_iter().filter(|pid| *pid != running.pid()).collect(),
        };
        let victim = (!victims.is_empty()).then(|| victims[random(victims.len() as u64) as usize]);
        if let Some(victim) = victim {
            kill(victim);
        }
        // A wait that ends proves that nothing hangs, and that no process of the job is left.
        let ended = running.wait();
        let is_well = ended.stdout.lines().any(|line| line.starts_with("verified: "));
        assert!(ended.code() != 0 || is_well, "round {round}: {ended:?}");
        if ended.code() != 0 && victim != Some(0) && round % 3 != 0 {
            assert!(!ended.stderr.is_empty(), "round {round}: {ended:?}");
        }
    }
    run(&mut cluster.storm_run(&words)).succeeds();
}

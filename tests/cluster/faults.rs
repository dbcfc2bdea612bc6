//! Hosts, managers, launchers and ranks that are killed or cut off: no wrong answer, no hang, nothing left.

use crate::hosts::Cluster;
use crate::run::{Running, deck, example, kill, run, start};
use std::time::{Duration, Instant};

/// A job on all hosts that would run for very long.
fn long_job(cluster: &Cluster) -> Running {
    let running = start(&mut cluster.storm_run(&["-n", "4", "--ppn", "1", "sh", "-c", "exec sleep 1000"]));
    cluster.wait_for("the ranks", || running.processes().len() >= 4);
    running
}

#[test]
fn a_host_that_is_cut_off_ends_its_jobs_within_a_second_of_being_found_dead() {
    let cluster = Cluster::take();
    let running = long_job(&cluster);
    cluster.act("cut", "c2");
    let begun = Instant::now();
    let ended = running.wait();
    let took = begun.elapsed();
    cluster.act("heal", "c2");
    assert_eq!(ended.code(), 125, "{ended:?}");
    assert!(ended.stderr.contains("host c2"), "{ended:?}");
    // Three heartbeats of 100 ms, a second, and what a busy machine adds.
    assert!(took < Duration::from_secs(10), "{took:?}");
    cluster.wait_for("c2 to come back", || cluster.up() == crate::hosts::HOSTS);
    run(&mut cluster.storm_run(&["-n", "8", "--ppn", "2", "true"])).succeeds();
}

#[test]
fn a_host_that_is_killed_ends_its_jobs_and_takes_jobs_again_when_it_is_started() {
    let cluster = Cluster::take();
    let running = long_job(&cluster);
    cluster.act("kill", "c1");
    let ended = running.wait();
    assert_eq!(ended.code(), 125, "{ended:?}");
    assert!(ended.stderr.contains("host c1"), "{ended:?}");
    let refused = run(&mut cluster.storm_run(&["-n", "1", "--host", "c1", "true"]));
    assert_eq!(refused.code(), 1, "{refused:?}");
    refused.says("c1");
    cluster.act("start", "c1");
    cluster.wait_for("c1 to come back", || cluster.up() == crate::hosts::HOSTS);
    run(&mut cluster.storm_run(&["-n", "4", "--ppn", "1", "true"])).succeeds();
}

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
            kill(victim, libc::SIGKILL);
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

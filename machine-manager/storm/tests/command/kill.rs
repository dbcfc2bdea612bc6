//! Whatever is killed by kill -9, at whatever moment, nothing of the job is left, and who is left to say so
//! says what happened.
//!
//! `STORM_KILLS` sets how many kills are tried.

use crate::common::*;
use bcs_harness::c_programs::Compiled;
use bcs_harness::processes;
use bcs_harness::runs::start;
use bcs_harness::waiting::{await_some, until};
use std::time::Duration;

/// A rank with a child in a session of its own, and a grandchild in the background.
const FAMILY: &str = r#"
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    if (fork() == 0) {
        setsid();
        if (fork() == 0) { for (;;) pause(); }
        for (;;) pause();
    }
    for (;;) pause();
}"#;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Storm,
    Launcher,
    Rank,
}

/// A generator of pseudo-random numbers (xorshift), seeded so that a failure can be tried again.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[test]
fn kill_9_at_any_moment_leaves_nothing_and_the_truth() {
    let kills: u64 = std::env::var("STORM_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let seed = 0x5707_4d00 + kills;
    let mut random = Random(seed);
    let program = Compiled::by_cc(FAMILY);
    for round in 0..kills {
        let victim = [Victim::Storm, Victim::Launcher, Victim::Rank][(round % 3) as usize];
        let labels = if random.below(2) == 0 { "" } else { "-l" };
        let ranks = 1 + random.below(6);
        let running = start(storm(&format!("-n {ranks} {labels}")).arg(program.program()));
        let delay = Duration::from_micros(random.below(12_000));
        let context = format!("seed {seed:#x} round {round}: {victim:?} of {ranks} {labels} after {delay:?}");
        std::thread::sleep(delay);
        let storm = running.pid();
        let launcher = || processes::children(storm).first().copied();
        let pid = match victim {
            Victim::Storm => storm,
            Victim::Launcher => await_some("the launcher", launcher),
            Victim::Rank => await_some("a rank", || {
                let ranks = processes::children(launcher()?);
                (!ranks.is_empty()).then(|| ranks[random.below(ranks.len() as u64) as usize])
            }),
        };
        processes::kill(pid);
        let ran = running.wait();
        assert_eq!(ran.code(), 137, "{context}: {ran:?}");
        let message = match victim {
            Victim::Storm => None,
            Victim::Launcher => {
                Some(format!("the program launcher (process {pid}) on {} was killed by signal 9", host()))
            }
            Victim::Rank => Some(format!(" on {} was killed by signal 9 (SIGKILL", host())),
        };
        match message {
            None => assert_eq!(ran.stderr, "", "{context}"),
            Some(words) => {
                assert!(ran.stderr.contains(&words), "{context}: {ran:?}");
                assert_eq!(ran.stderr.lines().count(), 1, "{context}: {ran:?}");
            }
        }
    }
}

#[test]
fn children_that_storm_had_before_are_not_its_to_end() {
    let line = "sleep 1000 > /dev/null 2>&1 & echo $!; exec \"$0\" run -n 1 sh -c 'sleep 1000 & kill -9 $PPID; sleep 1000'";
    // Many times: a rank that ends while storm looks at it has children to leave, and nothing to be known by.
    for round in 0..40 {
        let running = start(std::process::Command::new("sh").arg("-c").arg(line).arg(storm_path()));
        let ran = running.wait_leaving();
        assert_eq!(ran.code(), 137, "{round}: {ran:?}");
        let earlier = ran.stdout.trim().parse().expect("the number of the earlier child");
        assert_eq!(ran.left(), [earlier], "{round}");
        processes::kill(earlier);
        until("nothing is left", || ran.left().is_empty());
    }
}

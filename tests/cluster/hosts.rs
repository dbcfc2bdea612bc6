//! The hosts that `scripts/cluster` has made, and how tests use them.

use crate::run::{prefix, repository, run};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How many hosts the tests want.
pub const HOSTS: usize = 4;

/// How long a host may take to join, or a fault to be noticed, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The cluster, for one test at a time.
pub struct Cluster(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Cluster {
    /// Waits for its turn, and for all hosts.
    pub fn take() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let cluster = Self(TURN.lock().unwrap_or_else(PoisonError::into_inner));
        cluster.wait_for("all hosts up", || cluster.up() == HOSTS);
        cluster
    }

    /// `scripts/cluster` with these words.
    pub fn script(&self, words: &[&str]) -> Command {
        let mut command = Command::new(repository().join("scripts/cluster"));
        command.args(words).env("BCS_PREFIX", prefix());
        command.env("BCS_CONFIG", repository().join("target/cluster/cluster.toml"));
        command
    }

    /// A command on a host.
    pub fn on(&self, host: &str, words: &[&str]) -> Command {
        let mut all = vec!["exec", host];
        all.extend(words);
        self.script(&all)
    }

    /// An installed program on the host that users log in to.
    pub fn login(&self, program: &str, words: &[&str]) -> Command {
        let program = prefix().join("bin").join(program);
        let mut all = vec![program.to_str().expect("a path of letters")];
        all.extend(words);
        self.on("login", &all)
    }

    /// `storm run` with these words, then a program.
    pub fn storm_run(&self, words: &[&str]) -> Command {
        let mut all = vec!["run"];
        all.extend(words);
        self.login("storm", &all)
    }

    /// How many hosts take jobs.
    pub fn up(&self) -> usize {
        let nodes = run(&mut self.login("storm", &["nodes"]));
        nodes.stdout.lines().filter(|line| line.split_whitespace().nth(1) == Some("up")).count()
    }

    /// Waits until something holds.
    #[track_caller]
    pub fn wait_for(&self, what: &str, holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < PATIENCE, "waited in vain for: {what}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

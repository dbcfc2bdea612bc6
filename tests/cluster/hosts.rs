//! The hosts that `scripts/cluster` has made, and how tests use them.

use bcs_harness::installation::prefix;
use bcs_harness::repository;
use bcs_harness::runs::{run, run_leaving};
use bcs_harness::waiting::until;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How many hosts the tests want.
pub const HOSTS: usize = 4;

/// Where `scripts/cluster` keeps everything.
fn place() -> PathBuf {
    repository().join("target/cluster")
}

/// The time of day, in universal time.
pub fn time_of_day() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that goes");
    Duration::from_nanos((now.as_nanos() % (86_400 * 1_000_000_000)) as u64)
}

/// The time of day with which a line of a log begins, as in 2026-05-04T03:02:01.123456Z.
#[track_caller]
pub fn time_in(line: &str) -> Duration {
    let (_, time) = line.split_once('T').expect(line);
    let (time, _) = time.split_once('Z').expect(line);
    let parts: Vec<f64> = time.split(':').map(|part| part.parse().expect(line)).collect();
    Duration::from_secs_f64(parts.iter().fold(0.0, |all, part| all * 60.0 + part))
}

/// The cluster, for one test at a time.
pub struct Cluster(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Cluster {
    /// Waits for its turn, and for all hosts.
    pub fn take() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let cluster = Self(TURN.lock().unwrap_or_else(PoisonError::into_inner));
        until("all hosts up", || cluster.up() == HOSTS);
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

    /// The hosts that take jobs.
    pub fn nodes() -> impl Iterator<Item = &'static str> {
        ["c0", "c1", "c2", "c3"].into_iter()
    }

    /// Does what [`Self::script`] is told, which is not checked for leaving nothing: daemons live on.
    #[track_caller]
    pub fn does(&self, words: &[&str]) -> String {
        run_leaving(&mut self.script(words)).succeeds().stdout
    }

    /// The process of a host's daemon.
    pub fn daemon(&self, host: &str) -> u32 {
        let file = place().join("pid").join(host);
        let pid = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        pid.trim().parse().expect("the number of a process")
    }

    /// What a host's daemon has logged.
    pub fn log(&self, host: &str) -> String {
        fs::read_to_string(place().join("log").join(host).with_extension("log")).expect("the log of a daemon")
    }

    /// The launchers on a host.
    pub fn launchers(&self, host: &str) -> Vec<u32> {
        let output = Command::new("ip").args(["netns", "pids", &format!("bcs-{host}")]).output().expect("ip");
        let pids = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_launcher = |pid: &u32| {
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with("program-launcher"))
        };
        pids.lines().filter_map(|pid| pid.trim().parse().ok()).filter(is_launcher).collect()
    }

    /// Starts a host's daemon again, which has been killed, and waits until all hosts are up.
    #[track_caller]
    pub fn restart(&self, host: &str) {
        let daemon = self.daemon(host);
        until("the daemon's end", || !fs::exists(format!("/proc/{daemon}")).unwrap_or(true));
        self.does(&["start", host]);
        until("all hosts up", || self.up() == HOSTS);
    }

    /// How many hosts take jobs.
    pub fn up(&self) -> usize {
        let nodes = run(&mut self.login("storm", &["nodes"]));
        nodes.stdout.lines().filter(|line| line.split_whitespace().nth(1) == Some("up")).count()
    }
}

//! Daemons, launchers and hosts that fail in mid-job: the job ends soon after that is known, with a message
//! that names the host, and nothing of it is left anywhere.

use crate::hosts::{Cluster, HOSTS, time_of_day};
use bcs_harness::c_programs::Compiled;
use bcs_harness::processes::{kill, signal};
use bcs_harness::runs::{Ended, Running, start};
use bcs_harness::waiting::{BOUND, until};
use std::fs;
use std::io::{BufRead, BufReader};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// The most that a job may go on after its failure is known. The promise is a second; the machine may be
/// busy.
const SOON: Duration = Duration::from_secs(5);

/// The host on which something fails.
const VICTIM: &str = "c2";

/// Ranks that exchange messages all the time, so that they are blocked when one of them is lost.
const TALKERS: &str = "#include <mpi.h>\nint main(int c, char **v) { int rank, size, sum; MPI_Init(&c, &v);\
     MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);\
     for (;;) { MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\
     MPI_Sendrecv_replace(&sum, 1, MPI_INT, (rank + 1) % size, 1, (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); } }\n";

/// A job with a rank on each host that is in the middle of its messages.
struct Talking {
    running: Running,
    /// Of its launcher, on each host.
    launchers: Vec<u32>,
    /// The length of the manager's log at the beginning.
    logged: usize,
}

/// A job that is running, when its ranks have used processor time, and so talk.
fn talking(cluster: &Cluster, program: &Compiled) -> Talking {
    talking_over("tcp", cluster, program)
}

fn talking_over(network: &str, cluster: &Cluster, program: &Compiled) -> Talking {
    let logged = cluster.log("login").len();
    let path = program.program();
    let words = ["-n", "4", "--ppn", "1", "--network", network, path.to_str().expect("a path of letters")];
    let running = start(&mut cluster.storm_run(&words));
    let ranks = |running: &Running| {
        let is_rank = |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == path);
        running.processes().into_iter().filter(is_rank).collect::<Vec<_>>()
    };
    until("ranks that talk", || {
        let ranks = ranks(&running);
        ranks.len() == HOSTS && ranks.iter().all(|pid| ticks(*pid) > 3)
    });
    let launchers: Vec<u32> = Cluster::nodes().flat_map(|host| cluster.launchers(host)).collect();
    assert_eq!(launchers.len(), HOSTS, "a launcher on each host");
    Talking { running, launchers, logged }
}

/// Processor time that a process has used, in ticks of the clock.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

impl Talking {
    /// Waits until storm has said how the job ended, then does this, and waits until nothing of it is left on
    /// any host: the end, and its time of day.
    fn end(self, then: impl FnOnce()) -> (Ended, Duration) {
        let storm = self.running.pid();
        until("the end of storm", || !self.running.processes().contains(&storm));
        let ended_at = time_of_day();
        then();
        let waits = Instant::now();
        until("the end of the ranks on all hosts", || self.running.processes().is_empty());
        until("the end of the launchers on all hosts", || {
            self.launchers.iter().all(|pid| !fs::exists(format!("/proc/{pid}")).unwrap_or(true))
        });
        println!("what was left ended {:?} after storm", waits.elapsed());
        (self.running.wait(), ended_at)
    }
}

/// Checks that a job ended as one whose host was lost, soon after the manager had said so in its log.
#[track_caller]
fn ended_with_host(cluster: &Cluster, job: Talking, then: impl FnOnce()) {
    let logged = job.logged;
    let (ended, ended_at) = job.end(then);
    assert_eq!(ended.code(), 125, "{ended:?}");
    ended.says(&format!("storm: {VICTIM} was lost"));
    let log = cluster.log("login");
    let line = log[logged..].lines().find(|line| line.contains("lost: it")).expect(&log[logged..]);
    assert!(line.contains(VICTIM), "{line}");
    let detected_at = crate::hosts::time_in(line);
    println!("the job ended {:?} after it was known", ended_at.saturating_sub(detected_at));
    assert!(ended_at < detected_at + SOON, "detected at {detected_at:?}, ended at {ended_at:?}: {line}");
}

#[test]
fn a_launcher_that_is_killed_ends_its_job_with_its_hosts_name() {
    let (cluster, program) = (Cluster::take(), Compiled::by_mpicc(TALKERS));
    let job = talking(&cluster, &program);
    let victim = cluster.launchers(VICTIM)[0];
    kill(victim);
    let (ended, _) = job.end(|| {});
    assert_ne!(ended.code(), 0, "{ended:?}");
    ended.says(&format!("the program launcher (process {victim}) on {VICTIM} was killed by signal 9"));
    assert_eq!(cluster.up(), HOSTS, "no host is lost");
}

#[test]
fn a_launcher_that_is_stopped_holds_up_its_job_and_the_user_is_told_once() {
    for network in ["quic", "tcp"] {
        let (cluster, program) = (Cluster::take(), Compiled::by_mpicc(TALKERS));
        let mut job = talking_over(network, &cluster, &program);
        let stderr = BufReader::new(job.running.child.stderr.take().expect("a pipe"));
        let (sender, lines) = channel();
        thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let says = |text: &str| {
            let line = lines.recv_timeout(BOUND).expect("a line of storm");
            assert!(line.contains(text), "over {network}: {line}");
        };
        let victim = cluster.launchers(VICTIM)[0];
        signal(victim, libc::SIGSTOP);
        let stopped = Stopped(victim);
        says(&format!("storm: node {VICTIM} has not answered for 10 s, but its host is up"));
        drop(stopped);
        says(&format!("storm: node {VICTIM} answers again: the job goes on"));
        job.running.signal(libc::SIGTERM);
        let (ended, _) = job.end(|| {});
        assert_eq!(ended.code(), 143, "{ended:?}");
        says("storm: the job was ended by SIGTERM");
        assert_eq!(cluster.up(), HOSTS, "no host is lost");
    }
}

#[test]
fn a_node_manager_that_is_killed_ends_its_jobs_with_its_hosts_name_and_comes_back() {
    let (cluster, program) = (Cluster::take(), Compiled::by_mpicc(TALKERS));
    let job = talking(&cluster, &program);
    kill(cluster.daemon(VICTIM));
    ended_with_host(&cluster, job, || {});
    cluster.restart(VICTIM);
}

/// A process that is stopped, and goes on when this is dropped, so that a test that fails leaves the cluster
/// to others.
struct Stopped(u32);

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.0, libc::SIGCONT);
    }
}

#[test]
fn a_node_manager_that_is_stopped_counts_as_dead_and_ends_its_jobs_with_its_hosts_name() {
    let (cluster, program) = (Cluster::take(), Compiled::by_mpicc(TALKERS));
    let job = talking(&cluster, &program);
    let daemon = cluster.daemon(VICTIM);
    signal(daemon, libc::SIGSTOP);
    let stopped = Stopped(daemon);
    // The job ends while the daemon stands still; what the host has of it ends when the daemon goes on.
    ended_with_host(&cluster, job, || drop(stopped));
    until("its return", || cluster.up() == HOSTS);
}

#[test]
fn a_host_that_is_cut_off_ends_its_jobs_with_its_name_and_what_it_has_of_them_itself() {
    let (cluster, program) = (Cluster::take(), Compiled::by_mpicc(TALKERS));
    let job = talking(&cluster, &program);
    cluster.does(&["cut", VICTIM]);
    ended_with_host(&cluster, job, || {});
    cluster.does(&["heal", VICTIM]);
    until("its return", || cluster.up() == HOSTS);
}

#[test]
fn a_manager_that_is_killed_ends_all_jobs_on_all_hosts_and_its_successor_finds_the_hosts() {
    let (cluster, program) = (Cluster::take(), Compiled::by_mpicc(TALKERS));
    let job = talking(&cluster, &program);
    kill(cluster.daemon("login"));
    let (ended, _) = job.end(|| {});
    assert_eq!(ended.code(), 125, "{ended:?}");
    ended.says("storm: the machine manager at").says("is gone");
    cluster.restart("login");
}

//! One user who does to the hosts what processes may do: others' jobs run and end as always, no host is lost,
//! and nothing is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::hosts::Cluster;
use bcs_harness::c_programs::Compiled;
use bcs_harness::installation::prefix;
use bcs_harness::runs::{Ended, run};
use bcs_harness::waiting::until;

/// Accounts that every system has, and that may do nothing: the one who floods, and two others.
const HOSTILE: &str = "65534";
const OTHERS: [&str; 2] = ["1", "2"];

/// Four threads that spin, and four chains of processes: each process begins the next, in a session of its
/// own, and ends. What escapes the end of its job ends by itself after two minutes.
const HOSTILE_PROGRAM: &str = r#"
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static void *spin(void *unused) { for (;;) __asm__ volatile("" ::: "memory"); return unused; }
static void chain(time_t until) {
  while (time(0) < until) {
    pid_t next = fork();
    if (next > 0) _exit(0);
    if (next == 0) setsid();
  }
  _exit(0);
}
int main(void) {
  time_t until = time(0) + 120;
  pthread_t thread;
  for (int i = 0; i < 4; i++) if (fork() == 0) chain(until);
  for (int i = 0; i < 4; i++) pthread_create(&thread, 0, spin, 0);
  sleep(120);
  return 0;
}
"#;

const HONEST_PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank, one = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 100; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\n", sum);
  MPI_Finalize();
  return 0;
}
"#;

/// A program that every user may run.
fn for_all(source: &str) -> (Compiled, PathBuf) {
    let compiled = Compiled::by_mpicc(source);
    let program = compiled.program();
    let directory = program.parent().expect("a directory");
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("the directory's rights");
    (compiled, program)
}

/// `storm` with these words on the host that users log in to, as this user.
fn storm(cluster: &Cluster, user: &str, words: &[&str]) -> Command {
    let program = prefix().join("bin/storm");
    let mut all = vec!["setpriv", "--reuid", user, "--regid", user, "--clear-groups"];
    all.push(program.to_str().expect("a path of letters"));
    all.extend(words);
    cluster.on("login", &all)
}

/// How many processes that user has on this machine.
fn processes_of(user: &str) -> usize {
    let line = format!("Uid:\t{user}\t");
    let statuses = fs::read_dir("/proc").expect("/proc").filter_map(|entry| {
        let status = fs::read_to_string(entry.ok()?.path().join("status")).ok()?;
        status.contains(&line).then_some(())
    });
    statuses.count()
}

/// A flood of jobs, one after the other, each ended by its time limit while it is at its worst.
fn flood_for(time: Duration) {
    let cluster = Cluster::take();
    // Other tests have hosts lost.
    let said_before = cluster.log("login").len();
    let daemons: Vec<u32> = Cluster::nodes().map(|host| cluster.daemon(host)).collect();
    let ((_hostile, hostile), (_honest, honest)) = (for_all(HOSTILE_PROGRAM), for_all(HONEST_PROGRAM));
    let (hostile, honest) = (hostile.to_str().expect("a path"), honest.to_str().expect("a path"));
    let (is_over, floods, served) =
        (AtomicBool::new(false), AtomicU32::new(0), [const { AtomicU32::new(0) }; 2]);
    let goes_on = || !is_over.load(Ordering::Relaxed);
    let check = |ended: Ended, user: &str| {
        assert_eq!((ended.code(), ended.stdout.as_str()), (0, "sum 2\n"), "a job of user {user}: {ended:?}");
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while goes_on() {
                let words = ["run", "-n", "4", "--ppn", "1", "--timeout", "3", "--wdir", "/", hostile];
                let ended = run(&mut storm(&cluster, HOSTILE, &words));
                assert_ne!(ended.code(), 0, "{ended:?}");
                ended.says("time limit");
                floods.fetch_add(1, Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            while goes_on() {
                // Questions, fifty at a time.
                let asked: Vec<_> = (0..50).map(|_| storm(&cluster, HOSTILE, &["nodes"]).output()).collect();
                drop(asked);
            }
        });
        let others = OTHERS.into_iter().zip(&served).map(|(user, served)| {
            let (cluster, check, goes_on) = (&cluster, &check, &goes_on);
            scope.spawn(move || {
                while goes_on() {
                    let words = ["run", "-n", "2", "--ppn", "1", "--wdir", "/", honest];
                    check(run(&mut storm(cluster, user, &words)), user);
                    served.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        let others: Vec<_> = others.collect();
        let until = Instant::now() + time;
        while Instant::now() < until && !others.iter().any(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(Duration::from_millis(50));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    println!("jobs of the others: {served:?}, of the hostile one: {floods:?}");
    assert!(served.iter().all(|jobs| jobs.load(Ordering::Relaxed) > 0), "{served:?}");
    assert!(floods.load(Ordering::Relaxed) > 0);
    assert_eq!(Cluster::nodes().map(|host| cluster.daemon(host)).collect::<Vec<_>>(), daemons);
    assert!(!cluster.log("login")[said_before..].contains("lost: it"), "a host was lost");
    until("the end of all that was begun", || processes_of(HOSTILE) == 0);
}

#[test]
fn one_users_processes_leave_the_jobs_of_others_and_the_hosts_alone() {
    flood_for(Duration::from_secs(8));
}

#[test]
#[ignore = "takes a minute"]
fn one_users_processes_leave_the_jobs_of_others_and_the_hosts_alone_for_a_minute() {
    flood_for(Duration::from_secs(60));
}

//! Jobs on several hosts: network namespaces of this machine, with the installed daemons in them
//! (`scripts/cluster`). Skipped, with the reason, only where the machine allows no namespaces.

use std::io::Write;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use bcs_harness::c_programs::Compiled;
use bcs_harness::installation::{installed, prefix};
use bcs_harness::repository;
use bcs_harness::runs::{Ended, run, run_leaving, start};
use bcs_harness::waiting::await_some;

/// What `scripts/cluster` exits with where there are no namespaces.
const REFUSED: i32 = 77;

/// How long hosts may take to come back.
const PATIENCE: Duration = Duration::from_secs(60);

/// There is one cluster at a time on a machine.
static ONE: Mutex<()> = Mutex::new(());

/// `scripts/cluster` with these words.
fn script(arguments: &str) -> Command {
    let mut command = Command::new("timeout");
    command.arg("100").arg(repository().join("scripts/cluster")).args(arguments.split_whitespace());
    command.env("BCS_PREFIX", prefix());
    command
}

/// A cluster that is up while this lives.
struct Cluster {
    _one: MutexGuard<'static, ()>,
}

impl Cluster {
    /// None, after a word, where the machine refuses.
    fn up(hosts: u32) -> Option<Self> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = Instant::now();
        loop {
            // Its daemons live on.
            let ended = run_leaving(&mut script(&format!("up {hosts}")));
            match ended.code() {
                0 => return Some(Self { _one: one }),
                REFUSED => {
                    bcs_harness::skip(ended.stderr.trim());
                    return None;
                }
                // Somebody tests in another tree.
                _ if ended.stderr.contains("not of this tree's making") && begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(500));
                }
                _ => panic!("{ended:?}"),
            }
        }
    }

    /// A program of the installation with this cluster.
    fn program(&self, name: &str, arguments: &str) -> Command {
        let mut command = installed(name);
        command.env("BCS_CONFIG", repository().join("target/cluster/cluster.toml"));
        command.args(arguments.split_whitespace());
        command
    }

    fn storm(&self, arguments: &str) -> Command {
        self.program("storm", arguments)
    }

    fn script(&self, arguments: &str) {
        run_leaving(&mut script(arguments)).succeeds();
    }

    /// Waits until `storm nodes` says this.
    #[track_caller]
    fn await_nodes(&self, wanted: impl Fn(&str) -> bool) -> String {
        await_some("the nodes to be as they should", || {
            let ended = run(&mut self.storm("nodes --json"));
            (ended.status.success() && wanted(&ended.stdout)).then_some(ended.stdout)
        })
    }

    /// Waits until so many nodes are up.
    #[track_caller]
    fn await_up(&self, count: usize) {
        self.await_nodes(|json| json.matches("\"state\": \"up\"").count() == count);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let ended = run_leaving(&mut script("down"));
        assert!(ended.status.success() || std::thread::panicking(), "{ended:?}");
    }
}

fn sorted(ended: Ended) -> String {
    let ended = ended.succeeds();
    let mut lines: Vec<_> = ended.stdout.lines().collect();
    lines.sort_unstable();
    lines.join(" ")
}

#[test]
fn ranks_run_on_the_hosts_that_are_asked_for_and_what_cannot_be_is_said() {
    let Some(cluster) = Cluster::up(2) else { return };
    for (options, hosts) in [
        ("-n 4 --ppn 2", "c0 c0 c1 c1"),
        ("-N 2", "c0 c1"),
        ("-n 3 --map-by node", "c0 c0 c1"),
        ("-n 2 --host c1", "c1 c1"),
        ("-n 3 --host c1:2,c0", "c0 c1 c1"),
    ] {
        assert_eq!(
            sorted(run(cluster.storm("run").args(options.split(' ')).arg("hostname"))),
            hosts,
            "{options}"
        );
    }
    assert_eq!(sorted(run(&mut cluster.program("mpiexec", "-ppn 1 -n 2 -hosts c0,c1 hostname"))), "c0 c1");
    for (options, status, words) in [
        ("-n 9 --ppn 2 hostname", 1, "storm: -n 9 with --ppn 2 needs 5 nodes, and 2 are up"),
        ("--host c9 hostname", 1, "unknown host \"c9\""),
        ("-n 2 --ppn 1 no-such-program", 127, "no-such-program"),
    ] {
        let ended = run(&mut cluster.storm(&format!("run {options}")));
        assert_eq!(ended.code(), status, "{ended:?}");
        ended.says(words);
    }
    let ended = run(cluster.storm("run -n 4 --ppn 2 sh -c").arg("[ $BCS_RANK = 3 ] && exit 7; sleep 1000"));
    assert_eq!(ended.code(), 7, "{ended:?}");
    ended.says("storm: rank 3 on c1 exited with code 7");
}

#[test]
fn input_and_output_pass_between_hosts_whole() {
    let Some(cluster) = Cluster::up(2) else { return };
    let ended = run(&mut cluster.storm("run -n 2 --ppn 1 seq 1 100000")).succeeds();
    assert_eq!(ended.stdout.len(), 2 * 588_895);
    let storm = cluster.storm("").get_program().to_owned();
    let mut pipe = Command::new("sh");
    pipe.env("BCS_CONFIG", repository().join("target/cluster/cluster.toml"));
    pipe.arg("-c")
        .arg("seq 1 100000 | \"$0\" run -n 2 --ppn 1 --stdin 1 -l sh -c 'md5sum' | sort")
        .arg(storm);
    let ended = run(&mut pipe).succeeds();
    let plain = run(Command::new("sh").args(["-c", "md5sum < /dev/null; seq 1 100000 | md5sum"]));
    let expected: Vec<_> =
        (0..).zip(plain.stdout.lines()).map(|(rank, line)| format!("[{rank}] {line}\n")).collect();
    assert_eq!(ended.stdout, expected.concat());
}

#[test]
fn a_program_communicates_between_hosts() {
    const SUMS: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, ranks, count = 100000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *out = malloc(count * sizeof *out), *in = malloc(count * sizeof *in);
    for (int i = 0; i < count; i++) out[i] = rank * count + i;
    MPI_Sendrecv(out, count, MPI_INT, (rank + 1) % ranks, 3, in, count, MPI_INT, (rank + ranks - 1) % ranks, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    long wrong = 0, all = 0;
    for (int i = 0; i < count; i++) wrong += in[i] != ((rank + ranks - 1) % ranks) * count + i;
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d ranks, %ld wrong\n", ranks, all);
    return MPI_Finalize();
}"#;
    let Some(cluster) = Cluster::up(2) else { return };
    let program = Compiled::by_mpicc(SUMS);
    for options in ["run -n 4 --ppn 2", "run -n 4 --map-by node"] {
        let ended = run(cluster.storm(options).arg(program.program())).succeeds();
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("4 ranks, 0 wrong\n", ""));
    }
}

#[test]
fn a_running_job_is_seen_and_ends_by_a_signal_to_storm() {
    let Some(cluster) = Cluster::up(2) else { return };
    let running = start(&mut cluster.storm("run -n 2 --ppn 1 sleep 1000"));
    let json = cluster.await_nodes(|json| json.matches("\"ranks\": 1").count() == 2);
    let jobs = json.split("\"jobs\": [").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let job: u64 = jobs.trim().parse().unwrap_or_else(|_| panic!("{json}"));
    let status = run(&mut cluster.storm(&format!("status {job}"))).succeeds();
    status.says("0").says("1");
    running.signal(libc::SIGTERM);
    let ended = running.wait();
    assert_eq!(ended.code(), 143, "{ended:?}");
    ended.says("storm: the job was ended by SIGTERM");
    cluster.await_nodes(|json| json.matches("\"ranks\": 0").count() == 2);
}

#[test]
fn a_host_that_is_cut_off_or_killed_ends_its_job_with_its_name_and_comes_back() {
    let Some(cluster) = Cluster::up(2) else { return };
    for (harm, cure) in [("cut", "heal"), ("kill", "start")] {
        let running = start(&mut cluster.storm("run -n 2 --ppn 1 sleep 1000"));
        cluster.await_nodes(|json| json.matches("\"ranks\": 1").count() == 2);
        cluster.script(&format!("{harm} c1"));
        // A host that is cut off finds that out by itself, and ends what it has of the job.
        let begun = Instant::now();
        while !running.processes().is_empty() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        let ended = running.wait();
        assert_ne!(ended.code(), 0, "{ended:?}");
        ended.says("c1");
        cluster.await_up(1);
        cluster.script(&format!("{cure} c1"));
        cluster.await_up(2);
        assert_eq!(sorted(run(&mut cluster.storm("run -n 2 --ppn 1 hostname"))), "c0 c1");
    }
}

#[test]
fn a_manager_that_is_killed_ends_all_jobs_and_its_successor_finds_the_hosts() {
    let Some(cluster) = Cluster::up(2) else { return };
    let running = start(&mut cluster.storm("run -n 2 --ppn 1 sleep 1000"));
    cluster.await_nodes(|json| json.matches("\"ranks\": 1").count() == 2);
    cluster.script("kill login");
    // Waiting also checks that no rank is left on any host.
    let ended = running.wait();
    assert_eq!(ended.code(), 125, "{ended:?}");
    ended.says("storm: the machine manager at").says("is gone");
    cluster.script("start login");
    cluster.await_up(2);
    assert_eq!(sorted(run(&mut cluster.storm("run -n 2 --ppn 1 hostname"))), "c0 c1");
}

/// The commands of a section of a document, line by line; a loop is one.
fn commands<'a>(document: &'a str, section: &str) -> Vec<&'a str> {
    let (_, rest) =
        document.split_once(&format!("\n## {section}\n")).unwrap_or_else(|| panic!("no section {section}"));
    let text = rest.split("\n## ").next().unwrap();
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks
        .flat_map(|block| if block.starts_with("for ") { vec![block] } else { block.lines().collect() })
        .collect()
}

/// Runs a line of the guide as its reader would, from the top of the repository.
fn follow(line: &str, configuration: &std::path::Path, first_in_path: &str) -> Ended {
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-euc", line]).current_dir(repository()).env("BCS_PREFIX", prefix());
    shell.env("PATH", format!("{first_in_path}{}:{path}", prefix().join("bin").display()));
    shell.env("BCS_CONFIG", configuration);
    // Daemons live on.
    run_leaving(&mut shell)
}

#[test]
fn the_guide_for_administrators_can_be_followed() {
    let guide = std::fs::read_to_string(repository().join("docs/admin.md")).unwrap();
    // Configuration and keys, in another place than /etc and without other machines: ssh and scp say what
    // they were asked.
    let place = TempDir::new().unwrap();
    let root = place.path().display().to_string();
    let moved = |text: &str| text.replace("/etc/bcs-mpi", &root).replace("/run/bcs-mpi", &root);
    let toml = guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let configuration = place.path().join("cluster.toml");
    std::fs::write(&configuration, moved(toml)).unwrap();
    let tools = place.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    for (tool, text) in
        [("ssh", "echo ssh \"$@\""), ("scp", "[ \"$1\" != -p ] || shift; test -f \"$1\"; echo scp \"$@\"")]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let file = std::fs::OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o755)
            .open(tools.join(tool));
        writeln!(file.unwrap(), "#!/bin/sh\nset -e\n{text}").unwrap();
    }
    let first_in_path = format!("{}:", tools.display());
    let mut said = String::new();
    for section in ["Make the keys", "Run jobs", "Add a node, remove a node"] {
        let lines = commands(&guide, section);
        for line in lines.iter().filter(|line| line.contains("storm cluster")) {
            said += &follow(&moved(line), &configuration, &first_in_path).succeeds().stdout;
        }
    }
    for word in [
        "authority.pem",
        &format!("scp {root}/keys/c31.pem c31:{root}/keys/c31.pem"),
        "user.alice.pem",
        "c32.pem",
    ] {
        assert!(said.contains(word), "no {word:?} in {said}");
    }
    // A cluster, with what the reader checks in between.
    let lines = commands(&guide, "A cluster on one machine");
    let (down, lines) = lines.split_last().unwrap();
    let (up, lines) = lines.split_first().unwrap();
    assert_eq!((*up, *down), ("scripts/cluster up 4", "scripts/cluster down"));
    let Some(cluster) = Cluster::up(4) else { return };
    let configuration = repository().join("target/cluster/cluster.toml");
    for line in commands(&guide, "Check").iter().chain(lines) {
        let ended = follow(line, &configuration, "").succeeds();
        if line.contains("hostname") {
            assert!(["c0", "c1", "c2", "c3"].iter().all(|host| ended.stdout.contains(host)), "{ended:?}");
        }
        cluster.await_nodes(|_| true);
    }
}

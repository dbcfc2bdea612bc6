//! Jobs on several hosts: answers, placement, output, input, endings.

use crate::hosts::Cluster;
use crate::run::{Compiled, deck, example, run, start};
use std::io::Write;
use std::process::Stdio;

#[test]
fn codes_give_their_verified_answers_with_8_ranks_on_4_hosts() {
    let cluster = Cluster::take();
    for code in ["sweep", "hydro", "heat"] {
        let (program, deck) = (example(code), deck(code, "small"));
        for slice in ["elastic", "500us"] {
            let words = [
                "-n",
                "8",
                "--ppn",
                "2",
                "--slice",
                slice,
                program.to_str().unwrap(),
                deck.to_str().unwrap(),
            ];
            let ended = run(&mut cluster.storm_run(&words)).succeeds();
            assert!(ended.stdout.lines().any(|line| line.starts_with("verified: ")), "{ended:?}");
        }
    }
}

#[test]
fn ranks_are_where_the_user_wants_them() {
    let cluster = Cluster::take();
    let hosts = |words: &[&str]| {
        let mut all = vec!["-l"];
        all.extend(words);
        all.extend(["hostname"]);
        let ended = run(&mut cluster.storm_run(&all)).succeeds();
        let mut lines: Vec<String> = ended.stdout.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(hosts(&["-n", "3", "--host", "c2,c0,c2"]), ["[0] c2", "[1] c2", "[2] c0"]);
    assert_eq!(
        hosts(&["-n", "4", "--ppn", "2", "--host", "c3,c1"]),
        ["[0] c3", "[1] c3", "[2] c1", "[3] c1"]
    );
    assert_eq!(hosts(&["-n", "3", "--map-by", "node", "--host", "c1,c2,c3"]), ["[0] c1", "[1] c2", "[2] c3"]);
    assert_eq!(hosts(&["-n", "4", "--nodes", "4"]).iter().filter(|line| line.ends_with("c3")).count(), 1);
    let refused = run(&mut cluster.storm_run(&["-n", "9", "--ppn", "2", "hostname"]));
    assert_eq!((refused.code(), refused.stdout.as_str()), (1, ""), "{refused:?}");
    let unknown = run(&mut cluster.storm_run(&["-n", "1", "--host", "c9", "hostname"]));
    unknown.says("c9");
    assert_eq!(unknown.code(), 1, "{unknown:?}");
}

#[test]
fn output_of_all_hosts_arrives_whole_and_input_goes_to_rank_0() {
    let cluster = Cluster::take();
    let script = "cat; i=0; while [ $i -lt 2000 ]; do echo rank $BCS_RANK line $i; i=$((i + 1)); done";
    let mut command = cluster.storm_run(&["-n", "4", "--ppn", "1", "sh", "-c", script]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let text = "what rank 0 reads\n".repeat(20_000);
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn({
        let text = text.clone();
        move || stdin.write_all(text.as_bytes()).unwrap()
    });
    let ended = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(ended.status.success());
    let output = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(output.matches("what rank 0 reads\n").count(), 20_000);
    for rank in 0..4 {
        let mine = format!("rank {rank} line ");
        assert_eq!(output.lines().filter(|line| line.starts_with(&mine)).count(), 2000, "rank {rank}");
    }
}

#[test]
fn the_first_failure_is_told_with_its_host_and_ends_the_job_everywhere() {
    let cluster = Cluster::take();
    let script = "if [ $BCS_RANK = 2 ]; then exit 7; fi; sleep 1000";
    let ended = run(&mut cluster.storm_run(&["-n", "4", "--ppn", "1", "sh", "-c", script]));
    assert_eq!(ended.code(), 7, "{ended:?}");
    assert_eq!(ended.stderr, "storm: rank 2 on c2 exited with code 7\n");
    let missing = run(&mut cluster.storm_run(&["-n", "2", "--ppn", "1", "/no/such/program"]));
    assert_eq!(missing.code(), 127, "{missing:?}");
    assert_eq!(missing.stderr.lines().count(), 1, "{missing:?}");
}

#[test]
fn an_abort_and_an_interrupt_end_the_ranks_of_all_hosts() {
    let cluster = Cluster::take();
    let abort = Compiled::new(
        "#include <mpi.h>\n#include <unistd.h>\nint main(int c, char **v) { int rank; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\
         if (rank == 3) MPI_Abort(MPI_COMM_WORLD, 9); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }\n",
    );
    let ended = run(&mut cluster.storm_run(&["-n", "4", "--ppn", "1", abort.program().to_str().unwrap()]));
    assert_eq!(ended.code(), 9, "{ended:?}");
    ended.says("rank 3 on c3");
    let running =
        start(&mut cluster.storm_run(&["-n", "4", "--ppn", "1", "sh", "-c", "echo here; exec sleep 1000"]));
    cluster.wait_for("the ranks", || running.processes().len() >= 4);
    // The script that entered the namespace has been replaced by storm.
    crate::run::kill(running.pid(), libc::SIGINT);
    assert_eq!(running.wait().code(), 130);
}

#[test]
fn a_deadlock_across_hosts_ends_with_the_report() {
    let cluster = Cluster::take();
    let program = Compiled::new(
        "#include <mpi.h>\nint main(int c, char **v) { int rank, size, x; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\
         MPI_Comm_size(MPI_COMM_WORLD, &size); MPI_Recv(&x, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\
         MPI_Finalize(); return 0; }\n",
    );
    let ended = run(&mut cluster.storm_run(&["-n", "4", "--ppn", "1", program.program().to_str().unwrap()]));
    assert_eq!(ended.code(), 125, "{ended:?}");
    ended.says("deadlock").says("MPI_Recv").says("tag 5");
    for rank in 0..4 {
        ended.says(&format!("rank {rank}"));
    }
}

#[test]
fn a_live_job_says_what_its_ranks_do() {
    let cluster = Cluster::take();
    let program = Compiled::new(
        "#include <mpi.h>\n#include <unistd.h>\nint main(int c, char **v) { int rank, x = 0; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\
         if (rank == 0) { sleep(8); MPI_Send(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD); }\
         if (rank == 1) MPI_Recv(&x, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\
         MPI_Finalize(); return 0; }\n",
    );
    let running = start(&mut cluster.storm_run(&[
        "-n",
        "2",
        "--ppn",
        "1",
        "--host",
        "c1,c2",
        program.program().to_str().unwrap(),
    ]));
    let jobs = || {
        let nodes = run(&mut cluster.login("storm", &["nodes", "--json"])).stdout;
        nodes
            .split("\"jobs\":[")
            .nth(2)
            .and_then(|rest| rest.split(']').next().map(str::to_owned))
            .unwrap_or_default()
    };
    cluster.wait_for("the job", || !jobs().is_empty());
    let job = jobs();
    cluster.wait_for("the receive in the report", || {
        let status = run(&mut cluster.login("storm", &["status", &job]));
        status.stdout.contains("MPI_Recv") && status.stdout.contains("c2")
    });
    running.wait().succeeds();
}

//! Who may do what: users, other users, and strangers on the network.

use crate::hosts::Cluster;
use crate::run::{run, start};

/// An account without rights that every system has.
const NOBODY: &str = "65534";

#[test]
fn ranks_run_as_the_user_who_submitted_them() {
    let cluster = Cluster::take();
    let storm = crate::run::prefix().join("bin/storm");
    let words = [
        "setpriv",
        "--reuid",
        NOBODY,
        "--regid",
        NOBODY,
        "--clear-groups",
        storm.to_str().unwrap(),
        "run",
        "-n",
        "2",
        "--ppn",
        "1",
        "--wdir",
        "/",
        "id",
        "-u",
    ];
    let ended = run(&mut cluster.on("login", &words)).succeeds();
    assert_eq!(ended.stdout, format!("{NOBODY}\n{NOBODY}\n"));
}

#[test]
fn a_user_sees_and_ends_no_job_of_another() {
    let cluster = Cluster::take();
    let running = start(&mut cluster.storm_run(&["-n", "1", "--host", "c0", "sh", "-c", "exec sleep 1000"]));
    cluster.wait_for("the rank", || !running.processes().is_empty());
    let storm = crate::run::prefix().join("bin/storm");
    // The last column of the table.
    let nodes = run(&mut cluster.login("storm", &["nodes"])).stdout;
    let row = nodes.lines().find(|line| line.starts_with("c0 ")).expect(&nodes);
    let job: u64 = row.split_whitespace().last().and_then(|job| job.parse().ok()).expect(&nodes);
    let words = [
        "setpriv",
        "--reuid",
        NOBODY,
        "--regid",
        NOBODY,
        "--clear-groups",
        storm.to_str().unwrap(),
        "status",
        &job.to_string(),
    ];
    let refused = run(&mut cluster.on("login", &words));
    assert_ne!(refused.code(), 0, "{refused:?}");
    assert_eq!(refused.stdout, "");
    crate::run::kill(running.pid(), libc::SIGTERM);
    running.wait();
}

#[test]
fn a_stranger_on_the_network_gets_nothing_but_a_closed_connection() {
    let cluster = Cluster::take();
    let running = start(&mut cluster.storm_run(&[
        "-n",
        "2",
        "--ppn",
        "1",
        "--host",
        "c0,c1",
        "sh",
        "-c",
        "exec sleep 1000",
    ]));
    cluster.wait_for("the ranks", || running.processes().len() >= 2);
    // Every port of the manager and of a node, from another host, without a credential: what answers, closes.
    let probe = "
import re, socket, subprocess, sys
heard = b''
target = sys.argv[1]
ports = {int(port) for port in sys.argv[2:]}
for port in ports:
    with socket.create_connection((target, port), 5) as end:
        end.settimeout(10)
        end.sendall(b'\\x16\\x03\\x01\\x00\\x05hello' + b'\\x00' * 64)
        try:
            while part := end.recv(4096):
                heard += part
        except ConnectionError:
            pass
print(len(heard))
";
    let ended = run(&mut cluster.on("c3", &["python3", "-c", probe, "10.47.0.1", "7410"])).succeeds();
    let heard: usize = ended.stdout.trim().parse().unwrap();
    assert!(heard < 64, "a TLS alert at most, and not {heard} bytes");
    crate::run::kill(running.pid(), libc::SIGTERM);
    running.wait();
}

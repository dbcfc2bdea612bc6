//! Who may do what: users, other users, and strangers on the network.

use crate::hosts::Cluster;
use bcs_harness::installation::prefix;
use bcs_harness::runs::{Running, run, start};
use bcs_harness::waiting::until;
use std::process::Command;

/// An account without rights that every system has.
const NOBODY: &str = "65534";

/// What makes a command that user's.
const AS_NOBODY: [&str; 6] = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"];

/// An installed program on the host that users log in to, as [`NOBODY`].
fn as_nobody(cluster: &Cluster, program: &str, words: &[&str]) -> Command {
    let program = prefix().join("bin").join(program);
    let mut all = AS_NOBODY.to_vec();
    all.push(program.to_str().expect("a path of letters"));
    all.extend(words);
    cluster.on("login", &all)
}

/// How many ranks of a job run that all sleep.
fn sleepers(running: &Running) -> usize {
    running.processes_called("sleep").len()
}

#[test]
fn ranks_run_as_the_user_who_submitted_them() {
    let cluster = Cluster::take();
    let words = ["run", "-n", "2", "--ppn", "1", "--wdir", "/", "id", "-u"];
    let ended = run(&mut as_nobody(&cluster, "storm", &words)).succeeds();
    assert_eq!(ended.stdout, format!("{NOBODY}\n{NOBODY}\n"));
}

#[test]
fn a_user_sees_and_ends_no_job_of_another() {
    let cluster = Cluster::take();
    let running = start(&mut cluster.storm_run(&["-n", "1", "--host", "c0", "sh", "-c", "exec sleep 1000"]));
    until("the rank", || sleepers(&running) == 1);
    // The last column of the table.
    let nodes = run(&mut cluster.login("storm", &["nodes"])).stdout;
    let row = nodes.lines().find(|line| line.starts_with("c0 ")).expect(&nodes);
    let job: u64 = row.split_whitespace().last().and_then(|job| job.parse().ok()).expect(&nodes);
    let refused = run(&mut as_nobody(&cluster, "storm", &["status", &job.to_string()]));
    assert_ne!(refused.code(), 0, "{refused:?}");
    assert_eq!(refused.stdout, "");
    // Nor does that user reach its processes, its NIC's memory, or its network: neither of the rank, nor of
    // the launcher.
    let rank = running.processes().into_iter().find(|pid| *pid != running.pid()).expect("a rank");
    let launcher = cluster.launchers("c0")[0];
    for pid in [rank, launcher] {
        let tries = format!(
            "kill -TERM {pid}; cat /proc/{pid}/environ; ls /proc/{pid}/fd/; head -c 1 /proc/{pid}/mem"
        );
        let tried = run(&mut cluster.on("c0", &[&AS_NOBODY[..], &["sh", "-c", &tries]].concat()));
        assert_eq!(tried.stdout, "", "{tried:?}");
        assert_eq!(
            tried.stderr.matches("denied").count() + tried.stderr.matches("not permitted").count(),
            4,
            "{tried:?}"
        );
    }
    assert_eq!(sleepers(&running), 1, "the job goes on");
    running.signal(libc::SIGTERM);
    running.wait();
}

/// Where a host listens to others, as `tcp:PORT` or `udp:PORT`.
fn open_ports(cluster: &Cluster, host: &str) -> Vec<String> {
    let mut ports = Vec::new();
    // A TCP socket that listens, a UDP socket that everybody may send to.
    for (kind, state) in [("tcp", "0A"), ("udp", "07")] {
        let [v4, v6] = ["", "6"].map(|version| format!("/proc/net/{kind}{version}"));
        let sockets = run(&mut cluster.on(host, &["cat", &v4, &v6])).succeeds().stdout;
        let fields = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        for socket in fields.filter(|fields| fields.get(3) == Some(&state)) {
            let (_, port) = socket[1].rsplit_once(':').expect(&sockets);
            ports.push(format!("{kind}:{}", u16::from_str_radix(port, 16).expect(&sockets)));
        }
    }
    ports
}

/// Says what is no TLS and no QUIC to ports of a host, and prints a line for each: the port, the bytes said,
/// and the bytes heard. A TCP port has ten seconds to close; UDP ports have one second to answer.
const PROBE: &str = r#"
import select, socket, sys, time
target = sys.argv[1]
datagrams = []
for kind, port in (word.split(':') for word in sys.argv[2:]):
    if kind == 'tcp':
        said, heard = b'\x16\x03\x01\x00\x05hello' + b'\x00' * 64, 0
        with socket.create_connection((target, int(port)), 5) as end:
            end.settimeout(10)
            end.sendall(said)
            try:
                while part := end.recv(4096):
                    heard += len(part)
            except ConnectionError:
                pass
        print(kind, port, len(said), heard)
    else:
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end.connect((target, int(port)))
        # Nothing of QUIC, the beginning of a handshake in a version that there is not, and a false one in one that there is.
        ids = b'\x08strangers'[:9] * 2
        said = [b'hello', b'\x4f' + b'x' * 99, b'\xc0abcd' + ids + b'\x00' * 1200, b'\xc0\x00\x00\x00\x01' + ids + b'\x00' * 1200]
        for datagram in said:
            end.send(datagram)
        datagrams.append([end, port, sum(map(len, said)), 0])
until = time.monotonic() + 1
while datagrams and (left := until - time.monotonic()) > 0:
    readable, _, _ = select.select([entry[0] for entry in datagrams], [], [], left)
    for entry in datagrams:
        if entry[0] in readable:
            try:
                entry[3] += len(entry[0].recv(65536))
            except ConnectionError:
                pass
for _, port, said, heard in datagrams:
    print('udp', port, said, heard)
"#;

#[test]
fn a_stranger_on_the_network_gets_nothing_but_a_closed_connection() {
    let cluster = Cluster::take();
    let job = ["-n", "2", "--ppn", "1", "--host", "c0,c1", "sh", "-c", "exec sleep 1000"];
    let running = start(&mut cluster.storm_run(&job));
    until("the ranks", || sleepers(&running) == 2);
    // Every port of the manager and of a node that runs the job, from another host, without a credential.
    // A node has one of the control network, and one of the job's.
    for (host, address, expected, least) in
        [("login", "10.47.0.1", "tcp:7410", 1), ("c0", "10.47.1.1", "udp:", 2)]
    {
        let ports = open_ports(&cluster, host);
        let found = ports.iter().filter(|port| port.starts_with(expected)).count();
        assert!(found >= least, "{host} listens on {ports:?}");
        let mut words = vec!["python3", "-c", PROBE, address];
        words.extend(ports.iter().map(String::as_str));
        let ended = run(&mut cluster.on("c3", &words)).succeeds();
        assert_eq!(ended.stdout.lines().count(), ports.len(), "{ended:?}");
        for line in ended.stdout.lines() {
            let [kind, _, said, heard] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let [said, heard] = [said, heard].map(|bytes| bytes.parse::<usize>().expect(line));
            // A TLS alert at most; of QUIC, that its version is another or that there is no such connection.
            let most = if kind == "tcp" { 64 } else { said / 10 };
            assert!(heard < most, "{host} answers a stranger: {line}");
        }
    }
    assert_eq!(sleepers(&running), 2, "the job goes on");
    assert_eq!(cluster.up(), crate::hosts::HOSTS, "and no host is lost");
    running.signal(libc::SIGTERM);
    running.wait();
}

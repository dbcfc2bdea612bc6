//! `storm` as a client, against a manager that says what the test wants: every byte, every signal and every
//! ending arrives, whatever goes wrong.

use crate::common::*;
use bcs_core::{JobId, Rank};
use bcs_harness::processes;
use bcs_harness::runs::{run, start, start_with};
use bcs_harness::waiting::{BOUND, await_some, until};
use bcs_protocol::node::{INPUT_CREDIT, OUTPUT_CREDIT};
use bcs_protocol::storm::{Mapping, NodeRow, NodeState, Reply, Request, Submission};
use bcs_stream as stream;
use bcs_stream::Receiver;
use program_launcher::verdict::{Exit, RankName, Verdict};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

/// A cluster's configuration, and the place of its manager's socket.
struct Cluster {
    directory: TempDir,
}

impl Cluster {
    fn new() -> Self {
        Self::at_port(1)
    }

    /// With a manager that is to be reached by TCP.
    fn at_port(port: u16) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        std::fs::create_dir(&run).unwrap();
        let text = format!(
            "[cluster]\nmanager = \"127.0.0.1\"\nport = {port}\n[[nodes]]\nhosts = \"c[0-1]\"\n[paths]\nrun = {:?}\nkeys = {:?}\n",
            run,
            directory.path().join("keys")
        );
        std::fs::write(directory.path().join("cluster.toml"), text).unwrap();
        Self { directory }
    }

    fn socket(&self) -> std::path::PathBuf {
        self.directory.path().join("run/manager.sock")
    }

    /// `storm` with these words, as a client of this cluster.
    fn storm(&self, arguments: &str) -> Command {
        let mut command = Command::new(storm_path());
        command
            .args(arguments.split_whitespace())
            .env("BCS_CONFIG", self.directory.path().join("cluster.toml"));
        command.env("BCS_CREDENTIAL", self.directory.path().join("user.pem"));
        command
    }

    /// A manager that serves one connection with `script`, in a thread of its own; and what the script comes
    /// to.
    fn manager<T: Send + 'static, F: Future<Output = T>>(
        &self,
        script: impl FnOnce(Peer) -> F + Send + 'static,
    ) -> std::thread::JoinHandle<T> {
        let listener = std::os::unix::net::UnixListener::bind(self.socket()).unwrap();
        listener.set_nonblocking(true).unwrap();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = UnixListener::from_std(listener).unwrap();
                let work = async {
                    let (stream, _) = listener.accept().await.unwrap();
                    script(Peer::new(stream)).await
                };
                tokio::time::timeout(BOUND, work).await.expect("the script ends")
            })
        })
    }
}

/// The other end of a `storm`'s connection.
struct Peer {
    requests: Receiver<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

impl Peer {
    fn new(stream: UnixStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self { requests: Receiver::new(reader), writer }
    }

    async fn request(&mut self) -> Option<Request> {
        self.requests.receive().await.unwrap()
    }

    async fn submission(&mut self) -> Submission {
        match self.request().await {
            Some(Request::Run(submission)) => *submission,
            other => panic!("not a submission: {other:?}"),
        }
    }

    async fn say(&mut self, reply: Reply) {
        stream::send(&mut self.writer, &reply).await.unwrap();
    }

    async fn accept(&mut self) -> Submission {
        let submission = self.submission().await;
        self.say(Reply::Accepted { job: JobId(7), hosts: vec!["c0".into(), "c1".into()] }).await;
        submission
    }

    async fn output(&mut self, node: u32, is_error: bool, bytes: impl Into<Vec<u8>>) {
        self.say(Reply::Output { node, is_error, bytes: bytes.into() }).await;
    }

    async fn over(&mut self, verdict: Verdict) {
        self.say(Reply::Over(verdict)).await;
    }

    /// All that is said until the connection closes.
    async fn rest(mut self) -> Vec<Request> {
        let mut rest = Vec::new();
        while let Ok(Some(request)) = self.requests.receive().await {
            rest.push(request);
        }
        rest
    }
}

fn failed(rank: u32, host: &str, code: u8) -> Verdict {
    let rank = RankName { rank, host: host.into(), program: None };
    Verdict::RankFailed { rank, exit: Exit::Code(code), output_gone: false }
}

fn taken(requests: &[Request]) -> [u32; 2] {
    let mut sums = [0; 2];
    for request in requests {
        if let Request::OutputTaken { node, bytes } = request {
            sums[*node as usize] += bytes;
        }
    }
    sums
}

#[test]
fn the_manager_is_told_the_job_the_wish_and_what_is_around_the_user() {
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        let submission = peer.accept().await;
        peer.over(Verdict::Success).await;
        submission
    });
    let place = tempfile::tempdir().unwrap();
    let here = place.path().canonicalize().unwrap();
    let mut command =
        cluster.storm("run -n 3 --ppn 2 --host c1,c0:4 --map-by node --stdin 2 -x A=b ./prog one");
    run(command.current_dir(&here).env("STORM_TEST_SEEN", "yes")).succeeds_quietly();
    let Submission { job, wish, surroundings } = manager.join().unwrap();
    assert_eq!((job.applications[0].ranks, job.applications[0].program.to_str()), (3, Some("./prog")));
    assert_eq!(
        (job.applications[0].arguments.len(), job.stdin),
        (1, program_launcher::StdinTo::Rank(Rank(2)))
    );
    assert_eq!((wish.ranks_per_node, wish.nodes, wish.mapping), (Some(2), None, Mapping::Node));
    assert_eq!(
        wish.hosts.iter().map(|host| (&*host.host, host.slots)).collect::<Vec<_>>(),
        [("c1", Some(1)), ("c0", Some(4))]
    );
    assert_eq!(surroundings.directory, here);
    assert!(surroundings.environment.contains(&("STORM_TEST_SEEN".into(), "yes".into())));
    // SAFETY: sets a number of this process, and sets it back; what other threads make meanwhile has the mode
    // 666 or 777 less 022.
    let umask = unsafe { libc::umask(0o022) };
    // SAFETY: as above.
    unsafe { libc::umask(umask) };
    assert_eq!(surroundings.umask, umask);
}

#[test]
fn output_is_written_byte_by_byte_and_acknowledged_when_it_is() {
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        peer.accept().await;
        peer.output(1, false, vec![0, 0xff, b'a']).await;
        peer.output(0, true, "warning\n").await;
        peer.output(0, false, vec![b'x'; 200_000]).await;
        peer.output(1, false, "end").await;
        peer.over(Verdict::Success).await;
        peer.rest().await
    });
    let mut running = start(&mut cluster.storm("run a"));
    let mut bytes = Vec::new();
    running.child.stdout.as_mut().unwrap().read_to_end(&mut bytes).unwrap();
    let ran = running.wait();
    let expected = [&[0, 0xff, b'a'][..], &[b'x'; 200_000], b"end"].concat();
    assert!(bytes == expected, "{} bytes", bytes.len());
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, "warning\n"));
    let rest = manager.join().unwrap();
    let sums = taken(&rest);
    // What is written after the end of the job need not be told any more.
    assert!(sums[0] <= 200_008 && sums[1] <= 6, "{sums:?}");
}

#[test]
fn a_reader_that_is_slow_holds_up_neither_the_manager_nor_signals() {
    let cluster = Cluster::new();
    let (tell, told_of_signal) = std::sync::mpsc::channel();
    let manager = cluster.manager(async move |mut peer| {
        peer.accept().await;
        for _ in 0..OUTPUT_CREDIT / 8192 {
            peer.output(0, false, vec![b'x'; 8192]).await;
        }
        // Nobody reads the pipe yet, and the signal comes all the same.
        let mut told = 0;
        let signal = loop {
            match peer.request().await.expect("a signal") {
                Request::OutputTaken { bytes, .. } => told += bytes,
                Request::Forward(signal) => break signal,
                Request::Input(_) => {}
                other => panic!("{other:?}"),
            }
        };
        assert!(told < OUTPUT_CREDIT, "{told} bytes are in a pipe of 64 KiB");
        tell.send(()).unwrap();
        while told < OUTPUT_CREDIT {
            if let Some(Request::OutputTaken { bytes, .. }) = peer.request().await {
                told += bytes;
            }
        }
        peer.over(Verdict::Success).await;
        signal
    });
    let running = start(&mut cluster.storm("run a"));
    until("a full pipe", || {
        let mut waiting = 0;
        let pipe = std::os::fd::AsRawFd::as_raw_fd(running.child.stdout.as_ref().unwrap());
        // SAFETY: FIONREAD writes an integer.
        unsafe { libc::ioctl(pipe, libc::FIONREAD, &mut waiting) };
        waiting >= 60_000
    });
    running.signal(libc::SIGUSR1);
    // Only then is the pipe read. If the manager fails instead, its thread says why.
    let _ = told_of_signal.recv_timeout(BOUND);
    let ran = running.wait();
    assert_eq!(manager.join().unwrap(), libc::SIGUSR1);
    assert_eq!((ran.code(), ran.stdout.len()), (0, OUTPUT_CREDIT as usize));
}

#[test]
fn labelled_lines_of_several_nodes_are_not_mixed() {
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        assert!(peer.accept().await.job.labels);
        peer.output(0, false, "[0] hel").await;
        peer.output(1, false, "[1] wor").await;
        peer.output(0, false, "lo\n[0] a").await;
        peer.output(1, false, "ld\n").await;
        peer.output(0, false, "gain").await;
        peer.over(Verdict::Success).await;
    });
    let ran = run(&mut cluster.storm("run -l a"));
    assert_eq!(ran.succeeds_quietly().stdout, "[0] hello\n[1] world\n[0] again");
    manager.join().unwrap();
}

#[test]
fn input_is_sent_as_far_as_the_credit_goes_and_to_its_end() {
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        peer.accept().await;
        let (mut all, mut in_flight) = (Vec::new(), 0_u32);
        loop {
            match peer.request().await {
                Some(Request::Input(bytes)) if bytes.is_empty() => break,
                Some(Request::Input(bytes)) => {
                    in_flight += bytes.len() as u32;
                    assert!(in_flight <= INPUT_CREDIT, "{in_flight} bytes without leave");
                    all.extend_from_slice(&bytes);
                }
                other => panic!("{other:?}"),
            }
            if in_flight == INPUT_CREDIT || all.len() > 900_000 {
                let bytes = std::mem::take(&mut in_flight);
                peer.say(Reply::InputTaken { bytes, closed: false }).await;
            }
        }
        peer.over(Verdict::Success).await;
        all
    });
    let input: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
    let mut running = start_with(&mut cluster.storm("run a"), Stdio::piped());
    let mut stdin = running.child.stdin.take().unwrap();
    let feeder = std::thread::spawn({
        let input = input.clone();
        move || stdin.write_all(&input).unwrap()
    });
    running.wait().succeeds_quietly();
    feeder.join().unwrap();
    assert!(manager.join().unwrap() == input);
}

#[test]
fn input_that_nobody_reads_is_not_read_and_its_writer_sees_that() {
    for (option, closes) in [("--stdin none", false), ("", true)] {
        let cluster = Cluster::new();
        let manager = cluster.manager(async move |mut peer| {
            peer.accept().await;
            if closes {
                assert!(matches!(peer.request().await, Some(Request::Input(_))));
                peer.say(Reply::InputTaken { bytes: 1, closed: true }).await;
            }
            // Until the writer has seen it, and the user ends the job.
            let signal = loop {
                match peer.request().await {
                    Some(Request::Forward(signal)) => break signal,
                    Some(Request::Input(bytes)) => assert!(closes && !bytes.is_empty()),
                    other => panic!("{other:?}"),
                }
            };
            peer.over(Verdict::Interrupted { signal, status: 143 }).await;
        });
        let mut running = start_with(&mut cluster.storm(&format!("run {option} a")), Stdio::piped());
        let mut stdin = running.child.stdin.take().unwrap();
        let broken = await_some("a broken pipe", || stdin.write_all(&[b'x'; 4096]).err());
        assert_eq!(broken.kind(), std::io::ErrorKind::BrokenPipe);
        running.signal(libc::SIGTERM);
        running.wait().fails_with(143, &["storm: the job was ended by SIGTERM"]);
        manager.join().unwrap();
    }
}

#[test]
fn signals_reach_the_job_in_order_and_stop_means_stop() {
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        peer.accept().await;
        let mut signals = Vec::new();
        while signals.last() != Some(&libc::SIGINT) {
            match peer.request().await {
                Some(Request::Forward(signal)) => {
                    signals.push(signal);
                    // So that there is one signal at a time: the kernel gives the lowest first of those that
                    // wait.
                    if matches!(signal, libc::SIGUSR2 | libc::SIGCONT) {
                        peer.output(0, false, "once\n").await;
                    }
                }
                Some(Request::Input(_) | Request::OutputTaken { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        peer.over(Verdict::Interrupted { signal: libc::SIGINT, status: 130 }).await;
        signals
    });
    let mut running = start(&mut cluster.storm("run a"));
    let pid = running.pid();
    // Signals are caught from before the submission is sent, and this is sent back after it.
    until("the client", || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t")).unwrap();
        u64::from_str_radix(blocked, 16).unwrap() & 1 << (libc::SIGUSR2 - 1) != 0
    });
    running.signal(libc::SIGUSR2);
    let mut word = [0; 5];
    running.child.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
    running.signal(libc::SIGTSTP);
    until("the stop", || processes::state(pid) == 'T');
    running.signal(libc::SIGCONT);
    running.child.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
    running.signal(libc::SIGINT);
    running.wait().fails_with(130, &["the job was ended by SIGINT (interrupt)"]);
    assert_eq!(manager.join().unwrap(), [libc::SIGUSR2, libc::SIGTSTP, libc::SIGCONT, libc::SIGINT]);
}

#[test]
fn a_manager_that_does_not_end_the_job_is_left_at_the_third_interrupt() {
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        peer.accept().await;
        peer.output(0, false, "ready").await;
        peer.rest().await
    });
    let mut running = start(&mut cluster.storm("run --stdin none a"));
    running.child.stdout.as_mut().unwrap().read_exact(&mut [0; 5]).unwrap();
    let pid = running.pid();
    for _ in 0..3 {
        running.signal(libc::SIGINT);
        // Two that come at once are one.
        until("the signal to be taken", || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let pending =
                |name| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or("0");
            let is_pending =
                u64::from_str_radix(pending("ShdPnd:"), 16).unwrap() & 1 << (libc::SIGINT - 1) != 0;
            !is_pending
        });
    }
    running.wait().fails_with(130, &["given up"]);
    let rest = manager.join().unwrap();
    assert_eq!(rest.iter().filter(|request| matches!(request, Request::Forward(libc::SIGINT))).count(), 2);
}

#[test]
fn verdicts_and_remarks_are_told_as_on_one_node() {
    for (verdict, status, message) in [
        (failed(3, "c02", 7), 7, "storm: look at this\nstorm: rank 3 on c02 exited with code 7\n"),
        (
            Verdict::Stuck("deadlock: all wait\n  rank 0\n".into()),
            125,
            "storm: look at this\nstorm: deadlock: all wait\n  rank 0\n",
        ),
        (Verdict::Success, 0, "storm: look at this\n"),
    ] {
        let cluster = Cluster::new();
        let manager = cluster.manager(async move |mut peer| {
            peer.accept().await;
            peer.say(Reply::Remark("look at this".into())).await;
            peer.over(verdict).await;
        });
        let ran = run(&mut cluster.storm("run -n 4 a"));
        assert_eq!((ran.code(), ran.stderr.as_str()), (status, message));
        manager.join().unwrap();
    }
}

#[test]
fn a_refusal_is_one_line_with_its_status() {
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        peer.submission().await;
        let reason = "-n 9 with --ppn 2 needs 5 nodes, and 4 are up".into();
        peer.say(Reply::Refused { reason, status: 1 }).await;
    });
    run(&mut cluster.storm("run -n 9 --ppn 2 a")).fails_with(1, &["storm: -n 9 with --ppn 2 needs 5 nodes"]);
    manager.join().unwrap();
}

#[test]
fn a_manager_that_goes_away_in_the_middle_is_one_line_and_status_125() {
    for cut in [&b""[..], &[9, 0]] {
        let cluster = Cluster::new();
        let manager = cluster.manager(async move |mut peer| {
            peer.accept().await;
            peer.output(0, false, "something\n").await;
            peer.writer.write_all(cut).await.unwrap();
        });
        run(&mut cluster.storm("run a")).fails_with(125, &["the machine manager at ", "is gone"]);
        manager.join().unwrap();
    }
}

#[test]
fn a_reply_that_is_none_is_one_line_and_status_125() {
    for nonsense in [vec![0xff; 64], [&60_u32.to_le_bytes()[..], &[0xee; 60]].concat()] {
        let cluster = Cluster::new();
        let manager = cluster.manager(async move |mut peer| {
            peer.accept().await;
            peer.writer.write_all(&nonsense).await.unwrap();
            peer.rest().await;
        });
        run(&mut cluster.storm("run a")).fails_with(125, &["same release"]);
        manager.join().unwrap();
    }
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        peer.request().await;
        peer.say(Reply::Status("busy".into())).await;
    });
    run(&mut cluster.storm("nodes")).fails_with(125, &["was not asked for"]);
    manager.join().unwrap();
}

#[test]
fn output_that_nobody_reads_ends_the_job_as_a_broken_pipe_does() {
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        peer.accept().await;
        peer.output(0, false, "first\n").await;
        // More after the reader has gone, which asks for that by a signal; and not once only: a process that
        // another test is about to execute has the pipe's other end until it does.
        while !matches!(peer.request().await, Some(Request::Forward(_))) {}
        let more = Reply::Output { node: 0, is_error: false, bytes: b"more\n".into() };
        while stream::send(&mut peer.writer, &more).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let mut running = start(&mut cluster.storm("run a"));
    let mut stdout = running.child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 6]).unwrap();
    drop(stdout);
    running.signal(libc::SIGUSR1);
    let ran = running.wait();
    assert_eq!((ran.code(), ran.stderr.as_str()), (141, ""));
    manager.join().unwrap();
}

#[test]
fn output_that_cannot_be_written_is_told() {
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        peer.accept().await;
        peer.output(0, false, "much\n").await;
        peer.rest().await
    });
    let mut command = Command::new("sh");
    let storm = format!("exec {} run a > /dev/full", storm_path().display());
    command.args(["-c", &storm]).env("BCS_CONFIG", cluster.directory.path().join("cluster.toml"));
    run(&mut command).fails_with(1, &["cannot write the output of the job", "No space left"]);
    manager.join().unwrap();
}

#[test]
fn a_manager_that_is_not_there_is_told_with_what_to_do() {
    let cluster = Cluster::new();
    for verb in ["run -n 2 a", "nodes", "status 3"] {
        let ran = run(&mut cluster.storm(verb));
        ran.fails_with(
            125,
            &["does not run on this host", "manager.sock", "storm cluster user", "127.0.0.1"],
        );
    }
    drop(std::os::unix::net::UnixListener::bind(cluster.socket()).unwrap());
    run(&mut cluster.storm("run a")).fails_with(125, &["does not answer at", "manager.sock", "systemctl"]);
    std::fs::remove_file(cluster.socket()).unwrap();
    let credential = bcs_credentials::Authority::new("x").unwrap().issue("user.alice").unwrap();
    credential.store(&cluster.directory.path().join("user.pem")).unwrap();
    run(&mut cluster.storm("run a")).fails_with(125, &["cannot reach the machine manager at 127.0.0.1:1"]);
}

#[test]
fn the_credential_of_a_host_is_refused_with_whose_it_is_and_which_to_ask_for() {
    let authority = bcs_credentials::Authority::new("cluster").unwrap();
    for (name, owner) in [("c0", "host 'c0'"), ("manager", "the machine manager")] {
        let cluster = Cluster::new();
        authority.issue(name).unwrap().store(&cluster.directory.path().join("user.pem")).unwrap();
        let whose = format!("user.pem is the credential of {owner}, ");
        for verb in ["run a", "nodes"] {
            let ran = run(&mut cluster.storm(verb));
            ran.fails_with(125, &[&whose, "storm cluster user NAME makes one on 127.0.0.1"]);
        }
    }
}

#[test]
fn a_user_elsewhere_and_the_manager_prove_to_each_other_who_they_are() {
    let authority = bcs_credentials::Authority::new("cluster").unwrap();
    let stranger = bcs_credentials::Authority::new("stranger").unwrap();
    for (manager, message) in [
        (authority.issue("manager").unwrap(), None),
        (stranger.issue("manager").unwrap(), Some("do not trust each other")),
        (authority.issue("c0").unwrap(), Some("do not trust each other")),
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let cluster = Cluster::at_port(listener.local_addr().unwrap().port());
        authority.issue("user.alice").unwrap().store(&cluster.directory.path().join("user.pem")).unwrap();
        let served = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let ends = stream::SecureEnds::new(&manager, bcs_protocol::storm::ALPN).unwrap();
                let (socket, _) = listener.accept().await.unwrap();
                let (stream, name) = ends.accept(socket).await.ok()?;
                let (reader, mut writer) = tokio::io::split(stream);
                let request = Receiver::new(reader).receive::<Request>().await.ok()??;
                assert!(matches!(request, Request::Run(_)), "{request:?}");
                stream::send(&mut writer, &Reply::Over(Verdict::Success)).await.unwrap();
                writer.shutdown().await.unwrap();
                Some(name)
            })
        });
        let ran = run(&mut cluster.storm("run a"));
        match message {
            None => {
                ran.succeeds_quietly();
                assert_eq!(served.join().unwrap().as_deref(), Some("user.alice"));
            }
            Some(words) => {
                ran.fails_with(125, &[words]);
                assert_eq!(served.join().unwrap(), None);
            }
        }
    }
}

#[test]
fn nodes_and_status_are_printed() {
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        assert_eq!(peer.request().await, Some(Request::Nodes));
        let row = NodeRow {
            host: "c0".into(),
            state: NodeState::Up,
            cores: 2,
            memory: 1 << 30,
            card: None,
            ranks: 3,
            jobs: vec![JobId(4)],
        };
        peer.say(Reply::Nodes(vec![row])).await;
    });
    let ran = run(&mut cluster.storm("nodes"));
    assert_eq!(
        ran.succeeds_quietly().stdout,
        "HOST  STATE  CORES  MEMORY   RDMA  RANKS  JOBS\nc0    up     2      1.0 GiB  -     3      4\n"
    );
    manager.join().unwrap();
    std::fs::remove_file(cluster.socket()).unwrap();
    let manager = cluster.manager(async |mut peer| {
        assert_eq!(peer.request().await, Some(Request::Status { job: JobId(4) }));
        peer.say(Reply::Status("rank 0: computes".into())).await;
    });
    assert_eq!(run(&mut cluster.storm("status 4")).succeeds_quietly().stdout, "rank 0: computes\n");
    manager.join().unwrap();
}

#[test]
fn one_machine_alone_needs_no_manager() {
    let cluster = Cluster::new();
    assert_eq!(run(&mut cluster.storm("run --local -n 1 echo here")).succeeds_quietly().stdout, "here\n");
    let ran = run(cluster.storm("run -n 1 echo here").env("BCS_CONFIG", ""));
    assert_eq!(ran.succeeds_quietly().stdout, "here\n");
    run(&mut cluster.storm("run --local --host c1 true"))
        .fails_with(1, &["unknown host \"c1\": --local leaves the cluster out"]);
    run(cluster.storm("nodes").env("BCS_CONFIG", "")).fails_with(1, &["no cluster is configured"]);
    run(cluster.storm("run true").env("BCS_CONFIG", "/no/such/file")).fails_with(1, &["/no/such/file"]);
}

#[test]
fn keys_of_a_cluster_are_made_from_its_configuration() {
    let cluster = Cluster::new();
    let ran = run(&mut cluster.storm("cluster init"));
    for word in ["authority.pem", "manager.pem", "made", "c0.pem", "c1.pem", "HOST.pem"] {
        assert!(ran.succeeds_quietly().stdout.contains(word), "{ran:?}");
    }
    let keys = cluster.directory.path().join("keys");
    assert!(
        ["authority", "manager", "c0", "c1"].iter().all(|name| keys.join(format!("{name}.pem")).exists())
    );
    assert_eq!(run(&mut cluster.storm("cluster hosts")).succeeds_quietly().stdout, "c0\nc1\n");
    assert!(!run(&mut cluster.storm("cluster init")).succeeds_quietly().stdout.contains("made"));
    let ran = run(&mut cluster.storm("cluster user alice"));
    assert!(ran.succeeds_quietly().stdout.contains("user.alice.pem"), "{ran:?}");
    run(&mut cluster.storm("cluster user alice")).fails_with(1, &["there already"]);
    let ran = run(&mut cluster.storm("cluster add c9"));
    assert!(ran.succeeds_quietly().stdout.contains("does not name c9 yet"), "{ran:?}");
    run(&mut cluster.storm("cluster init --config /no/such/file")).fails_with(1, &["/no/such/file"]);
    assert!(Path::new(&keys.join("c9.pem")).exists());
}

#[test]
fn a_manager_that_is_slow_to_accept_is_waited_for() {
    let cluster = Cluster::new();
    let manager = cluster.manager(async |mut peer| {
        peer.submission().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        peer.over(failed(0, "c1", 9)).await;
    });
    run(&mut cluster.storm("run a")).fails_with(9, &["rank 0 on c1"]);
    manager.join().unwrap();
}

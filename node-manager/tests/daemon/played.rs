//! A machine manager that a test plays, and the real `node-manager` daemons that it plays with: their
//! configuration, credentials and processes.

use bcs_core::PortRange;
use bcs_core::wire;
use bcs_core::{EventTable, JobId, NodeId, NodeSet, SparseMemory};
use bcs_credentials::{Authority, Credential};
use bcs_fabric::{Assignment, Comparison, Condition, Fabric};
use bcs_harness::built;
use bcs_protocol::commit;
use bcs_protocol::node::{ALPN, CommonPart, FromNode, LaunchOrder, ToNode, User, VERSION};
use bcs_quic::{NetworkId, QuicFabric, QuicOptions, QuicPort};
use bcs_stream as stream;
use bcs_stream::{Receiver, SecureEnds, StreamError};
use program_launcher::control::{Command, Notice};
use program_launcher::launch::{Member, Surroundings};
use program_launcher::{Application, Job, Verdict};
use std::fs;
use std::future::Future;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsStream;

/// The UDP ports that networks may take by the configuration.
const PORTS: &str = "21000-21999";

/// Whether an end of a network is where the configuration wants it.
pub fn is_in_range(ports: PortRange, address: SocketAddr) -> bool {
    ports.ports().contains(&address.port())
}

/// No wait of a test is longer.
pub const BOUND: Duration = Duration::from_secs(30);

/// Another user than who runs the tests, if that is root.
pub const NOBODY: u32 = 65534;

/// Runs a test's conversation.
pub fn play<F: Future<Output = ()>>(task: impl FnOnce() -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(BOUND * 2, task()).await.expect("the test takes too long") });
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A cluster of two nodes, `n1` and `n2`, in a directory of its own. Most tests have no use for the second.
pub struct Cluster {
    pub directory: TempDir,
    pub authority: Authority,
    pub listener: TcpListener,
    pub ports: PortRange,
    ends: SecureEnds,
    credential: Credential,
}

impl Cluster {
    pub async fn new() -> Self {
        Self::with_ports(PORTS).await
    }

    /// Whose networks take their UDP ports of these.
    pub async fn with_ports(ports: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // Other users execute the launcher that is in it.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("keys")).unwrap();
        fs::create_dir(path("bin")).unwrap();
        for name in ["node-manager", "program-launcher"] {
            let (built, copy) = (built::program(name), path("bin").join(name));
            fs::hard_link(&built, &copy).or_else(|_| fs::copy(&built, &copy).map(drop)).unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = format!(
            "[cluster]\nname = \"test\"\nmanager = \"127.0.0.1\"\nport = {port}\n[[nodes]]\nhosts = \"n[1-2]\"\ncores = 2\n\
             [network]\nports = \"{ports}\"\n[paths]\nkeys = {:?}\n",
            path("keys")
        );
        fs::write(path("cluster.toml"), config).unwrap();
        let authority = Authority::new("test").unwrap();
        let credential = authority.issue("manager").unwrap();
        for host in ["n1", "n2"] {
            authority.issue(host).unwrap().store(&path(&format!("keys/{host}.pem"))).unwrap();
        }
        let ends = SecureEnds::new(&credential, ALPN).unwrap();
        let ports = ports.parse().unwrap();
        Self { directory, authority, listener, ports, ends, credential }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A shell script that all may execute. Another process writes it: a daemon that another test forks
    /// would hold a descriptor of ours for a moment, and what is open for writing is not executed
    /// (ETXTBSY).
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
        let status =
            std::process::Command::new("sh").args(["-c", write]).arg(&path).arg(text).status().unwrap();
        assert!(status.success(), "{}: {status}", path.display());
        path
    }

    /// Starts the daemon of `n1`.
    pub fn start(&self) -> Daemon {
        self.start_with(|command| command)
    }

    pub fn start_with(
        &self,
        adapt: impl FnOnce(&mut std::process::Command) -> &mut std::process::Command,
    ) -> Daemon {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let log = self.path(&format!("log-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
        let mut command = std::process::Command::new(self.path("bin/node-manager"));
        command.arg("--config").arg(self.path("cluster.toml")).args(["--host", "n1", "--log", "debug"]);
        command.env_clear().stdin(Stdio::null()).stderr(fs::File::create(&log).unwrap());
        adapt(&mut command);
        Daemon { child: command.spawn().unwrap(), log }
    }

    /// Accepts a connection, whoever makes it.
    pub async fn accept(&self) -> Result<(TlsStream<TcpStream>, String), StreamError> {
        let (socket, _) = timeout(BOUND, self.listener.accept()).await.expect("nobody connects").unwrap();
        self.ends.accept(socket).await
    }

    /// Shows another credential than the manager's from now on.
    pub fn pose_as(&mut self, impostor: &Credential) {
        self.ends = SecureEnds::new(impostor, ALPN).unwrap();
    }

    /// Accepts the node manager and welcomes it.
    pub async fn welcome(&self) -> Manager {
        let (stream, name) = self.accept().await.unwrap();
        let (reader, writer) = tokio::io::split(stream);
        let mut manager = Manager {
            node: name,
            receiver: Receiver::new(reader),
            writer,
            fabric: None,
            ports: self.ports,
            credential: self.credential.clone(),
            heard: Vec::new(),
        };
        let hello = manager.next().await;
        assert!(
            matches!(hello, FromNode::Hello { version: VERSION, cores: 2, memory: 1.., .. }),
            "{hello:?}"
        );
        manager.send(ToNode::Welcome { heartbeat_ms: 100, missed: 3 }).await;
        manager
    }

    /// A node manager that has joined, and the manager that it has joined, in a first view.
    pub async fn joined(&self) -> (Daemon, Manager) {
        let daemon = self.start();
        let mut manager = self.welcome().await;
        manager.make_view(1).await;
        (daemon, manager)
    }
}

/// A running daemon, which does not outlive its test.
pub struct Daemon {
    pub child: Child,
    pub log: PathBuf,
}

impl Daemon {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits for its end by itself.
    pub async fn ended(&mut self) -> std::process::ExitStatus {
        let mut status = None;
        until("the daemon ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        })
        .await;
        status.unwrap()
    }

    pub async fn logs(&self, text: &str) {
        until(&format!("the daemon logs {text:?}"), || self.log().contains(text)).await;
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the log of the daemon:\n{}", fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

/// A file that can be opened, and so executed, only once this is gone (a lease: fcntl(2)).
pub struct Lease(fs::File);

impl Lease {
    pub async fn take(path: &Path) -> Self {
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        // SAFETY: neither call touches memory of ours. Who waits for the lease is told by a signal that is
        // ignored.
        until("nobody else has the file open", || unsafe {
            libc::fcntl(file.as_raw_fd(), SETSIG, libc::SIGURG) == 0
                && libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) == 0
        })
        .await;
        Self(file)
    }

    /// Whether somebody waits for it.
    pub fn is_wanted(&self) -> bool {
        // SAFETY: touches no memory. It says to what the lease is to be changed.
        unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_GETLEASE) != libc::F_WRLCK }
    }
}

/// `F_SETSIG` of Linux.
const SETSIG: i32 = 10;

/// Ports that somebody else has bound.
pub struct Occupied(Vec<UdpSocket>);

impl Occupied {
    /// All of a range that are free.
    pub fn all(ports: PortRange) -> Self {
        Self(ports.ports().filter_map(|port| UdpSocket::bind(("127.0.0.1", port)).ok()).collect())
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// A notice as a launcher says it.
pub fn frame(notice: &Notice) -> Vec<u8> {
    wire::encode_frame(notice).unwrap()
}

/// Waits until something is so.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + BOUND;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The machine manager's end of the stream to the node, and of the control network.
pub struct Manager {
    /// The node.
    pub node: String,
    receiver: Receiver<ReadHalf<TlsStream<TcpStream>>>,
    writer: WriteHalf<TlsStream<TcpStream>>,
    pub fabric: Option<QuicFabric>,
    pub ports: PortRange,
    credential: Credential,
    /// What came while something else was waited for.
    heard: Vec<FromNode>,
}

impl Manager {
    pub async fn send(&mut self, message: ToNode) {
        stream::send(&mut self.writer, &message).await.unwrap();
    }

    pub async fn tell(&mut self, job: u64, command: Command) {
        self.send(ToNode::Launcher { job: JobId(job), command }).await;
    }

    /// The next message, or none at the end of the stream; the control network goes on meanwhile.
    pub async fn receive(&mut self) -> Option<FromNode> {
        if !self.heard.is_empty() {
            return Some(self.heard.remove(0));
        }
        self.receive_new().await
    }

    async fn receive_new(&mut self) -> Option<FromNode> {
        let deadline = Instant::now() + BOUND;
        loop {
            tokio::select! {
                message = self.receiver.receive() => return message.ok().flatten(),
                () = tokio::time::sleep(Duration::from_millis(1)) => {
                    assert!(Instant::now() < deadline, "the node says nothing");
                    if let Some(fabric) = &mut self.fabric {
                        fabric.progress().unwrap();
                    }
                }
            }
        }
    }

    pub async fn next(&mut self) -> FromNode {
        self.receive().await.expect("the stream ended")
    }

    /// The first message that this takes; the others stay.
    pub async fn next_that<T>(&mut self, mut take: impl FnMut(&FromNode) -> Option<T>) -> T {
        let mut looked_at = 0;
        loop {
            while let Some(message) = self.heard.get(looked_at) {
                match take(message) {
                    Some(taken) => {
                        self.heard.remove(looked_at);
                        return taken;
                    }
                    None => looked_at += 1,
                }
            }
            let message = self
                .receive_new()
                .await
                .unwrap_or_else(|| panic!("the stream ended; heard {:?}", self.heard));
            self.heard.push(message);
        }
    }

    /// The next notice of a job that this takes.
    pub async fn notice<T>(&mut self, job: u64, mut take: impl FnMut(&Notice) -> Option<T>) -> T {
        self.next_that(|message| match message {
            FromNode::Launcher { job: its, notice } if its.0 == job => take(notice),
            _ => None,
        })
        .await
    }

    pub async fn prepared(&mut self, job: u64) {
        self.notice(job, |notice| matches!(notice, Notice::Prepared).then_some(())).await;
    }

    pub async fn started(&mut self, job: u64) -> Vec<u32> {
        self.notice(job, |notice| match notice {
            Notice::Started(pids) => Some(pids.clone()),
            _ => None,
        })
        .await
    }

    pub async fn verdict(&mut self, job: u64) -> Verdict {
        self.notice(job, |notice| match notice {
            Notice::Over(verdict) => Some(verdict.clone()),
            _ => None,
        })
        .await
    }

    /// The job's ranks leave, the job is finished, and is over.
    pub async fn finished(&mut self, job: u64) -> Verdict {
        self.notice(job, |notice| matches!(notice, Notice::RanksGone(_)).then_some(())).await;
        self.tell(job, Command::Finish).await;
        self.verdict(job).await
    }

    /// So much of the output of a job, what was heard of it included; it is taken as it comes.
    pub async fn output(&mut self, job: u64, is_error: bool, bytes: usize) -> Vec<u8> {
        let mut output = Vec::new();
        while output.len() < bytes {
            let chunk = self
                .next_that(|message| match message {
                    FromNode::Output { job: its, is_error: kind, bytes }
                        if its.0 == job && *kind == is_error =>
                    {
                        Some(bytes.clone())
                    }
                    _ => None,
                })
                .await;
            let taken = u32::try_from(chunk.len()).unwrap();
            self.send(ToNode::OutputTaken { job: JobId(job), bytes: taken }).await;
            output.extend(chunk);
        }
        output
    }

    /// Makes a view of the manager and the node, and waits until the control network is up.
    pub async fn make_view(&mut self, view: u64) {
        let network = 0x1000 + u128::from(view);
        let credential = self.credential.clone();
        let options = QuicOptions {
            idle_timeout: BOUND,
            connect_timeout: BOUND,
            ..QuicOptions::new(NetworkId(network), credential, [127, 0, 0, 1].into())
        };
        let port = QuicPort::bind(options).unwrap();
        self.send(ToNode::Bind { view, network }).await;
        let address = self
            .next_that(|message| match message {
                FromNode::Bound { view: its, address } if *its == view => Some(*address),
                _ => None,
            })
            .await;
        assert!(is_in_range(self.ports, address), "{address}");
        let own = port.local_address();
        let roster = vec![
            Member { name: "manager".into(), address: own },
            Member { name: self.node.clone(), address },
        ];
        self.send(ToNode::View { view, roster: roster.clone() }).await;
        let memory = SparseMemory::new(commit::MEMORY_BYTES);
        let mut fabric = port.connect(roster, memory, EventTable::new(commit::EVENTS)).unwrap();
        fabric.begin_connect_all();
        let old = self.fabric.replace(fabric);
        // What the node says to the old end has nobody to listen to it.
        drop(old);
        let deadline = Instant::now() + BOUND;
        while !self.fabric.as_ref().unwrap().unconnected().is_empty() {
            assert!(Instant::now() < deadline, "the control network does not come up");
            self.drive().await;
        }
    }

    async fn drive(&mut self) {
        self.fabric.as_mut().unwrap().progress().unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    /// Asks a question on the node, and waits for the answer.
    pub async fn ask(&mut self, comparison: Comparison, assignment: Option<Assignment>) -> bool {
        let nodes = NodeSet::single(NodeId(1));
        let ticket = self.fabric.as_mut().unwrap().compare_and_write(&nodes, comparison, assignment).unwrap();
        loop {
            self.drive().await;
            if let Some(answer) = self.fabric.as_mut().unwrap().test_query(ticket) {
                return answer.unwrap();
            }
        }
    }

    /// Whether the node shows this job as prepared.
    pub async fn shows(&mut self, slot: u32, job: u64) -> bool {
        let variable = commit::prepared(slot);
        self.ask(Comparison { variable, condition: Condition::Equal, value: job }, None).await
    }

    /// Commits a launch: asks until the node shows it as prepared.
    pub async fn commit(&mut self, slot: u32, job: u64) {
        let variable = commit::prepared(slot);
        let comparison = Comparison { variable, condition: Condition::Equal, value: job };
        let assignment = Assignment { variable: commit::go(slot), value: job };
        let deadline = Instant::now() + BOUND;
        while !self.ask(comparison, Some(assignment)).await {
            assert!(Instant::now() < deadline, "the node does not show the job as prepared");
        }
    }

    /// Launches a job of one rank that runs a shell script, up to its start.
    pub async fn run(&mut self, order: LaunchOrder) -> Vec<u32> {
        let (job, slot) = (order.job.0, order.slot);
        self.send(ToNode::Launch(Box::new(order))).await;
        self.prepared(job).await;
        self.commit(slot, job).await;
        self.started(job).await
    }
}

/// An order to run a shell script with one rank, as who runs the test.
pub fn order(job: u64, script: &str) -> LaunchOrder {
    let user = User { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
    let arguments = vec!["-c".into(), script.into()];
    let job = Job {
        id: JobId(job),
        run: format!("test-{}-{job}", std::process::id()),
        ..Job::new(vec![Application { arguments, ..Application::new(1, "/bin/sh") }])
    };
    let surroundings = Surroundings {
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: "/".into(),
        umask: 0o22,
    };
    let slot = (job.id.0 % u64::from(commit::SLOTS)) as u32;
    let id = job.id;
    let common = CommonPart { job, hosts: vec!["n1".into()], surroundings };
    let common = LaunchOrder::encode(&common).unwrap();
    LaunchOrder { slot, user, job: id, node: NodeId(0), network: None, common }
}

/// The same order with something changed of what all nodes are told.
pub fn changed(order: LaunchOrder, change: impl FnOnce(&mut CommonPart)) -> LaunchOrder {
    let mut common = wire::decode(&order.common).unwrap();
    change(&mut common);
    LaunchOrder { common: LaunchOrder::encode(&common).unwrap(), ..order }
}

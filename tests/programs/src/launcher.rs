//! A launcher for tests of the library: N processes on one NIC, or on those of several nodes that are all
//! this machine, without a machine manager.
//!
//! It does what every launcher of ours has to: NIC memory inherited, the environment set, the NIC thread
//! started after the processes, the job ended when a rank fails, a deadlock is found or time is up, and
//! whoever is left killed.

use bcs_core::{JobId, NodeId, NodeSet, Placement, PortRange, Rank, SliceLength, Transport};
use bcs_credentials::{self as credentials, Credential};
use mds::EmdsConfig;
use mds::emds::EmdsTable;
use nic_emu::arith::Arithmetic;
use nic_emu::contexts::SLOTS;
use nic_emu::hang::{HangDetector, JobState, LOOK_PERIOD, is_deadlock};
use nic_emu::host::endpoint_place::EndpointPlace;
use nic_emu::host::link_places::places_of;
use nic_emu::host::{CrossMemory, NicConfig, NicHost, RankPhase};
use nic_emu::nic_thread::Finding;
use nic_emu::status::Phase;
use nic_emu::unexpected::DEFAULT_LIMIT_BYTES;
use program_launcher::launch::{JobNetwork, Member};
use program_launcher::launcher::network::{self, JobFabric, JobPort};
use std::ffi::OsStr;
use std::io::Read;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long the nodes of a job may take to meet: a machine that others share may stand still for seconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a job is to be run.
pub struct Job {
    /// Processes.
    pub ranks: u32,
    /// Nodes; ranks are dealt to them in turn, or in blocks.
    pub nodes: u32,
    /// What carries messages between nodes: `tcp`, whose links the ranks drive, `quic`, or `ofi`.
    pub transport: Transport,
    /// Ranks of a node follow each other.
    pub in_blocks: bool,
    /// Elastic slices, or fixed ones and how long.
    pub slice: SliceLength,
    /// Whether bytes may go from process to process.
    pub cross_memory: CrossMemory,
    /// Communicators that may span nodes at the same time.
    pub context_slots: u32,
    /// Bytes of messages that each rank can leave unreceived.
    pub unexpected_bytes: u64,
    /// What EMDS records.
    pub emds: Option<EmdsConfig>,
    /// What the ranks find in their environment besides the launcher's.
    pub environment: Vec<(String, String)>,
    /// When the job is ended.
    pub limit: Duration,
    /// Standard output and standard error go to the launcher's instead of being kept.
    pub inherit: bool,
}

impl Job {
    /// A job of so many ranks on one node, with nothing else asked for.
    pub fn of(ranks: u32) -> Self {
        Self {
            ranks,
            nodes: 1,
            transport: Transport::default(),
            in_blocks: false,
            slice: SliceLength::Elastic,
            cross_memory: CrossMemory::WhereFaster,
            context_slots: SLOTS,
            unexpected_bytes: DEFAULT_LIMIT_BYTES,
            emds: None,
            environment: Vec::new(),
            limit: Duration::from_secs(60),
            inherit: false,
        }
    }

    fn node_of(&self, rank: u32) -> u32 {
        if self.in_blocks { rank * self.nodes / self.ranks } else { rank % self.nodes }
    }
}

/// Ranks, nodes and slices: `RANKS[/NODES][@MICROSECONDS]`.
pub fn size_of_job(text: &str) -> Option<(u32, u32, SliceLength)> {
    let (text, slice) = match text.split_once('@') {
        Some((text, period)) => (text, SliceLength::Fixed(Duration::from_micros(period.parse().ok()?))),
        None => (text, SliceLength::Elastic),
    };
    let (ranks, nodes) = text.split_once('/').unwrap_or((text, "1"));
    let (ranks, nodes) = (ranks.parse().ok()?, nodes.parse().ok()?);
    (1..=ranks).contains(&nodes).then_some((ranks, nodes, slice))
}

/// How a job ended.
#[derive(Debug)]
pub struct Ended {
    /// By rank: exit code, or 128 and the signal.
    pub codes: Vec<i32>,
    /// What the ranks wrote, one rank after the other.
    pub stdout: String,
    /// What the ranks wrote as errors.
    pub stderr: String,
    /// The exit code and the message of who aborted the job.
    pub abort: Option<(i32, String)>,
    /// What the NIC thread found: a deadlock, as people read it.
    pub finding: Option<String>,
    /// Whether the job was ended by its limit.
    pub timed_out: bool,
    /// Slices that were run, on the node with the most.
    pub slices: u64,
    /// What EMDS has recorded on the first node: its own slices, and the global ones.
    pub emds: Option<[EmdsTable; 2]>,
    /// Messages that ranks have written straight into their receivers' buffers, on all nodes.
    pub written: u64,
}

impl Ended {
    /// Whether all ranks have ended well, and by themselves.
    pub fn is_well(&self) -> bool {
        self.codes.iter().all(|code| *code == 0)
            && self.abort.is_none()
            && self.finding.is_none()
            && !self.timed_out
    }
}

/// Runs a program as a job.
pub fn launch<S: AsRef<OsStr>>(job: &Job, program: &Path, arguments: &[S]) -> Ended {
    let nodes: Vec<u32> = (0..job.ranks).map(|rank| job.node_of(rank)).collect();
    let placement = Placement::by_rank(&nodes).expect("a rank for each node");
    let mut hosts: Vec<NicHost> = (0..job.nodes).map(|node| host(job, &placement, NodeId(node))).collect();
    let mut networks = match job.nodes {
        1 => vec![None],
        nodes => networks(&job.transport, nodes).into_iter().map(Some).collect(),
    };
    let links: Vec<_> = networks.iter_mut().map(|network| links(network.as_mut(), job.nodes)).collect();
    let mut children: Vec<Child> = (0..job.ranks)
        .map(|rank| {
            let (node, local_rank) = placement.place(Rank(rank)).expect("a rank of the job");
            let host = &hosts[node.index()];
            let fd = host.descriptor().as_raw_fd();
            let wake_fd = host.wake_descriptor().map(|fd| fd.as_raw_fd());
            let mut command = Command::new(program);
            command.args(arguments).envs(job.environment.iter().map(|(name, value)| (name, value)));
            for (name, value) in [
                ("BCS_RANK", rank),
                ("BCS_SIZE", job.ranks),
                ("BCS_LOCAL_RANK", local_rank.0),
                ("BCS_NIC_FD", fd as u32),
            ] {
                command.env(name, value.to_string());
            }
            if let Some(wake_fd) = wake_fd {
                command.env("BCS_WAKE_FD", wake_fd.to_string());
            }
            let mut kept: Vec<RawFd> = [Some(fd), wake_fd].into_iter().flatten().collect();
            if let Some(Shared { places, card, descriptors }) = &links[node.index()] {
                command.env("BCS_LINKS", places);
                command.envs(card.iter().map(|card| (EndpointPlace::VARIABLE, card)));
                kept.extend(descriptors);
            }
            command.env("BCS_JOB", "test").env("BCS_LAUNCHER_PID", std::process::id().to_string());
            if !job.inherit {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
            }
            command.stdin(Stdio::null());
            // SAFETY: between fork and exec system calls are made, and nothing else: the child keeps the
            // descriptors of the NIC and of the links.
            unsafe {
                command.pre_exec(move || {
                    match kept.iter().all(|fd| libc::fcntl(*fd, libc::F_SETFD, 0) == 0) {
                        true => Ok(()),
                        false => Err(std::io::Error::last_os_error()),
                    }
                })
            };
            command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.display()))
        })
        .collect();
    for (host, network) in hosts.iter_mut().zip(networks) {
        host.start(network).expect("the NIC thread of a test");
    }
    let readers: Vec<_> = children
        .iter_mut()
        .map(|child| {
            let (out, err) = (child.stdout.take(), child.stderr.take());
            // Each by a thread of its own: a program that fills the pipe that is not read waits for its
            // reader.
            (std::thread::spawn(move || read_all(out)), std::thread::spawn(move || read_all(err)))
        })
        .collect();
    let (codes, timed_out, deadlock) = wait(&hosts, &mut children, job.limit);
    let (mut stdout, mut stderr) = (String::new(), String::new());
    for (out, err) in readers {
        stdout += &out.join().expect("a reader of output");
        stderr += &err.join().expect("a reader of output");
    }
    let phases = |host: &NicHost| (0..job.ranks).map(|rank| host.phase(Rank(rank))).collect::<Vec<_>>();
    let abort = hosts.iter().flat_map(phases).find_map(|phase| match phase {
        RankPhase::Aborted { code, message } => Some((code, message)),
        _ => None,
    });
    let finding = hosts.iter().find_map(NicHost::finding).or(deadlock).map(|finding| finding.to_string());
    // Each leaves the network when the others still answer.
    std::thread::scope(|scope| hosts.iter_mut().for_each(|host| drop(scope.spawn(|| host.stop()))));
    let slices = hosts.iter().map(|host| host.slices().0).max().unwrap_or(0);
    let written = |host: &NicHost| host.memory().header().remote.by_ranks.written.get();
    let written = hosts.iter().map(written).sum();
    let rings = hosts.first().and_then(NicHost::emds);
    let emds = rings.and_then(|(local, global)| Some([local.read().ok()?, global.read().ok()?]));
    Ended { codes, stdout, stderr, abort, finding, timed_out, slices, emds, written }
}

/// The NIC of a node.
fn host(job: &Job, placement: &Placement, node: NodeId) -> NicHost {
    let config = NicConfig {
        job: JobId(1),
        placement: placement.clone(),
        node,
        slice: job.slice,
        arithmetic: Arithmetic::Native,
        cross_memory: job.cross_memory,
        context_slots: job.context_slots,
        unexpected_bytes: job.unexpected_bytes,
        emds: job.emds.clone(),
        nic_core: None,
    };
    NicHost::create(&config).expect("NIC memory for a test")
}

/// The links of a node that its ranks drive.
struct Shared {
    /// What ranks find in their environment: the links, and the network card that moves their bytes, if one
    /// does.
    places: String,
    card: Option<String>,
    descriptors: Vec<RawFd>,
}

/// The links of a node that its ranks drive.
fn links(network: Option<&mut JobFabric>, nodes: u32) -> Option<Shared> {
    let links = network?.share_links()?;
    let card = links.card.map(|(address, provider)| (address, provider.to_owned()));
    let mut descriptors = Vec::new();
    let inherit = |fd: BorrowedFd<'_>| {
        descriptors.push(fd.as_raw_fd());
        Ok(fd.as_raw_fd())
    };
    let places = places_of(&links, nodes, inherit).expect("descriptors that are open");
    assert!(
        nodes > network::MESHED_NODES || places.links.len() as u32 == nodes - 1,
        "links are missing: {places}"
    );
    let card = card.map(|(address, provider)| EndpointPlace { address, provider }.to_string());
    Some(Shared { places: places.to_string(), card, descriptors })
}

/// A network between nodes that are all this machine, made as a job's program launchers make it, whose links
/// that ranks are to find up are up.
fn networks(transport: &Transport, nodes: u32) -> Vec<JobFabric> {
    let names: Vec<String> = (0..nodes).map(|node| format!("node{node}")).collect();
    let credentials = credentials::mint("test", names.iter().map(String::as_str)).expect("keys for a test");
    let bind = |credential: Credential| {
        let network = JobNetwork {
            id: 1,
            credential: credential.to_pem(),
            listen: Ipv4Addr::LOCALHOST.into(),
            ports: PortRange::ANY,
            transport: transport.clone(),
            seal: true,
        };
        network::bind(&network).expect("a port")
    };
    let ports: Vec<Box<dyn JobPort>> = credentials.into_iter().map(bind).collect();
    let members =
        names.into_iter().zip(&ports).map(|(name, port)| Member { name, address: port.local_address() });
    let roster: Vec<Member> = members.collect();
    let join = |port: Box<dyn JobPort>| port.connect(roster.clone()).expect("a roster");
    let mut networks: Vec<JobFabric> = ports.into_iter().map(join).collect();
    let needed: Vec<NodeSet> =
        networks.iter().map(|network| network::linked_at_start(network, nodes)).collect();
    for (network, needed) in networks.iter_mut().zip(&needed) {
        network.begin_connect(needed);
    }
    let begin = now();
    while networks.iter().zip(&needed).any(|(network, needed)| network.unconnected().intersects(needed)) {
        assert!(begin.elapsed() < PATIENCE, "the nodes of a test, which are this machine, do not meet");
        for network in &mut networks {
            network.progress().expect("a network of a test");
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    networks
}

/// Waits for all; ends the job when one fails, when the NIC has found something, or when time is up.
fn wait(hosts: &[NicHost], children: &mut [Child], limit: Duration) -> (Vec<i32>, bool, Option<Finding>) {
    let begin = now();
    let mut watch = (hosts.len() > 1).then(|| Watch::new(hosts));
    let mut deadlock = None;
    let mut codes = vec![None; children.len()];
    let mut ending: Option<Instant> = None;
    let mut timed_out = false;
    while codes.iter().any(Option::is_none) {
        for (rank, child) in children.iter_mut().enumerate() {
            if codes[rank].is_none()
                && let Some(status) = child.try_wait().expect("a child of this process")
            {
                hosts.iter().for_each(|host| host.rank_exited(Rank(rank as u32)));
                codes[rank] = Some(code_of(status));
                if !status.success() {
                    ending.get_or_insert_with(now);
                }
            }
        }
        timed_out |= begin.elapsed() > limit;
        if ending.is_none()
            && let Some(watch) = &mut watch
        {
            deadlock = watch.look(hosts);
        }
        if hosts.iter().any(|host| host.finding().is_some()) || deadlock.is_some() || timed_out {
            ending.get_or_insert_with(now);
        }
        if let Some(since) = ending {
            hosts.iter().for_each(|host| nic_emu::memory::abort::end_job(host.memory()));
            if since.elapsed() > Duration::from_millis(500) {
                children.iter_mut().for_each(|child| drop(child.kill()));
            }
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    (codes.into_iter().flatten().collect(), timed_out, deadlock)
}

/// Looks for a deadlock of a job on several nodes, as its launchers and its manager do together: when each
/// node has said once that all its ranks are blocked, the states of all are read again and again.
struct Watch {
    detectors: Vec<HangDetector>,
    blocked: Vec<bool>,
    before: Vec<JobState>,
    due: Instant,
}

impl Watch {
    fn new(hosts: &[NicHost]) -> Self {
        let detectors = hosts.iter().map(|_| HangDetector::default()).collect();
        Self { detectors, blocked: vec![false; hosts.len()], before: Vec::new(), due: now() }
    }

    fn look(&mut self, hosts: &[NicHost]) -> Option<Finding> {
        if now() < self.due {
            return None;
        }
        self.due = now() + LOOK_PERIOD;
        let states: Vec<JobState> = hosts.iter().map(|host| JobState::read(host.memory())).collect();
        let is_over = |state: &JobState| state.ranks.iter().all(|rank| rank.phase == Phase::Exited);
        for (((host, state), detector), blocked) in
            hosts.iter().zip(&states).zip(&mut self.detectors).zip(&mut self.blocked)
        {
            *blocked |= detector.look(host.memory()).is_some() || is_over(state);
        }
        if !self.blocked.iter().all(|blocked| *blocked) {
            return None;
        }
        let report = is_deadlock(&self.before, &states);
        self.before = states;
        report.map(Finding::Deadlock)
    }
}

/// The clock of a launcher, which is a driver.
#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn read_all(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        from.read_to_end(&mut bytes).expect("output of a child");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

//! This manager's end of the control network, on which it beats, finds dead nodes, and starts jobs: it
//! carries out what [`super::view`] decides.
//!
//! A job is started by one Compare-And-Write: *if it stands in `prepared` of its slot on all its nodes, write
//! it into `go` there* ([`bcs_protocol::commit`]). Invariant: whoever is told that a job was not started can
//! rely on it; so a job that is withdrawn while it is being started is answered when the network has.

use super::HostId;
use super::jobs::StartOrder;
use super::view::{Heartbeat, ViewAction, Views};
use bcs_config::NetworkConfig;
use bcs_core::{EventTable, JobId, NodeId, NodeSet, SparseMemory};
use bcs_credentials::Credential;
use bcs_credentials::MANAGER;
use bcs_daemon::wait::watch;
use bcs_fabric::{Assignment, Comparison, Condition, Fabric, FabricError, Source, Ticket};
use bcs_protocol::commit;
use bcs_protocol::node::ToNode;
use bcs_quic::{Member, NetworkId, QuicFabric, QuicOptions, QuicPort};
use program_launcher::output::is_ready;
use rustix::event::PollFlags;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How often it is asked again whether a job is prepared everywhere: what a node has stored takes effect a
/// moment later.
const ASK_AGAIN: Duration = Duration::from_millis(2);
/// The least time after which a silent link breaks by itself.
const LEAST_PATIENCE: Duration = Duration::from_secs(3);

/// What has come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Tell a node manager.
    Tell(HostId, ToNode),
    /// The node takes part.
    Up(HostId),
    /// The node is dead; why, as it follows on its name.
    Lost(HostId, String),
    /// The job is started on all its nodes, or on none.
    Committed(JobId, bool),
}

/// Why there is no control network.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The socket cannot be waited for.
    #[error("cannot wait for the control network: {0}")]
    Wait(#[from] io::Error),
    /// The network failed.
    #[error("the control network failed: {0}")]
    Fabric(#[from] FabricError),
}

/// The start of a job.
#[derive(Debug, Default)]
struct Start {
    slot: u32,
    hosts: Vec<HostId>,
    asked: Option<Ticket>,
    not_before: Duration,
    withdrawn: bool,
    /// The view in which it was started, if it was. A node may leave a view before it has seen that, so it is
    /// started again in the next one, which a node that knows of it does not notice.
    started_in: Option<u64>,
}

/// The network of the open view.
#[derive(Debug)]
struct Joined {
    view: u64,
    fabric: QuicFabric,
    /// Another descriptor of the fabric's socket.
    readiness: AsyncFd<OwnedFd>,
    /// Its nodes, by number from 1.
    hosts: Vec<HostId>,
    /// What had come over their links.
    heard: Vec<u64>,
    buried: NodeSet,
    beat: Option<Ticket>,
}

/// This manager's end of the control network.
#[derive(Debug)]
pub struct Control {
    credential: Credential,
    heartbeat: Heartbeat,
    network: NetworkConfig,
    views: Views,
    names: Vec<String>,
    /// By host: the address here by which it has reached this manager.
    reached_at: BTreeMap<HostId, IpAddr>,
    bound: Option<(u64, QuicPort)>,
    joined: Option<Joined>,
    starts: BTreeMap<JobId, Start>,
    events: VecDeque<Event>,
}

impl Control {
    /// A network of nobody. The names are those of the hosts, by number.
    pub fn new(
        credential: Credential,
        heartbeat: Heartbeat,
        network: NetworkConfig,
        names: Vec<String>,
    ) -> Self {
        Self {
            credential,
            heartbeat,
            network,
            views: Views::new(heartbeat),
            names,
            reached_at: BTreeMap::new(),
            bound: None,
            joined: None,
            starts: BTreeMap::new(),
            events: VecDeque::new(),
        }
    }

    /// What has come of it.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// A node has connected, to this address here.
    pub fn handle_joined(&mut self, host: HostId, reached_at: IpAddr, now: Duration) {
        self.reached_at.insert(host, reached_at);
        self.views.handle_joined(host, now);
    }

    /// A node has gone.
    pub fn handle_gone(&mut self, host: HostId) {
        self.bury(host);
        self.views.handle_gone(host);
    }

    /// A node has bound its end of a view.
    pub fn handle_bound(&mut self, host: HostId, view: u64, address: SocketAddr) {
        self.views.handle_bound(host, view, address);
    }

    /// When something of a node was heard last on the open view.
    pub fn heard_of(&self, host: HostId) -> Option<Duration> {
        self.views.heard_of(host)
    }

    /// Something is to be done about the start of a job.
    pub fn handle_start(&mut self, job: JobId, order: StartOrder) {
        match order {
            StartOrder::Commit(slot, hosts) => {
                self.starts.insert(job, Start { slot, hosts, ..Start::default() });
            }
            StartOrder::Withdraw => drop(self.starts.entry(job).and_modify(|start| start.withdrawn = true)),
            StartOrder::Forget => drop(self.starts.remove(&job)),
        }
    }

    /// Waits until something has arrived, for ever when there is no network. Cancel safe.
    pub async fn arrived(&self) {
        let Some(joined) = &self.joined else { return std::future::pending().await };
        // Whatever is wrong with it, progress will find.
        let _ = joined.readiness.readable().await;
    }

    /// When [`Control::progress`] is due although nothing has arrived.
    pub fn wakes_in(&self, now: Duration) -> Option<Duration> {
        let network = self.joined.as_ref().and_then(|joined| bcs_fabric::Driven::timeout(&joined.fabric));
        let views = self.views.wakes_at().map(|at| at.saturating_sub(now));
        let waiting = self.starts.values().filter(|start| self.may_ask(start));
        let starts = waiting.map(|start| start.not_before.saturating_sub(now)).min();
        [network, views, starts].into_iter().flatten().min()
    }

    /// Moves what can be moved.
    ///
    /// # Errors
    /// The network itself has failed: all nodes are lost.
    pub fn progress(&mut self, now: Duration) -> Result<(), ControlError> {
        self.hear(now)?;
        self.answer_starts(now);
        let may_open = self.starts.values().all(|start| start.asked.is_none());
        self.views.handle_time(now, may_open);
        while let Some(action) = self.views.poll_action() {
            self.carry_out(action)?;
        }
        self.ask_starts(now);
        if let Some(joined) = &mut self.joined {
            joined.fabric.progress()?;
            joined.look_again();
        }
        Ok(())
    }

    /// Leaves the network, as far as that is possible without waiting.
    pub fn leave(&mut self) {
        if let Some(mut joined) = self.joined.take() {
            bcs_fabric::Driven::leave(&mut joined.fabric, Duration::ZERO);
        }
    }

    /// Takes what has arrived: signs of life, deaths, and the answer to the last beat.
    fn hear(&mut self, now: Duration) -> Result<(), ControlError> {
        let Some(joined) = &mut self.joined else { return Ok(()) };
        joined.fabric.progress()?;
        for (number, (host, heard)) in (1..).zip(joined.hosts.iter().zip(&mut joined.heard)) {
            let datagrams = joined.fabric.datagrams_from(NodeId(number));
            if std::mem::replace(heard, datagrams) != datagrams {
                self.views.handle_heard(*host, now);
            }
        }
        while let Some(error) = joined.fabric.take_failure() {
            tracing::debug!("a beat did not reach all nodes: {error}");
        }
        if let Some(answer) = joined.beat.and_then(|ticket| joined.fabric.test_query(ticket)) {
            joined.beat = None;
            self.views.handle_answer();
            if answer == Ok(false) {
                tracing::warn!("a node of the control network has forgotten the beat");
            }
        }
        let dead = joined.fabric.dead().difference(&joined.buried);
        for node in &dead {
            joined.buried.insert(node);
            let Some(host) = joined.hosts.get(node.index().wrapping_sub(1)).copied() else {
                return Err(ControlError::Fabric(FabricError::Network {
                    node,
                    reason: "the nodes hold the machine manager for dead".into(),
                }));
            };
            let why = joined.fabric.broken_link(node).unwrap_or("other nodes cannot reach it");
            let reason = format!("is cut off from the control network: {why}");
            self.views.handle_gone(host);
            self.events.push_back(Event::Lost(host, reason));
        }
        Ok(())
    }

    fn carry_out(&mut self, action: ViewAction) -> Result<(), ControlError> {
        match action {
            ViewAction::Bind { view, hosts } => self.bind(view, &hosts),
            ViewAction::Open { view, roster } => return self.open(view, roster),
            ViewAction::Beat { beat, nodes } => return self.beat(beat, &nodes),
            ViewAction::Up(host) => self.events.push_back(Event::Up(host)),
            ViewAction::Lose(host, reason) => {
                self.bury(host);
                self.events.push_back(Event::Lost(host, reason));
            }
        }
        Ok(())
    }

    fn bind(&mut self, view: u64, hosts: &[HostId]) {
        // The address by which nodes have reached this manager is one that they can reach.
        let Some(address) = hosts.iter().find_map(|host| self.reached_at.get(host)) else { return };
        let network = random_number();
        let patience = (self.heartbeat.limit() * 4).max(LEAST_PATIENCE);
        let options = QuicOptions {
            ports: self.network.ports,
            fanout: self.network.fanout,
            keep_alive: self.heartbeat.period / 2,
            idle_timeout: patience,
            connect_timeout: super::view::JOIN_LIMIT,
            ..QuicOptions::new(NetworkId(network), self.credential.clone(), *address)
        };
        match QuicPort::bind(options) {
            Ok(port) => self.bound = Some((view, port)),
            Err(error) => {
                // The nodes stay connected; the view is formed again when one more joins.
                tracing::error!("cannot form view {view}: {error}");
                for host in hosts {
                    self.views.handle_gone(*host);
                    let reason =
                        "is not on the control network, whose socket the machine manager cannot make";
                    self.events.push_back(Event::Lost(*host, reason.into()));
                }
                return;
            }
        }
        tracing::debug!(view, nodes = hosts.len(), "forming a view");
        let bind = hosts.iter().map(|host| Event::Tell(*host, ToNode::Bind { view, network }));
        self.events.extend(bind);
    }

    fn open(&mut self, view: u64, listening: Vec<(HostId, SocketAddr)>) -> Result<(), ControlError> {
        self.leave();
        let Some((_, port)) = self.bound.take_if(|(bound, _)| *bound == view) else { return Ok(()) };
        let name = |host: HostId| self.names.get(host.0 as usize).cloned().unwrap_or_default();
        let mut roster = vec![Member { name: MANAGER.to_owned(), address: port.local_address() }];
        roster.extend(listening.iter().map(|&(host, address)| Member { name: name(host), address }));
        let memory = SparseMemory::new(commit::MEMORY_BYTES);
        let connected = port.connect(roster.clone(), memory, EventTable::new(commit::EVENTS));
        let mut fabric =
            connected.map_err(|error| FabricError::Network { node: NodeId(0), reason: error.to_string() })?;
        fabric.begin_connect_all();
        let socket = fabric.as_fd().try_clone_to_owned()?;
        let readiness = watch(socket)?;
        let heard = vec![0; listening.len()];
        let hosts: Vec<HostId> = listening.into_iter().map(|(host, _)| host).collect();
        for host in &hosts {
            let roster = roster.clone();
            self.events.push_back(Event::Tell(*host, ToNode::View { view, roster }));
        }
        tracing::info!(view, nodes = hosts.len(), "a view is open");
        self.joined =
            Some(Joined { view, fabric, readiness, hosts, heard, buried: NodeSet::new(), beat: None });
        Ok(())
    }

    fn beat(&mut self, beat: u64, nodes: &NodeSet) -> Result<(), ControlError> {
        let Some(joined) = &mut self.joined else { return Ok(()) };
        let fabric = &mut joined.fabric;
        let source = beat.to_le_bytes();
        let put = fabric.xfer_and_signal(Source::Bytes(&source), nodes, commit::BEAT.address(), None, None);
        let has_it = Comparison { variable: commit::BEAT, condition: Condition::GreaterEqual, value: beat };
        match put.and_then(|()| fabric.compare_and_write(nodes, has_it, None)) {
            Ok(ticket) => joined.beat = Some(ticket),
            Err(error @ FabricError::SelfDead { .. }) => return Err(error.into()),
            Err(error) => {
                // A node has died in this moment, or too much is under way: the next beat comes.
                tracing::debug!("beat {beat}: {error}");
                self.views.handle_answer();
            }
        }
        Ok(())
    }

    /// Gives the network up: all its nodes are lost, and may come back.
    pub fn abandon(&mut self, reason: &str) {
        self.leave();
        for host in self.views.connected() {
            self.views.handle_gone(host);
            self.events.push_back(Event::Lost(host, reason.to_owned()));
        }
        for (job, start) in std::mem::take(&mut self.starts) {
            if start.started_in.is_none() {
                self.events.push_back(Event::Committed(job, false));
            }
        }
    }

    /// All nodes of the network get to know that a node is dead.
    fn bury(&mut self, host: HostId) {
        let Some(joined) = &mut self.joined else { return };
        let Some(at) = joined.hosts.iter().position(|member| *member == host) else { return };
        let node = NodeId(at as u32 + 1);
        if joined.buried.insert(node) {
            // It is a member.
            let _ = joined.fabric.declare_dead(node);
        }
    }

    /// Whether a start can be asked for, apart from the time.
    fn may_ask(&self, start: &Start) -> bool {
        let view = self.joined.as_ref().map(|joined| joined.view);
        start.asked.is_none()
            && view.is_some()
            && start.started_in != view
            && !self.views.is_changing()
            && start.hosts.iter().all(|host| self.views.is_up(*host))
    }

    /// Takes the answers to starts of jobs.
    fn answer_starts(&mut self, now: Duration) {
        let Some(joined) = &mut self.joined else { return };
        for (job, start) in &mut self.starts {
            let Some(answer) = start.asked.and_then(|ticket| joined.fabric.test_query(ticket)) else {
                continue;
            };
            start.asked = None;
            match answer {
                Ok(true) => {
                    if start.started_in.replace(joined.view).is_none() {
                        self.events.push_back(Event::Committed(*job, true));
                    }
                }
                // Not stored yet on one of them, or one of them has died, of which the job will hear.
                Ok(false) | Err(_) => start.not_before = now + ASK_AGAIN,
            }
        }
    }

    /// Answers for jobs that are withdrawn, and asks for those that are due.
    fn ask_starts(&mut self, now: Duration) {
        let withdrawn: Vec<JobId> = self
            .starts
            .iter()
            .filter(|(_, start)| start.withdrawn && start.asked.is_none() && start.started_in.is_none())
            .map(|(job, _)| *job)
            .collect();
        for job in withdrawn {
            self.starts.remove(&job);
            self.events.push_back(Event::Committed(job, false));
        }
        let due: Vec<JobId> = self
            .starts
            .iter()
            .filter(|(_, start)| start.not_before <= now && self.may_ask(start))
            .map(|(job, _)| *job)
            .collect();
        for job in due {
            let Some(start) = self.starts.get(&job) else { continue };
            let nodes: NodeSet = start.hosts.iter().filter_map(|host| self.views.node_of(*host)).collect();
            let prepared = Comparison {
                variable: commit::prepared(start.slot),
                condition: Condition::Equal,
                value: job.0,
            };
            let go = Assignment { variable: commit::go(start.slot), value: job.0 };
            let Some(joined) = &mut self.joined else { return };
            let asked = joined.fabric.compare_and_write(&nodes, prepared, Some(go));
            if let Some(start) = self.starts.get_mut(&job) {
                start.not_before = now + ASK_AGAIN;
                start.asked = asked.ok();
            }
        }
    }
}

impl Joined {
    /// Lets the runtime wake us again only for what arrives from now on, unless there is more already.
    fn look_again(&self) {
        let _ = self.readiness.try_io(Interest::READABLE, |socket| {
            is_ready(socket, PollFlags::IN).then_some(()).ok_or(io::ErrorKind::WouldBlock.into())
        });
    }
}

/// A number that nobody has used.
pub fn random_number() -> u128 {
    let mut bytes = [0; 16];
    // The kernel gives so few bytes whole, and at once.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    u128::from_le_bytes(bytes)
}

//! The task of the machine manager: it takes what comes in, has it decided, and carries out what was decided.

use super::HostId;
use super::control::{Control, ControlError, Event};
use super::jobs::{Action, ClientId, Jobs, Offer, Owner};
use super::listen::{self, Arrival, DoorError, LocalDoor, Reception};
use super::nodes::{Link, LinkId, Nodes};
use super::outbox::{Farewell, Outbox, OutboxError};
use super::view::Heartbeat;
use crate::protocol::{ALPN, NodeRow, Reply, Request};
use bcs_core::config::port_range::PortRange;
use bcs_core::credentials::MANAGER;
use bcs_core::stream::{SecureEnds, StreamError};
use bcs_core::{Config, Credential, CredentialError, JobId, credentials};
use nic_emu::priority;
use node_manager::daemon::notify;
use node_manager::launch::JobNetwork;
use node_manager::protocol::{FromNode, ToNode, VERSION};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Arrivals that wait for the manager.
const ARRIVALS: usize = 1024;
/// Arrivals that are handled before the control network gets its turn.
const ARRIVALS_AT_ONCE: usize = 128;
/// How long jobs may take to end when the manager is told to.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);
/// How long the last words may take to be written.
const FAREWELL: Duration = Duration::from_millis(500);
/// A node to which so much waits to be sent is not sent signals of users any more.
const SIGNALS_UP_TO_BYTES: usize = 4 << 20;

/// Why the daemon does not run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Its credential.
    #[error("{0}; storm cluster init makes the keys of a cluster")]
    Credential(#[from] CredentialError),
    /// A credential of somebody else.
    #[error("{} is the credential of '{name}', and the machine manager needs one of '{MANAGER}'", path.display())]
    OtherName {
        /// The file.
        path: std::path::PathBuf,
        /// Whose it is.
        name: String,
    },
    /// The credential cannot be used for streams.
    #[error(transparent)]
    Ends(#[from] StreamError),
    /// The sockets.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// What the kernel refuses.
    #[error("cannot {what}: {error}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
}

/// Runs the machine manager of a cluster until SIGTERM or SIGINT tells it to end.
///
/// # Errors
/// It cannot begin.
pub async fn run(config: &Config) -> Result<(), DaemonError> {
    let system = |what| move |error| DaemonError::System { what, error };
    let key_path = config.paths.keys.join("manager.pem");
    let credential = Credential::load(&key_path)?;
    if credential.name() != MANAGER {
        return Err(DaemonError::OtherName { path: key_path, name: credential.name() });
    }
    let ends = SecureEnds::new(&credential, ALPN)?;
    raise_descriptor_limit();
    let mut terminate = signal(SignalKind::terminate()).map_err(system("watch for SIGTERM"))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(system("watch for SIGINT"))?;
    let door = LocalDoor::reserve(&config.paths.run)?;
    let ports = listen::open_ports(&config.cluster.manager, config.cluster.port).await?;
    // Who sees the socket finds the manager ready.
    let local = door.open()?;

    let nodes = Nodes::new(config.nodes());
    let names: Vec<String> = nodes.iter().map(|(_, node)| node.name.clone()).collect();
    // Certificates know no upper case.
    let hosts: HashMap<String, HostId> =
        nodes.iter().map(|(host, node)| (node.name.to_ascii_lowercase(), host)).collect();
    let heartbeat = Heartbeat { period: config.heartbeat.period.0, missed: config.heartbeat.missed };
    let (sender, mut arrivals) = mpsc::channel(ARRIVALS);
    let reception = Reception::new(ends, hosts, sender.clone());
    let addresses: Vec<String> =
        ports.iter().filter_map(|port| Some(port.local_addr().ok()?.to_string())).collect();
    for port in ports {
        tokio::spawn(reception.clone().serve_port(port));
    }
    tokio::spawn(reception.clone().serve_local(local));
    let mut manager = Manager {
        began: clock(),
        control: Control::new(credential, heartbeat, config.network.clone(), names),
        jobs: Jobs::new(stamp(&config.cluster.name)),
        nodes,
        heartbeat,
        clients: HashMap::new(),
        farewells: Vec::new(),
        arrivals: sender,
    };
    tracing::info!(
        cluster = config.cluster.name,
        nodes = manager.nodes.iter().count(),
        listens = addresses.join(" "),
        "the machine manager is ready"
    );
    if let Err(error) = priority::raise() {
        tracing::warn!(%error, "runs at the ordinary priority: beside ranks that poll, nodes may be taken for dead; allow CAP_SYS_NICE");
    }
    notify::notify("READY=1").map_err(system("tell systemd that the daemon is ready (NOTIFY_SOCKET)"))?;
    manager.serve(&mut arrivals, &mut terminate, &mut interrupt).await;
    Ok(())
}

/// All state of the machine manager.
#[derive(Debug)]
struct Manager {
    began: Instant,
    nodes: Nodes,
    control: Control,
    jobs: Jobs,
    heartbeat: Heartbeat,
    clients: HashMap<ClientId, Outbox>,
    farewells: Vec<Farewell>,
    arrivals: mpsc::Sender<Arrival>,
}

impl Manager {
    async fn serve(
        &mut self,
        arrivals: &mut mpsc::Receiver<Arrival>,
        terminate: &mut Signal,
        interrupt: &mut Signal,
    ) {
        let mut end_by: Option<Duration> = None;
        loop {
            let now = self.now();
            if end_by.is_some_and(|at| now >= at || self.jobs.is_empty()) {
                break;
            }
            let due = [self.control.wakes_in(now), self.jobs.wakes_at().map(|at| at.saturating_sub(now))];
            let last = end_by.map(|at| at.saturating_sub(now));
            let wait = due.into_iter().flatten().chain(last).min();
            tokio::select! {
                arrival = arrivals.recv() => {
                    let mut next = arrival;
                    for _ in 0..ARRIVALS_AT_ONCE {
                        let Some(arrival) = next else { break };
                        self.handle(arrival);
                        next = arrivals.try_recv().ok();
                    }
                }
                () = self.control.arrived() => {}
                () = sleep(wait) => {}
                _ = terminate.recv(), if end_by.is_none() => end_by = Some(self.end("SIGTERM")),
                _ = interrupt.recv(), if end_by.is_none() => end_by = Some(self.end("SIGINT")),
            }
            self.settle();
        }
        self.control.leave();
        self.farewells.extend(std::mem::take(&mut self.clients).into_values().map(Outbox::close));
        let written = async {
            while !self.farewells.iter().all(Farewell::is_over) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let _ = tokio::time::timeout(FAREWELL, written).await;
        tracing::info!("the machine manager has ended");
    }

    fn now(&self) -> Duration {
        clock().duration_since(self.began)
    }

    fn end(&mut self, signal: &str) -> Duration {
        tracing::info!("{signal}: ending all jobs");
        let now = self.now();
        self.jobs.handle_shutdown(now);
        now + SHUTDOWN_LIMIT
    }

    /// Moves the control network, and carries out what was decided, until nothing is left to do now.
    fn settle(&mut self) {
        let now = self.now();
        if let Err(error) = self.control.progress(now) {
            self.lose_control(&error);
        }
        self.jobs.handle_time(now);
        loop {
            if let Some(event) = self.control.poll_event() {
                self.handle_control(event, now);
            } else if let Some(action) = self.jobs.poll_action() {
                self.carry_out(action, now);
            } else {
                break;
            }
        }
        // What was just begun goes out at once.
        if let Err(error) = self.control.progress(now) {
            self.lose_control(&error);
        }
    }

    fn lose_control(&mut self, error: &ControlError) {
        tracing::error!("{error}; all nodes are to join again");
        self.control.abandon("was disconnected, because the control network failed");
    }

    fn handle(&mut self, arrival: Arrival) {
        let now = self.now();
        match arrival {
            Arrival::Node { link, host, hello, reached_at, outbox } => {
                self.handle_hello(link, host, hello, reached_at, outbox, now);
            }
            Arrival::NodeSaid(link, host, message) if self.nodes.is_linked_by(host, link) => match message {
                FromNode::Bound { view, address } => self.control.handle_bound(host, view, address),
                FromNode::Hello { .. } => self.lose(host, "said hello twice", now),
                message => self.jobs.handle_node(host, message, now),
            },
            Arrival::NodeGone(link, host, reason) if self.nodes.is_linked_by(host, link) => {
                self.lose(host, &reason, now);
            }
            Arrival::NodeSaid(..) | Arrival::NodeGone(..) => {}
            Arrival::Client { client, owner, request, outbox } => {
                self.clients.insert(client, outbox);
                self.handle_first_request(client, owner, request, now);
            }
            Arrival::ClientSaid(client, request) => {
                let is_signal = matches!(request, Request::Forward(_));
                if !is_signal || self.may_signal() {
                    self.jobs.handle_request(client, request, now);
                }
            }
            Arrival::ClientGone(client) => {
                self.clients.remove(&client);
                self.jobs.handle_client_gone(client, now);
            }
            Arrival::Keys(job, keys) => self.jobs.handle_keys(job, keys, now),
        }
    }

    /// A user's signals must not use up what waits for the nodes.
    fn may_signal(&self) -> bool {
        let links = self.nodes.iter().filter_map(|(_, node)| node.link.as_ref());
        links.into_iter().all(|link| link.outbox.waiting_bytes() < SIGNALS_UP_TO_BYTES)
    }

    fn handle_hello(
        &mut self,
        id: LinkId,
        host: HostId,
        hello: FromNode,
        reached_at: IpAddr,
        outbox: Outbox,
        now: Duration,
    ) {
        let FromNode::Hello { version, release, cores, memory } = hello else {
            tracing::warn!(host = self.nodes.name(host), "refused: it does not begin with hello");
            return outbox.abandon();
        };
        if version != VERSION {
            let reason = format!(
                "the node manager of release {release} speaks version {version} of the protocol, and the machine manager (release {}) speaks \
                 version {VERSION}; install the same release on all hosts",
                env!("CARGO_PKG_VERSION")
            );
            return self.refuse(host, outbox, reason);
        }
        if self.nodes.link(host).is_some() {
            if self.control.is_alive(host, now) {
                let reason = format!(
                    "host {} is connected already, and alive; end the other node manager",
                    self.nodes.name(host)
                );
                return self.refuse(host, outbox, reason);
            }
            self.lose(host, "has connected again", now);
        }
        let welcome = ToNode::Welcome {
            heartbeat_ms: u32::try_from(self.heartbeat.period.as_millis()).unwrap_or(u32::MAX).max(1),
            missed: self.heartbeat.missed,
        };
        if outbox.send(&welcome).is_err() {
            return;
        }
        tracing::info!(host = self.nodes.name(host), cores, release, "a node has connected");
        self.nodes.connect(host, Link { id, outbox, cores, memory, is_up: false });
        self.control.handle_joined(host, reached_at, now);
    }

    fn refuse(&self, host: HostId, outbox: Outbox, reason: String) {
        tracing::warn!(host = self.nodes.name(host), "refused: {reason}");
        // It is closed when that is written; who does not take it needs no reason.
        let _ = outbox.send(&ToNode::Refused { reason });
    }

    /// A node is gone: everybody gets to know it, and its connection is closed.
    fn lose(&mut self, host: HostId, reason: &str, now: Duration) {
        let Some(link) = self.nodes.disconnect(host, reason) else { return };
        tracing::warn!(host = self.nodes.name(host), "lost: it {reason}");
        link.outbox.abandon();
        self.control.handle_gone(host);
        self.jobs.handle_lost_node(host, reason, now);
    }

    fn handle_control(&mut self, event: Event, now: Duration) {
        match event {
            Event::Tell(host, message) => self.tell_node(host, &message, now),
            Event::Up(host) => {
                tracing::info!(host = self.nodes.name(host), "a node is up");
                self.nodes.raise(host);
            }
            Event::Lost(host, reason) => self.lose(host, &reason, now),
            Event::Committed(job, has_started) => self.jobs.handle_commit(job, has_started, now),
        }
    }

    fn handle_first_request(&mut self, client: ClientId, owner: Owner, request: Request, now: Duration) {
        match request {
            Request::Run(submission) => {
                let offers: Vec<Offer<'_>> = self
                    .nodes
                    .iter()
                    .filter(|(_, node)| node.is_up())
                    .map(|(host, node)| Offer { host, name: &node.name, cores: node.cores() })
                    .collect();
                self.jobs.handle_submission(client, owner, *submission, &offers, now);
            }
            Request::Nodes => {
                let rows = self.nodes.iter().map(|(host, node)| {
                    let (ranks, jobs) = self.jobs.load_of(host);
                    NodeRow {
                        host: node.name.clone(),
                        state: node.state(),
                        cores: node.cores(),
                        memory: node.memory(),
                        ranks,
                        jobs,
                    }
                });
                let reply = Reply::Nodes(rows.collect());
                self.tell_client(client, &reply, now);
            }
            Request::Status { job } => self.jobs.handle_status(client, &owner, job, now),
            Request::Forward(_) | Request::Input(_) | Request::OutputTaken { .. } => {
                self.close_client(client, "it begins with what belongs to a job", now);
            }
        }
    }

    fn carry_out(&mut self, action: Action, now: Duration) {
        match action {
            Action::Node(host, message) => self.tell_node(host, &message, now),
            Action::Client(client, reply) => self.tell_client(client, &reply, now),
            Action::Mint { job, run, members } => self.mint(job, run, members),
            Action::Commit { job, slot, hosts } => self.control.start(job, slot, hosts),
            Action::Withdraw { job } => self.control.withdraw(job),
            Action::Launched { job } => self.control.forget_start(job),
            Action::CloseClient(client, fault) => self.close_client(client, fault, now),
            Action::CloseNode(host, fault) => self.lose(host, &format!("was disconnected: {fault}"), now),
        }
    }

    fn tell_node(&mut self, host: HostId, message: &ToNode, now: Duration) {
        let Some(link) = self.nodes.link(host) else { return };
        match link.outbox.send(message) {
            // Its task says so in a moment.
            Ok(()) | Err(OutboxError::Closed) => {}
            Err(error) => self.lose(host, &format!("was disconnected: {error}"), now),
        }
    }

    fn tell_client(&mut self, client: ClientId, reply: &Reply, now: Duration) {
        let Some(outbox) = self.clients.get(&client) else { return };
        match outbox.send(reply) {
            Ok(()) | Err(OutboxError::Closed) => {}
            Err(error) => return self.close_client(client, &error.to_string(), now),
        }
        if is_last(reply) {
            self.farewells.retain(|farewell| !farewell.is_over());
            self.farewells.extend(self.clients.remove(&client).map(Outbox::close));
        }
    }

    /// Closes the connection of a user who is at fault.
    fn close_client(&mut self, client: ClientId, fault: &str, now: Duration) {
        if let Some(outbox) = self.clients.remove(&client) {
            tracing::warn!("closed the connection of a storm: {fault}");
            outbox.abandon();
        }
        self.jobs.handle_client_gone(client, now);
    }

    /// Makes the keys of a job's network, elsewhere: it takes a while for many nodes.
    fn mint(&self, job: JobId, run: String, members: Vec<String>) {
        let arrivals = self.arrivals.clone();
        tokio::spawn(async move {
            let keys = tokio::task::spawn_blocking(move || mint(&run, &members)).await;
            let keys = keys.unwrap_or_else(|error| Err(error.to_string()));
            let _ = arrivals.send(Arrival::Keys(job, keys)).await;
        });
    }
}

fn mint(run: &str, members: &[String]) -> Result<Vec<JobNetwork>, String> {
    let id = super::control::random_number();
    let keys =
        credentials::mint(run, members.iter().map(String::as_str)).map_err(|error| error.to_string())?;
    // Where each node listens is for its node manager to say.
    let (listen, ports) = (String::new(), PortRange::ANY);
    let network =
        |key: Credential| JobNetwork { id, credential: key.to_pem(), listen: listen.clone(), ports };
    Ok(keys.into_iter().map(network).collect())
}

/// Whether nothing comes after a reply.
fn is_last(reply: &Reply) -> bool {
    match reply {
        Reply::Refused { .. } | Reply::Over(_) | Reply::Nodes(_) | Reply::Status(_) => true,
        Reply::Accepted { .. } | Reply::Remark(_) | Reply::Output { .. } | Reply::InputTaken { .. } => false,
    }
}

/// The clock. Nothing else in the daemon reads it.
#[allow(clippy::disallowed_methods, reason = "this is the driver")]
fn clock() -> Instant {
    Instant::now()
}

/// A text that no other run of a manager has: jobs are told apart by it for ever.
#[allow(clippy::disallowed_methods, reason = "a name needs no virtual time")]
fn stamp(cluster: &str) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    format!("{cluster}-{since}")
}

async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

/// As many descriptors as the administrator allows: one for each connection.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!("cannot raise the limit of open files: {error}");
    }
}

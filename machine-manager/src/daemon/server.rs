//! The task of the machine manager: it takes what comes in, has it decided, and carries out what was decided.

use super::HostId;
use super::clock::Clock;
use super::control::{Control, Event};
use super::control_thread::{ControlThread, Order};
use super::doors::{self, DoorError, LocalDoor};
use super::jobs::{Action, ClientId, Jobs, Offer, Owner};
use super::ledger::Held;
use super::limits::{
    ALL_LAUNCHES_UP_TO_BYTES, INPUTS_UP_TO_BYTES, LAUNCHES_UP_TO_BYTES, NODE_BYTES, SIGNALS_UP_TO_BYTES,
};
use super::listen::{Arrival, Reception};
use super::nodes::{Link, LinkId, Nodes};
use super::outbox::{Farewell, Outbox, OutboxError};
use super::view::Heartbeat;
use bcs_config::{Config, ConfigError, NetworkConfig};
use bcs_core::JobId;
use bcs_core::{PortRange, Transport, TransportChoice};
use bcs_credentials as credentials;
use bcs_credentials::MANAGER;
use bcs_credentials::{Credential, CredentialError};
use bcs_daemon::notify;
use bcs_daemon::secrecy;
use bcs_daemon::wait::or_never;
use bcs_protocol::node::{FromNode, ToNode, VERSION};
use bcs_protocol::storm::{ALPN, NodeRow, Reply, Request};
use bcs_stream::{SecureEnds, StreamError};
use program_launcher::launch::JobNetwork;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Arrivals that wait for the manager.
const ARRIVALS: usize = 1024;
/// Arrivals that are handled before what was decided is carried out.
const ARRIVALS_AT_ONCE: usize = 128;
/// How long jobs may take to end when the manager is told to.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);
/// How long the last words may take to be written.
const FAREWELL: Duration = Duration::from_millis(500);
/// How often it is looked whether nodes have taken what they were sent, while jobs wait for that.
const LOOK_FOR_ROOM: Duration = Duration::from_millis(5);

/// Why the daemon does not run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Its configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
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
    /// The thread of the control network is gone, and so are all nodes.
    #[error("the thread of the control network has ended; what it said before is above")]
    ControlEnded,
    /// What the kernel refuses.
    #[error("cannot {what}: {error}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
}

/// Runs the machine manager of the cluster of this configuration file until SIGTERM or SIGINT tells it to
/// end.
///
/// # Errors
/// It cannot begin.
pub fn run(file: &Path) -> Result<(), DaemonError> {
    secrecy::keep_memory();
    let system = |what| move |error| DaemonError::System { what, error };
    let config = Config::read(file)?;
    let key_path = config.paths.keys.join("manager.pem");
    let credential = Credential::load(&key_path)?;
    if credential.name() != MANAGER {
        return Err(DaemonError::OtherName { path: key_path, name: credential.name() });
    }
    let ends = SecureEnds::new(&credential, ALPN)?;
    raise_descriptor_limit();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("make something to wait with"))?;
    // Who sees the socket may send signals.
    let signals = runtime.block_on(async { Signals::watch() }).map_err(system("watch for signals"))?;
    let clock = Clock::start();
    let nodes = Nodes::new(config.nodes());
    let names: Vec<String> = nodes.iter().map(|(_, node)| node.name.clone()).collect();
    // Certificates know no upper case.
    let hosts: HashMap<String, HostId> =
        nodes.iter().map(|(host, node)| (node.name.to_ascii_lowercase(), host)).collect();
    let heartbeat = Heartbeat { period: config.heartbeat.period.0, missed: config.heartbeat.missed };
    let (sender, arrivals) = mpsc::channel(ARRIVALS);
    let reception = Reception::new(ends, hosts, config.users.clone(), sender.clone());
    // The socket is taken away when this function ends.
    let door = LocalDoor::reserve(&config.paths.run)?;
    let addresses = doors::open(&reception, &door, &config.cluster.manager, config.cluster.port)?;
    let hosts = names.len();
    let control = Control::new(credential, heartbeat, config.network.clone(), names);
    let control = ControlThread::start(control, hosts, clock)
        .map_err(system("start the thread of the control network"))?;
    let manager = Manager {
        clock,
        control,
        jobs: Jobs::new(stamp(&config.cluster.name)),
        nodes,
        heartbeat,
        clients: HashMap::new(),
        farewells: Vec::new(),
        arrivals: sender,
        network: config.network,
        reception,
    };
    if manager.network.transport.may_be_plain() {
        tracing::warn!(
            transport = %manager.network.transport,
            "what jobs send over libfabric is not sealed: the network between nodes is trusted"
        );
    }
    if !manager.network.seal {
        tracing::warn!(
            "jobs over TCP are not sealed between nodes ([network] seal = false): the network is trusted"
        );
    }
    tracing::info!(
        cluster = config.cluster.name,
        nodes = hosts,
        listens = addresses.join(" "),
        "the machine manager is ready"
    );
    notify::notify("READY=1").map_err(system("tell systemd that the daemon is ready (NOTIFY_SOCKET)"))?;
    let served = runtime.block_on(manager.serve(arrivals, signals, file));
    // Keys that are still being made are not waited for.
    runtime.shutdown_background();
    served
}

/// What the manager is told by signals.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn watch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }
}

/// All state of the machine manager.
#[derive(Debug)]
struct Manager {
    clock: Clock,
    nodes: Nodes,
    control: ControlThread,
    jobs: Jobs,
    heartbeat: Heartbeat,
    clients: HashMap<ClientId, Outbox>,
    farewells: Vec<Farewell>,
    /// What carries the networks of jobs.
    network: NetworkConfig,
    arrivals: mpsc::Sender<Arrival>,
    reception: Arc<Reception>,
}

impl Manager {
    async fn serve(
        mut self,
        mut arrivals: mpsc::Receiver<Arrival>,
        mut signals: Signals,
        file: &Path,
    ) -> Result<(), DaemonError> {
        let mut end_by: Option<Duration> = None;
        let watchdog = notify::watchdog_period();
        let mut alive_at = Duration::ZERO;
        loop {
            let now = self.now();
            if let Some(period) = watchdog.filter(|_| now >= alive_at) {
                alive_at = now + period;
                if let Err(error) = notify::notify("WATCHDOG=1") {
                    tracing::warn!(%error, "cannot tell systemd that the daemon is alive (NOTIFY_SOCKET)");
                }
            }
            if end_by.is_some_and(|at| now >= at || self.jobs.is_empty()) {
                break;
            }
            let jobs = self.jobs.wakes_at().map(|at| at.saturating_sub(now));
            let last = end_by.map(|at| at.saturating_sub(now));
            let room = self.jobs.wants_room().then_some(LOOK_FOR_ROOM);
            let alive = watchdog.map(|_| alive_at.saturating_sub(now));
            let wait = [jobs, last, room, alive].into_iter().flatten().min();
            tokio::select! {
                arrival = arrivals.recv() => {
                    let mut next = arrival;
                    for _ in 0..ARRIVALS_AT_ONCE {
                        let Some(arrival) = next else { break };
                        self.handle(arrival);
                        next = arrivals.try_recv().ok();
                    }
                    if let Some(arrival) = next {
                        self.handle(arrival);
                    }
                }
                event = self.control.event() => match event {
                    Some((link, event)) => self.handle_control(link, event),
                    None => return Err(DaemonError::ControlEnded),
                },
                () = or_never(wait.map(tokio::time::sleep)) => {}
                _ = signals.terminate.recv(), if end_by.is_none() => end_by = Some(self.end("SIGTERM")),
                _ = signals.interrupt.recv(), if end_by.is_none() => end_by = Some(self.end("SIGINT")),
                _ = signals.hangup.recv() => self.read_refused(file),
            }
            self.settle();
        }
        self.farewells.extend(std::mem::take(&mut self.clients).into_values().map(Outbox::close));
        let written = async {
            while !self.farewells.iter().all(Farewell::is_over) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let _ = tokio::time::timeout(FAREWELL, written).await;
        tracing::info!("the machine manager has ended");
        Ok(())
    }

    /// Reads again who is refused. Nothing else of the configuration is read while jobs run.
    fn read_refused(&self, file: &Path) {
        match Config::read(file) {
            Ok(config) => {
                tracing::info!(
                    "SIGHUP: users are refused by users.refused as it is now: {:?}",
                    config.users.refused
                );
                self.reception.refuse_users(config.users.refused);
            }
            Err(error) => {
                tracing::error!("SIGHUP: everybody who was refused still is, and nobody else: {error}")
            }
        }
    }

    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn end(&mut self, signal: &str) -> Duration {
        tracing::info!("{signal}: ending all jobs");
        let now = self.now();
        self.jobs.handle_shutdown(now);
        now + SHUTDOWN_LIMIT
    }

    /// Carries out what was decided, until nothing is left to do now.
    fn settle(&mut self) {
        let now = self.now();
        self.jobs.handle_time(now);
        loop {
            if let Some(action) = self.jobs.poll_action() {
                self.carry_out(action, now);
            } else if let Some((link, event)) = self.control.poll_event() {
                self.handle_control(link, event);
            } else {
                let nodes = &self.nodes;
                let waiting = |link: &Link| link.outbox.waiting_bytes();
                let has_room = |host| {
                    let all: usize =
                        nodes.iter().filter_map(|(_, node)| node.link.as_ref()).map(waiting).sum();
                    // A node that is gone needs no room: its jobs hear of it.
                    let own = nodes.link(host).map_or(0, waiting);
                    all < ALL_LAUNCHES_UP_TO_BYTES && own < LAUNCHES_UP_TO_BYTES
                };
                if !self.jobs.order_next(has_room, now) {
                    break;
                }
            }
        }
    }

    fn handle(&mut self, arrival: Arrival) {
        let now = self.now();
        match arrival {
            Arrival::Node { link, host, hello, reached_at, outbox } => {
                self.handle_hello(link, host, hello, reached_at, outbox, now);
            }
            Arrival::NodeSaid(link, host, message) if self.nodes.is_linked_by(host, link) => match message {
                FromNode::Bound { view, address } => self.control.order(Order::Bound(host, view, address)),
                FromNode::Hello { .. } => self.lose(host, "said hello twice", now),
                message => self.jobs.handle_node(host, message, now),
            },
            Arrival::NodeGone(link, host, reason) if self.nodes.is_linked_by(host, link) => {
                self.lose(host, &reason, now);
            }
            Arrival::NodeSaid(..) | Arrival::NodeGone(..) => {}
            Arrival::Client { client, owner, request, held, outbox } => {
                self.clients.insert(client, outbox);
                self.handle_first_request(client, owner, request, held, now);
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
        let FromNode::Hello { version, release, cores, memory, card } = hello else {
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
            let heard = self.control.heard_of(host);
            if heard.is_some_and(|heard| now < heard + self.heartbeat.limit()) {
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
        let rdma = card.as_ref().map(ToString::to_string);
        tracing::info!(host = self.nodes.name(host), cores, release, rdma, "a node has connected");
        self.nodes.connect(host, Link { id, outbox, cores, memory, card, is_up: false });
        self.control.order(Order::Joined(host, id, reached_at));
    }

    fn refuse(&self, host: HostId, outbox: Outbox, reason: String) {
        tracing::warn!(host = self.nodes.name(host), "refused: {reason}");
        // It is closed when that is written; who does not take it needs no reason.
        let _ = outbox.send(&ToNode::Refused(reason));
    }

    /// A node is gone: everybody gets to know it, and its connection is closed.
    fn lose(&mut self, host: HostId, reason: &str, now: Duration) {
        let Some(link) = self.nodes.disconnect(host, reason) else { return };
        tracing::warn!(host = self.nodes.name(host), "lost: it {reason}");
        link.outbox.abandon();
        self.control.order(Order::Gone(host));
        self.jobs.handle_lost_node(host, reason, now);
    }

    /// Something of the control network, about the node that had this connection.
    fn handle_control(&mut self, link: Option<LinkId>, event: Event) {
        let now = self.now();
        let is_of = |host| link.is_some_and(|link| self.nodes.is_linked_by(host, link));
        match event {
            Event::Tell(host, message) if is_of(host) => self.tell_node(host, &message, now),
            Event::Up(host) if is_of(host) => {
                tracing::info!(host = self.nodes.name(host), "a node is up");
                self.nodes.raise(host);
            }
            Event::Lost(host, reason) if is_of(host) => self.lose(host, &reason, now),
            // The node has gone since, or has connected again.
            Event::Tell(..) | Event::Up(_) | Event::Lost(..) => {}
            Event::Committed(job, has_started) => self.jobs.handle_commit(job, has_started, now),
        }
    }

    fn handle_first_request(
        &mut self,
        client: ClientId,
        owner: Owner,
        request: Request,
        held: Held,
        now: Duration,
    ) {
        match request {
            Request::Run(submission) => {
                let offers: Vec<Offer<'_>> = self
                    .nodes
                    .iter()
                    .filter(|(_, node)| node.is_up())
                    .map(|(host, node)| Offer { host, name: &node.name, cores: node.cores() })
                    .collect();
                self.jobs.handle_submission(client, owner, *submission, held, &offers, now);
            }
            Request::Nodes => {
                let mut loads = self.jobs.loads();
                let rows = self.nodes.iter().map(|(host, node)| {
                    let (ranks, jobs) = loads.remove(&host).unwrap_or_default();
                    NodeRow {
                        host: node.name.clone(),
                        state: node.state(),
                        cores: node.cores(),
                        memory: node.memory(),
                        card: node.card().cloned(),
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
            Action::Launch { job, host, at } => match self.jobs.launch_order(job, at) {
                Some(Ok(order)) => self.tell_node(host, &ToNode::Launch(Box::new(order)), now),
                Some(Err(error)) => self.jobs.handle_unsent(job, host, true, &error.to_string(), now),
                None => {}
            },
            Action::Mint { job, run, members, transport } => self.mint(job, run, members, transport),
            Action::Start(job, order) => self.control.order(Order::Start(job, order)),
            Action::CloseClient(client, fault) => self.close_client(client, fault, now),
            Action::CloseNode(host, fault) => self.lose(host, &format!("was disconnected: {fault}"), now),
        }
    }

    fn tell_node(&mut self, host: HostId, message: &ToNode, now: Duration) {
        let Some(link) = self.nodes.link(host) else { return };
        // What users make as long as they like is the fault of their jobs, and never of the node.
        let (job, limit_bytes) = match message {
            ToNode::Launch(order) => (Some(order.job), NODE_BYTES),
            ToNode::Input { job, .. } => (Some(*job), INPUTS_UP_TO_BYTES),
            _ => (None, NODE_BYTES),
        };
        match (link.outbox.send_within(message, limit_bytes), job) {
            // Its task says so in a moment.
            (Ok(()) | Err(OutboxError::Closed), _) => {}
            (Err(error), Some(job)) => {
                let is_launch = matches!(message, ToNode::Launch(_));
                self.jobs.handle_unsent(job, host, is_launch, &error.to_string(), now);
            }
            (Err(error), None) => self.lose(host, &format!("was disconnected: {error}"), now),
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
    fn mint(&self, job: JobId, run: String, members: Vec<String>, transport: Option<TransportChoice>) {
        let (arrivals, seal) = (self.arrivals.clone(), self.network.seal);
        let choice = transport.as_ref().unwrap_or(&self.network.transport);
        let transport = choice.for_nodes(members.iter().map(|name| self.nodes.by_name(name)?.card()));
        let is_trusted = !seal || self.network.transport.may_be_plain();
        tokio::spawn(async move {
            if !is_trusted && !transport.can_seal() {
                let refused = Err(format!(
                    "{transport} seals nothing, and here the network between nodes is not trusted: an \
                     administrator can write transport = \"auto\" or seal = false in [network] of the \
                     manager's configuration"
                ));
                let _ = arrivals.send(Arrival::Keys(job, refused)).await;
                return;
            }
            let keys = tokio::task::spawn_blocking(move || mint(&run, &members, &transport, seal)).await;
            let keys = keys.unwrap_or_else(|error| Err(error.to_string()));
            let keys = keys.map_err(|reason| format!("cannot make the keys of the job's network: {reason}"));
            let _ = arrivals.send(Arrival::Keys(job, keys)).await;
        });
    }
}

fn mint(run: &str, members: &[String], transport: &Transport, seal: bool) -> Result<Vec<JobNetwork>, String> {
    let id = super::control::random_number();
    let keys =
        credentials::mint(run, members.iter().map(String::as_str)).map_err(|error| error.to_string())?;
    // Where each node listens is for its node manager to say.
    let (listen, ports) = ([0; 4].into(), PortRange::ANY);
    let network = |key: Credential| JobNetwork {
        id,
        credential: key.to_pem(),
        listen,
        ports,
        transport: transport.clone(),
        seal,
    };
    Ok(keys.into_iter().map(network).collect())
}

/// Whether nothing comes after a reply.
fn is_last(reply: &Reply) -> bool {
    match reply {
        Reply::Refused { .. } | Reply::Over(_) | Reply::Nodes(_) | Reply::Status(_) => true,
        Reply::Accepted { .. } | Reply::Remark(_) | Reply::Output { .. } | Reply::InputTaken { .. } => false,
    }
}

/// A text that no other run of a manager has: jobs are told apart by it for ever.
#[allow(clippy::disallowed_methods, reason = "a name needs no virtual time")]
fn stamp(cluster: &str) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    format!("{cluster}-{since}")
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

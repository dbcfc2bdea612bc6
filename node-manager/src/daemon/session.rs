//! The stream to the machine manager, from the greeting to its end, and what the node does meanwhile.
//!
//! One loop holds all state; each job has a task ([`super::launched`]), and one writes the stream, so
//! that nothing waits for a slow reader. The control network has a thread ([`super::control_thread`]).
//! The invariant: when a session is over, for whatever reason, no job is left.

use super::address::listen_address;
use super::control_network::ControlSettings;
use super::control_thread::{ControlThread, NetworkEvent, NetworkOrder};
use super::jobs::{Jobs, Refusal};
use super::launched::{self, Ends, Event, Order};
use super::life::Ending;
use super::limits::ENDING;
use super::node::Node;
use super::outgoing::{Outgoing, Writing, outgoing};
use super::survey;
use bcs_core::JobId;
use bcs_credentials::MANAGER;
use bcs_daemon::wait::or_never;
use bcs_protocol::node::{FromNode, LaunchOrder, ToNode, VERSION};
use bcs_stream as stream;
use bcs_stream::Receiver;
use program_launcher::control::{Command, Notice};
use program_launcher::verdict::{STATUS_USAGE, Verdict};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsStream;

/// How long connecting, proving names and greeting may each take.
const GREETING: Duration = Duration::from_secs(5);

/// A connection on which nothing arrives is asked after this long whether its other end is still there,
/// so often, and so many times.
const SILENCE: Duration = Duration::from_secs(1);
const ASK_EVERY: Duration = Duration::from_secs(1);
const ASK_TIMES: u32 = 2;

/// How long what was sent may stay unacknowledged before the connection counts as broken, in
/// milliseconds: as long as a silent one.
const UNACKNOWLEDGED_MS: u32 = (SILENCE.as_millis() + ASK_EVERY.as_millis() * ASK_TIMES as u128) as u32;

/// How long the last messages and the goodbye may take.
const GOODBYE: Duration = Duration::from_secs(2);

type Stream = TlsStream<TcpStream>;

/// The wish to end the daemon.
#[derive(Debug)]
pub struct Termination {
    terminate: Signal,
    interrupt: Signal,
}

impl Termination {
    /// Listens to SIGTERM and SIGINT.
    ///
    /// # Errors
    /// The system has nothing to listen with.
    pub fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for it. Cancel safe.
    pub async fn wanted(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The daemon is to end.
    Terminated,
    /// The manager was not reached, or is lost.
    Lost(String),
}

/// Connects to the manager and serves it. `joined` is called when the manager has welcomed the node.
pub async fn run(node: &Rc<Node>, termination: &mut Termination, joined: impl FnOnce()) -> End {
    let greeted = tokio::select! {
        greeted = greet(node) => greeted,
        () = termination.wanted() => return End::Terminated,
    };
    match greeted {
        Ok(greeted) => {
            joined();
            match Session::new(node.clone(), greeted) {
                Ok(session) => session.serve(termination).await,
                Err(error) => End::Lost(format!("cannot start the thread of the control network: {error}")),
            }
        }
        Err(reason) => End::Lost(reason),
    }
}

/// A stream on which the node was welcomed.
struct Greeted {
    receiver: Receiver<ReadHalf<Stream>>,
    writer: WriteHalf<Stream>,
    listen: IpAddr,
    heartbeat: Duration,
    missed: u32,
}

async fn within<T, E: ToString>(what: &str, task: impl Future<Output = Result<T, E>>) -> Result<T, String> {
    match timeout(GREETING, task).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(format!("cannot {what}: {}", error.to_string())),
        Err(_) => Err(format!("cannot {what}: no answer within {GREETING:?}")),
    }
}

async fn greet(node: &Node) -> Result<Greeted, String> {
    let (host, port) = (node.manager.as_str(), node.port);
    let connect = format!("reach the machine manager at {host}:{port}");
    let socket = within(&connect, TcpStream::connect((host, port))).await?;
    watch_over(&socket).map_err(|error| format!("cannot {connect}: {error}"))?;
    let local = socket.local_addr().map_err(|error| format!("cannot {connect}: {error}"))?.ip();
    let listen = listen_address(node.interface.as_deref(), local).map_err(|error| error.to_string())?;
    let card = survey::network_card(node, listen).await;
    let prove = format!("be sure of the machine manager at {host}:{port}");
    let stream = within(&prove, node.ends.connect(socket, MANAGER)).await?;
    let (reader, mut writer) = tokio::io::split(stream);
    let mut receiver = Receiver::new(reader);
    let hello = FromNode::Hello {
        version: VERSION,
        release: env!("CARGO_PKG_VERSION").into(),
        cores: node.cores,
        memory: node.memory,
        card,
    };
    let greet = format!("be welcomed by the machine manager at {host}:{port}");
    within(&greet, stream::send(&mut writer, &hello)).await?;
    match within(&greet, receiver.receive::<ToNode>()).await? {
        Some(ToNode::Welcome { heartbeat_ms, missed }) => {
            let heartbeat = Duration::from_millis(heartbeat_ms.max(1).into());
            Ok(Greeted { receiver, writer, listen, heartbeat, missed: missed.max(1) })
        }
        Some(ToNode::Refused(reason)) => Err(format!("the machine manager refuses this node: {reason}")),
        Some(_) => Err(format!("cannot {greet}: it says something else first; it is of a different release")),
        None => Err(format!("cannot {greet}: it closed the connection; its log says why")),
    }
}

/// A manager whose host is gone says nothing, and nothing is said to it for long: the kernel asks.
fn watch_over(socket: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, SILENCE)?;
    sockopt::set_tcp_keepintvl(socket, ASK_EVERY)?;
    sockopt::set_tcp_keepcnt(socket, ASK_TIMES)?;
    Ok(sockopt::set_tcp_user_timeout(socket, UNACKNOWLEDGED_MS)?)
}

/// Writes what jobs and the node say, until nobody is left to say anything; then says goodbye.
async fn write(
    mut writer: WriteHalf<Stream>,
    mut own: mpsc::UnboundedReceiver<FromNode>,
    mut of_jobs: Writing,
) -> String {
    loop {
        let written = tokio::select! {
            biased;
            Some(message) = own.recv() => stream::send(&mut writer, &message).await,
            Some(waiting) = of_jobs.next() => stream::send_frame(&mut writer, waiting.frame.bytes()).await,
            else => break,
        };
        if let Err(error) = written {
            return error.to_string();
        }
    }
    writer.shutdown().await.err().map_or_else(String::new, |error| error.to_string())
}

struct Session {
    node: Rc<Node>,
    receiver: Receiver<ReadHalf<Stream>>,
    writing: JoinHandle<String>,
    listen: IpAddr,
    /// To the manager, from the node itself: few and short.
    own: mpsc::UnboundedSender<FromNode>,
    /// To the manager, from jobs.
    of_jobs: Outgoing,
    events: (mpsc::UnboundedSender<Event>, mpsc::UnboundedReceiver<Event>),
    jobs: Jobs,
    orders: BTreeMap<JobId, mpsc::UnboundedSender<Order>>,
    control: ControlThread,
    /// How long beats and the stream may be silent before that is worth a line.
    silence: Duration,
    heard_at: Instant,
    silence_told: bool,
    /// The daemon is ending, at the latest then.
    ends_at: Option<Instant>,
}

impl Session {
    fn new(node: Rc<Node>, greeted: Greeted) -> io::Result<Self> {
        let Greeted { receiver, writer, listen, heartbeat, missed } = greeted;
        let (own, own_messages) = mpsc::unbounded_channel();
        let (of_jobs, frames) = outgoing();
        let control = ControlThread::start(ControlSettings {
            credential: node.credential.clone(),
            listen,
            ports: node.ports,
            sockets: node.sockets.clone(),
            fanout: node.fanout,
            heartbeat,
            missed,
        })?;
        tracing::info!(manager = node.manager, %listen, ?heartbeat, missed, "joined");
        Ok(Self {
            receiver,
            writing: tokio::task::spawn_local(write(writer, own_messages, frames)),
            listen,
            own,
            of_jobs,
            events: mpsc::unbounded_channel(),
            jobs: Jobs::default(),
            orders: BTreeMap::new(),
            control,
            silence: heartbeat * missed,
            heard_at: Instant::now(),
            silence_told: false,
            ends_at: None,
            node,
        })
    }

    async fn serve(mut self, termination: &mut Termination) -> End {
        let mut look = tokio::time::interval(self.silence);
        let lost = loop {
            if self.ends_at.is_some_and(|at| self.jobs.count() == 0 || at <= Instant::now()) {
                break None;
            }
            tokio::select! {
                message = self.receiver.receive::<ToNode>() => match message {
                    Ok(Some(message)) => {
                        self.heard_at = Instant::now();
                        if let Err(reason) = self.handle(message) {
                            break Some(reason);
                        }
                    }
                    Ok(None) => break Some("the machine manager closed the connection".into()),
                    Err(error) => break Some(format!("the connection to the machine manager is lost: {error}")),
                },
                Some(event) = self.events.1.recv() => self.handle_event(event),
                event = self.control.event() => {
                    if let Err(reason) = self.handle_control(event) {
                        break Some(reason);
                    }
                }
                reason = &mut self.writing => {
                    let reason = reason.unwrap_or_else(|error| error.to_string());
                    break Some(format!("the connection to the machine manager is lost: {reason}"));
                }
                _ = look.tick() => self.look_at_beat(),
                () = termination.wanted(), if self.ends_at.is_none() => {
                    tracing::info!(jobs = self.jobs.count(), "ends");
                    self.ends_at = Some(Instant::now() + ENDING);
                    self.end_all(Ending::Shutdown);
                }
                () = or_never(self.ends_at.map(tokio::time::sleep_until)) => {}
            }
        };
        match lost {
            None => {
                self.part().await;
                End::Terminated
            }
            Some(reason) => {
                if self.give_up(termination).await || self.ends_at.is_some() {
                    return End::Terminated;
                }
                End::Lost(reason)
            }
        }
    }

    fn end_all(&self, ending: Ending) {
        for orders in self.orders.values() {
            // One that has ended does not listen.
            let _ = orders.send(Order::End(ending));
        }
    }

    /// Leaves in order: all jobs are over.
    async fn part(mut self) {
        self.control.leave();
        drop((self.own, self.of_jobs, self.events, self.orders));
        let _ = timeout(GOODBYE, &mut self.writing).await;
        self.writing.abort();
        self.control.left().await;
    }

    /// Ends all jobs, since nobody is left who wants them. True if the daemon is to end meanwhile.
    async fn give_up(&mut self, termination: &mut Termination) -> bool {
        // Jobs see that nobody takes anything any more.
        self.writing.abort();
        // Where it was the writing that ended, it has been waited for.
        if !self.writing.is_finished() {
            let _ = (&mut self.writing).await;
        }
        self.end_all(Ending::ManagerLost);
        self.control.leave();
        let (until, mut is_wanted) = (Instant::now() + ENDING, false);
        while self.jobs.count() > 0 {
            tokio::select! {
                Some(event) = self.events.1.recv() => self.handle_event(event),
                () = termination.wanted(), if !is_wanted => is_wanted = true,
                () = tokio::time::sleep_until(until) => {
                    tracing::error!(jobs = self.jobs.count(), "there are jobs that cannot be ended");
                    break;
                }
            }
        }
        self.control.left().await;
        is_wanted
    }

    fn say(&self, message: FromNode) {
        // That nobody writes shows in its place.
        let _ = self.own.send(message);
    }

    /// What the manager says.
    ///
    /// # Errors
    /// The session is of no use any more.
    fn handle(&mut self, message: ToNode) -> Result<(), String> {
        match message {
            ToNode::Welcome { .. } => {}
            ToNode::Refused(reason) => {
                return Err(format!("the machine manager refuses this node: {reason}"));
            }
            ToNode::Bind { view, network } => self.control.order(NetworkOrder::Bind(view, network)),
            ToNode::View { view, roster } => self.control.order(NetworkOrder::Connect(view, roster)),
            ToNode::Launch(order) => self.launch(*order),
            // What is in it (a user's environment) is not to be in the log.
            ToNode::Launcher { job, command: Command::Go | Command::Launch(_) } => {
                tracing::error!(job = job.0, "the manager says what only a node manager says");
            }
            ToNode::Launcher { job, command } => self.order(job, Order::Tell(command)),
            ToNode::Input { job, bytes } => self.order(job, Order::Input(bytes)),
            ToNode::OutputTaken { job, bytes } => self.order(job, Order::OutputTaken(bytes)),
        }
        Ok(())
    }

    /// What has come of the control network.
    ///
    /// # Errors
    /// The session is of no use any more.
    fn handle_control(&mut self, event: Option<NetworkEvent>) -> Result<(), String> {
        match event.ok_or("the thread of the control network has ended")? {
            NetworkEvent::Bound(view, address) => {
                self.say(FromNode::Bound { view, address });
            }
            NetworkEvent::Joined(view, members) => {
                tracing::info!(view, members, "view");
                self.jobs.handle_view();
                self.show_prepared();
            }
            NetworkEvent::Go(slot, job) => {
                if let Some(job) = self.jobs.handle_go(slot, job) {
                    tracing::info!(job = job.0, slot, "go");
                    self.order(job, Order::Tell(Command::Go));
                    self.show_prepared();
                }
            }
            NetworkEvent::Failed(reason) => return Err(reason),
        }
        Ok(())
    }

    fn order(&self, job: JobId, order: Order) {
        let told = self.orders.get(&job).map(|orders| orders.send(order));
        if !matches!(told, Some(Ok(()))) {
            // It has ended, and the manager does not know that yet.
            tracing::debug!(job = job.0, "is not here");
        }
    }

    fn launch(&mut self, order: LaunchOrder) {
        let job = order.job;
        let host = &self.node.host;
        let admitted = match self.ends_at {
            Some(_) => Err(Refusal::Ending),
            None => self.jobs.admit(job, order.slot),
        };
        let refusal = match admitted {
            Ok(()) => None,
            // To say that it is over would be said of the other.
            Err(known @ Refusal::Known(_)) => return tracing::error!(%known, "a launch is refused"),
            Err(refusal) => Some(format!("{host} cannot launch the job: {refusal}")),
        };
        if let Some(message) = refusal {
            let verdict = Verdict::NotStarted { message, status: STATUS_USAGE };
            return self.say(FromNode::Launcher { job, notice: Notice::Over(verdict) });
        }
        let (orders, receiver) = mpsc::unbounded_channel();
        self.orders.insert(job, orders);
        let ends = Ends { orders: receiver, manager: self.of_jobs.clone(), events: self.events.0.clone() };
        tokio::task::spawn_local(launched::run(self.node.clone(), order, self.listen, ends));
    }

    fn handle_event(&mut self, event: Event) {
        match event {
            Event::Prepared(job) => self.jobs.handle_prepared(job),
            Event::Ended(job) => {
                self.jobs.handle_end(job);
                self.orders.remove(&job);
            }
        }
        self.show_prepared();
    }

    /// Has shown what is prepared now.
    fn show_prepared(&mut self) {
        while let Some((slot, value)) = self.jobs.poll_store() {
            self.control.order(NetworkOrder::Show(slot, value));
            self.jobs.handle_stored(slot, value);
        }
    }

    /// Says once that the manager is silent. What follows from that is decided by the end of the stream.
    fn look_at_beat(&mut self) {
        let since_beat = self.control.since_beat().filter(|since| *since > self.silence);
        let is_silent = since_beat.is_some() && self.heard_at.elapsed() > self.silence;
        if is_silent != self.silence_told {
            self.silence_told = is_silent;
            match since_beat {
                Some(since) if is_silent => tracing::warn!(
                    ?since,
                    "the machine manager is silent: no beat, and nothing on its stream"
                ),
                _ => tracing::info!("the machine manager is there again"),
            }
        }
    }
}

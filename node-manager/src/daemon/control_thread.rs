//! The thread of the control network: it answers the beat, shows which jobs are prepared, and hears which of
//! them start.
//!
//! It has a real-time priority where the system allows it: a node that does not answer for three heartbeats
//! counts as dead, however many ranks compute or poll on it. The rest of the daemon has the ordinary one,
//! because it waits for processes and reads `/proc` ([`nic_emu::priority`] says why), and passes on what jobs
//! say. Nothing is done here but this.
//!
//! Orders go in and events come out, each in their order. So what is ordered after a view was ordered is for
//! that view, and what is told after [`NetworkEvent::Joined`] is of that view.

use super::control_network::{ControlNetwork, ControlSettings};
use bcs_daemon::wait::or_never;
use bcs_quic::Member;
use nic_emu::priority::{self, Level};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// How long after it has failed an end of a view is tried to be bound again.
const BIND_AGAIN: Duration = Duration::from_millis(100);

/// What the network is to do.
#[derive(Debug)]
pub enum NetworkOrder {
    /// Bind an end of a view on this network. That none can be had is no reason to leave the present view: it
    /// is tried until the manager has given this one up.
    Bind(u64, u128),
    /// Leave the last view and connect this one.
    Connect(u64, Vec<Member>),
    /// Show in a slot which job is prepared here; 0 is none.
    Show(u32, u64),
}

/// What has come of it.
#[derive(Debug)]
pub enum NetworkEvent {
    /// An end of the view listens there.
    Bound(u64, SocketAddr),
    /// The node is on this view, of so many members. Nothing is shown in it yet.
    Joined(u64, usize),
    /// The job that the slot shows starts. May be told again in another view.
    Go(u32, u64),
    /// The session is of no use any more, and why.
    Failed(String),
}

/// The other threads' end of it. When this is dropped, the node leaves the network.
#[derive(Debug)]
pub struct ControlThread {
    orders: Option<mpsc::UnboundedSender<NetworkOrder>>,
    events: mpsc::UnboundedReceiver<NetworkEvent>,
    begun: Instant,
    /// When the last beat was, or the beginning of the view, in microseconds since `begun`; 0 on no view.
    beat_at: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl ControlThread {
    /// Starts the thread, on no view yet.
    ///
    /// # Errors
    /// The kernel gives no thread, or nothing to wait with.
    pub fn start(settings: ControlSettings) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (orders, to_do) = mpsc::unbounded_channel();
        let (tell, events) = mpsc::unbounded_channel();
        let (begun, beat_at) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let of_thread = beat_at.clone();
        let thread = std::thread::Builder::new().name("control".into()).spawn(move || {
            if let Err(error) = priority::raise(Level::Daemon) {
                tracing::warn!(%error, "runs at the ordinary priority: beside ranks that poll the node may be taken for dead; allow CAP_SYS_NICE");
            }
            let driver = Driver {
                network: ControlNetwork::new(settings),
                unbound: None,
                to_show: BTreeMap::new(),
                shown: BTreeMap::new(),
                tell,
                begun,
                beat_at: of_thread,
            };
            runtime.block_on(driver.serve(to_do));
            drop(runtime);
            // What the kernel does at its end is not urgent.
            priority::lower();
        })?;
        Ok(Self { orders: Some(orders), events, begun, beat_at, thread: Some(thread) })
    }

    /// Has something done.
    pub fn order(&self, order: NetworkOrder) {
        if let Some(orders) = &self.orders {
            // That the thread has ended is seen where its events are taken.
            let _ = orders.send(order);
        }
    }

    /// What has come of it next; none when the thread has ended. Cancel safe.
    pub async fn event(&mut self) -> Option<NetworkEvent> {
        self.events.recv().await
    }

    /// How long ago the last beat was, or the beginning of the view.
    pub fn since_beat(&self) -> Option<Duration> {
        let at = Some(self.beat_at.load(Ordering::Relaxed)).filter(|at| *at > 0)?;
        Some(self.begun.elapsed().saturating_sub(Duration::from_micros(at)))
    }

    /// Begins to leave the network.
    pub fn leave(&mut self) {
        self.orders = None;
    }

    /// Leaves the network, to the end.
    pub async fn left(&mut self) {
        self.leave();
        while self.events.recv().await.is_some() {}
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        self.leave();
        if let Some(thread) = self.thread.take() {
            // It waits for nobody for long. That it has panicked was said.
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Driver {
    network: ControlNetwork,
    /// The view whose socket could not be had, its network, and when it is tried again.
    unbound: Option<(u64, u128, Instant)>,
    /// What is to be shown in which slot of this view.
    to_show: BTreeMap<u32, u64>,
    /// What is shown, and was not told to start yet.
    shown: BTreeMap<u32, u64>,
    tell: mpsc::UnboundedSender<NetworkEvent>,
    begun: Instant,
    beat_at: Arc<AtomicU64>,
}

impl Driver {
    async fn serve(mut self, mut orders: mpsc::UnboundedReceiver<NetworkOrder>) {
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.carry_out(order),
                    None => break,
                },
                moved = self.network.moved() => {
                    if let Err(error) = moved {
                        tracing::error!(%error, "the control network has failed");
                    }
                }
                () = or_never(self.unbound.map(|(.., at)| sleep_until(at))) => {
                    if let Some((view, network, _)) = self.unbound {
                        self.bind(view, network);
                    }
                }
            }
            self.show();
            self.look();
        }
        if let Some(leaving) = self.network.leave() {
            let _ = leaving.await;
        }
    }

    fn carry_out(&mut self, order: NetworkOrder) {
        match order {
            NetworkOrder::Bind(view, network) => {
                self.unbound = None;
                self.bind(view, network);
            }
            NetworkOrder::Connect(view, roster) => {
                let members = roster.len();
                match self.connect(view, roster) {
                    Ok(()) => self.say(NetworkEvent::Joined(view, members)),
                    Err(reason) => self.say(NetworkEvent::Failed(reason)),
                }
            }
            NetworkOrder::Show(slot, job) => {
                self.to_show.insert(slot, job);
            }
        }
    }

    fn bind(&mut self, view: u64, network: u128) {
        match self.network.bind(view, network) {
            Ok(address) => {
                tracing::debug!(view, %address, "bound");
                self.unbound = None;
                self.say(NetworkEvent::Bound(view, address));
            }
            Err(error) => {
                if self.unbound.is_none() {
                    tracing::error!(view, %error, "tries again");
                }
                self.unbound = Some((view, network, Instant::now() + BIND_AGAIN));
            }
        }
    }

    fn connect(&mut self, view: u64, roster: Vec<Member>) -> Result<(), String> {
        // What the last one has said about launches is heard before it is left.
        self.network.progress().map_err(|error| error.to_string())?;
        self.look();
        // Whoever has joined shows everything again.
        self.to_show.clear();
        self.shown.clear();
        self.network.connect(view, roster).map_err(|error| error.to_string())
    }

    /// Shows what is to be shown, as far as the network takes it now.
    fn show(&mut self) {
        while let Some((&slot, &job)) = self.to_show.first_key_value() {
            match self.network.show(slot, job) {
                Ok(true) => {
                    self.to_show.remove(&slot);
                    match job {
                        0 => self.shown.remove(&slot),
                        job => self.shown.insert(slot, job),
                    };
                }
                Ok(false) => return,
                Err(error) => return tracing::error!(%error, "the control network has failed"),
            }
        }
    }

    /// Tells what starts, and when the last beat was.
    fn look(&mut self) {
        for (slot, job) in self.shown.extract_if(.., |slot, job| self.network.go(*slot) == *job) {
            // Nobody listens when the session is over.
            let _ = self.tell.send(NetworkEvent::Go(slot, job));
        }
        let at = self.network.since_beat().map(|since| self.begun.elapsed().saturating_sub(since));
        self.beat_at.store(at.map_or(0, |at| (at.as_micros() as u64).max(1)), Ordering::Relaxed);
    }

    fn say(&self, event: NetworkEvent) {
        let _ = self.tell.send(event);
    }
}

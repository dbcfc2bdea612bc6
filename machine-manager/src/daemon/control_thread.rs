//! The thread of the control network: it beats, finds dead nodes and starts jobs, whatever the rest of the
//! manager is busy with.
//!
//! Node managers end all their jobs when the manager is silent for some seconds. So what users ask for is
//! decoded, decided and encoded on other threads, and this one, at a real-time priority where the system
//! allows it, does nothing but this. Orders go in and events come out, each in their order. Invariant: an
//! event names the connection of the node that it is about, because the node may have another one by the time
//! the event is looked at.

use super::HostId;
use super::clock::Clock;
use super::control::{Control, Event};
use super::jobs::StartOrder;
use super::nodes::LinkId;
use bcs_core::JobId;
use bcs_daemon::wait::or_never;
use nic_emu::priority::{self, Level};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

/// Orders that are carried out before the network gets its turn.
const ORDERS_AT_ONCE: usize = 128;

/// What the network is to do.
#[derive(Debug)]
pub enum Order {
    /// A node has connected, by this connection, to this address here.
    Joined(HostId, LinkId, IpAddr),
    /// A node has gone.
    Gone(HostId),
    /// A node has bound its end of a view.
    Bound(HostId, u64, SocketAddr),
    /// Something about the start of a job.
    Start(JobId, StartOrder),
}

/// When something of each node was heard last on the control network, in microseconds; 0 if nothing was.
#[derive(Debug)]
struct Heard(Box<[AtomicU64]>);

impl Heard {
    fn set(&self, host: HostId, at: Option<Duration>) {
        if let Some(heard) = self.0.get(host.0 as usize) {
            heard.store(at.map_or(0, |at| (at.as_micros() as u64).max(1)), Ordering::Relaxed);
        }
    }

    fn get(&self, host: HostId) -> Option<Duration> {
        let heard = self.0.get(host.0 as usize)?.load(Ordering::Relaxed);
        (heard > 0).then(|| Duration::from_micros(heard))
    }
}

/// The other threads' end of it. When this is dropped, the manager leaves the network.
#[derive(Debug)]
pub struct ControlThread {
    orders: Option<mpsc::UnboundedSender<Order>>,
    events: mpsc::UnboundedReceiver<(Option<LinkId>, Event)>,
    heard: Arc<Heard>,
    thread: Option<JoinHandle<()>>,
}

impl ControlThread {
    /// Starts the thread, for so many hosts.
    ///
    /// # Errors
    /// The kernel gives no thread, or nothing to wait with.
    pub fn start(control: Control, hosts: usize, clock: Clock) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (orders, to_do) = mpsc::unbounded_channel();
        let (tell, events) = mpsc::unbounded_channel();
        let heard = Arc::new(Heard((0..hosts).map(|_| AtomicU64::new(0)).collect()));
        let driver = Driver { control, links: BTreeMap::new(), tell, heard: heard.clone(), clock };
        let thread = std::thread::Builder::new().name("control".into()).spawn(move || {
            if let Err(error) = priority::raise(Level::Daemon) {
                tracing::warn!(%error, "runs at the ordinary priority: beside ranks that poll, nodes may be taken for dead; allow CAP_SYS_NICE");
            }
            runtime.block_on(driver.serve(to_do));
            // What the kernel does at its end is not urgent.
            priority::lower();
        })?;
        Ok(Self { orders: Some(orders), events, heard, thread: Some(thread) })
    }

    /// Has something done.
    pub fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // That the thread has ended is seen where its events are taken.
            let _ = orders.send(order);
        }
    }

    /// What has come of it next; none when the thread has ended. Cancel safe.
    pub async fn event(&mut self) -> Option<(Option<LinkId>, Event)> {
        self.events.recv().await
    }

    /// What has come of it by now.
    pub fn poll_event(&mut self) -> Option<(Option<LinkId>, Event)> {
        self.events.try_recv().ok()
    }

    /// When something of a node was heard last on the open view.
    pub fn heard_of(&self, host: HostId) -> Option<Duration> {
        self.heard.get(host)
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It waits for nobody. That it has panicked was said.
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Driver {
    control: Control,
    /// By which connection a node has joined.
    links: BTreeMap<HostId, LinkId>,
    tell: mpsc::UnboundedSender<(Option<LinkId>, Event)>,
    heard: Arc<Heard>,
    clock: Clock,
}

impl Driver {
    async fn serve(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        loop {
            let wait = self.control.wakes_in(self.clock.now());
            tokio::select! {
                order = orders.recv() => {
                    let mut next = order;
                    if next.is_none() {
                        return self.control.leave();
                    }
                    for _ in 0..ORDERS_AT_ONCE {
                        let Some(order) = next else { break };
                        self.carry_out(order);
                        next = orders.try_recv().ok();
                    }
                    if let Some(order) = next {
                        self.carry_out(order);
                    }
                }
                () = self.control.arrived() => {}
                () = or_never(wait.map(tokio::time::sleep)) => {}
            }
            self.progress();
        }
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Joined(host, link, reached_at) => {
                self.links.insert(host, link);
                self.control.handle_joined(host, reached_at, self.clock.now());
            }
            Order::Gone(host) => {
                self.links.remove(&host);
                self.heard.set(host, None);
                self.control.handle_gone(host);
            }
            Order::Bound(host, view, address) => self.control.handle_bound(host, view, address),
            Order::Start(job, order) => self.control.handle_start(job, order),
        }
    }

    /// Moves the network, and tells what has come of it before anything else is ordered.
    fn progress(&mut self) {
        if let Err(error) = self.control.progress(self.clock.now()) {
            tracing::error!("{error}; all nodes are to join again");
            self.control.abandon("was disconnected, because the control network failed");
        }
        while let Some(event) = self.control.poll_event() {
            let link = match &event {
                Event::Tell(host, _) | Event::Up(host) | Event::Lost(host, _) => {
                    self.links.get(host).copied()
                }
                Event::Committed(..) => None,
            };
            // Nobody listens when the manager ends.
            let _ = self.tell.send((link, event));
        }
        for host in self.links.keys() {
            self.heard.set(*host, self.control.heard_of(*host));
        }
    }
}

//! This node's end of the control network: the beat, and the commit of launches (paper, §4.1;
//! [`bcs_protocol::commit`]).
//!
//! A view is a set of nodes with a network of its own. A node binds an end, says where it listens, and
//! connects when the roster comes; the last view is left on a thread of its own, because leaving waits for
//! others.

use super::control_sockets::{ControlSockets, KeptSocket};
use bcs_core::PortRange;
use bcs_core::{EventTable, GlobalVariable, SparseMemory};
use bcs_credentials::Credential;
use bcs_daemon::wait::{or_never, watch};
use bcs_fabric::{Fabric, FabricError};
use bcs_protocol::commit;
use bcs_quic::{BindError, Member, NetworkId, QuicFabric, QuicOptions, QuicPort, RosterError};
use program_launcher::output::is_ready;
use rustix::event::PollFlags;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// How long leaving a view may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// A node does not hold another for dead before the manager does, which looks every heartbeat: its own
/// patience is so many times the manager's.
const TIMES_THE_MANAGERS: u32 = 4;

/// The least patience with a silent link: a process that is not run for a while is not dead.
const LEAST_PATIENCE: Duration = Duration::from_secs(3);

/// Why this node is not on the control network.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The end of a view cannot be bound.
    #[error("cannot join the control network: {0}")]
    Bind(#[from] BindError),
    /// The roster cannot be.
    #[error("cannot join the control network: {0}")]
    Roster(#[from] RosterError),
    /// This view was announced, for which no end is bound.
    #[error("view {0} was announced without having been bound; the managers are of different releases")]
    NotBound(u64),
    /// The system does not let us wait for the network, or has no descriptor for it.
    #[error("cannot wait for the control network: {0}")]
    Wait(#[from] io::Error),
}

/// How this node is on control networks.
#[derive(Clone, Debug)]
pub struct ControlSettings {
    /// Who it is.
    pub credential: Credential,
    /// Where it listens.
    pub listen: IpAddr,
    /// The ports there of which sockets are taken.
    pub ports: PortRange,
    /// Those that were taken.
    pub sockets: Arc<ControlSockets>,
    /// The number of children in the tree, which is the same on all nodes.
    pub fanout: usize,
    /// The time between two heartbeats.
    pub heartbeat: Duration,
    /// How many may be missed.
    pub missed: u32,
}

/// This node's end of the control network.
#[derive(Debug)]
pub struct ControlNetwork {
    settings: ControlSettings,
    bound: Option<(u64, QuicPort, KeptSocket)>,
    joined: Option<Joined>,
}

#[derive(Debug)]
struct Joined {
    fabric: QuicFabric,
    /// Another descriptor of the fabric's socket.
    readiness: AsyncFd<OwnedFd>,
    /// Whether more had arrived than was taken at once.
    is_readable: bool,
    beat: u64,
    beat_at: Instant,
    /// The fabric's socket, for a later view.
    kept: KeptSocket,
}

impl ControlNetwork {
    /// On no view yet.
    pub fn new(settings: ControlSettings) -> Self {
        Self { settings, bound: None, joined: None }
    }

    /// Binds an end of a view, and says where it listens.
    ///
    /// # Errors
    /// No socket can be had. It may be tried again.
    pub fn bind(&mut self, view: u64, network: u128) -> Result<SocketAddr, ControlError> {
        let ControlSettings { credential, listen, ports, sockets, fanout, heartbeat, missed } =
            &self.settings;
        // That of a view which has not come about is free.
        self.bound = None;
        let kept = sockets.take(*listen, *ports)?;
        let options = QuicOptions::new(NetworkId(network), credential.clone(), *listen);
        let patience = (*heartbeat * *missed * TIMES_THE_MANAGERS).max(LEAST_PATIENCE);
        let options = QuicOptions {
            ports: *ports,
            fanout: *fanout,
            keep_alive: patience / 8,
            idle_timeout: patience,
            connect_timeout: patience,
            ..options
        };
        let port = QuicPort::with_socket(options, kept.handle()?)?;
        let address = port.local_address();
        self.bound = Some((view, port, kept));
        Ok(address)
    }

    /// Leaves the last view and connects this one.
    ///
    /// # Errors
    /// The view was not bound, or its roster cannot be. The node is on no view then.
    pub fn connect(&mut self, view: u64, roster: Vec<Member>) -> Result<(), ControlError> {
        drop(self.leave());
        let (port, kept) = match self.bound.take() {
            Some((bound, port, kept)) if bound == view => (port, kept),
            _ => return Err(ControlError::NotBound(view)),
        };
        let memory = SparseMemory::new(commit::MEMORY_BYTES);
        let fabric = port.connect(roster, memory, EventTable::new(commit::EVENTS))?;
        let socket = fabric.as_fd().try_clone_to_owned()?;
        let readiness = watch(socket)?;
        let beat_at = Instant::now();
        // What has arrived before it was watched is looked for first.
        self.joined = Some(Joined { fabric, readiness, is_readable: true, beat: 0, beat_at, kept });
        Ok(())
    }

    /// Leaves the view; the task ends when that is done.
    pub fn leave(&mut self) -> Option<JoinHandle<()>> {
        let Joined { mut fabric, readiness, kept, .. } = self.joined.take()?;
        drop(readiness);
        let leaving = tokio::task::spawn_blocking(move || {
            // Who has not acknowledged by then is told by the end of the link.
            let _ = fabric.shutdown(PATIENCE);
        });
        Some(tokio::spawn(async move {
            let _ = leaving.await;
            drop(kept);
        }))
    }

    /// Waits until something has arrived or is due, and does what is to be done. Never returns while the node
    /// is on no view. Cancel safe.
    ///
    /// # Errors
    /// The network itself has failed, and the node is on no view any more.
    pub async fn moved(&mut self) -> Result<(), FabricError> {
        let Some(joined) = &mut self.joined else { return std::future::pending().await };
        if joined.is_readable {
            // Others are to have their turn, however much arrives.
            tokio::task::yield_now().await;
        } else {
            let due = joined.fabric.next_timeout();
            tokio::select! {
                ready = joined.readiness.readable() => {
                    // That it cannot be waited for any more shows in the next progress.
                    if let Ok(mut ready) = ready {
                        ready.clear_ready();
                    }
                }
                () = or_never(due.map(|due| sleep_until(due.into()))) => {}
            }
        }
        self.progress()
    }

    /// Shows in the slot which job is prepared here. False when it is to be tried again after the next move.
    ///
    /// # Errors
    /// The network itself has failed.
    pub fn show(&mut self, slot: u32, job: u64) -> Result<bool, FabricError> {
        let Some(joined) = &mut self.joined else { return Ok(false) };
        match joined.fabric.store(commit::prepared(slot), job) {
            Ok(()) => self.progress().map(|()| true),
            Err(FabricError::Busy { .. }) => Ok(false),
            Err(error) => {
                self.joined = None;
                Err(error)
            }
        }
    }

    /// Which job of the slot starts; 0 is none.
    pub fn go(&self, slot: u32) -> u64 {
        self.load(commit::go(slot))
    }

    /// How long ago the last beat was, or the beginning of the view.
    pub fn since_beat(&self) -> Option<Duration> {
        self.joined.as_ref().map(|joined| joined.beat_at.elapsed())
    }

    fn load(&self, variable: GlobalVariable) -> u64 {
        // All variables of the control network are in its memory.
        self.joined.as_ref().and_then(|joined| joined.fabric.load(variable).ok()).unwrap_or(0)
    }

    /// Does what can be done now.
    ///
    /// # Errors
    /// As [`ControlNetwork::moved`].
    pub fn progress(&mut self) -> Result<(), FabricError> {
        let Some(joined) = &mut self.joined else { return Ok(()) };
        if let Err(error) = joined.fabric.progress() {
            self.joined = None;
            return Err(error);
        }
        joined.is_readable = is_ready(&joined.fabric, PollFlags::IN);
        let beat = self.load(commit::BEAT);
        if let Some(joined) = &mut self.joined
            && joined.beat != beat
        {
            (joined.beat, joined.beat_at) = (beat, Instant::now());
        }
        Ok(())
    }
}

//! The `node-manager` daemon: one on every node of a cluster, which starts launchers as the users of their
//! jobs (paper, §4.1; design §2).
//!
//! ```text
//!  machine manager ◄══ TLS stream ══► session ◄──► launched (one a job) ◄── socket, pipes ──► program launcher
//!                  ◄─ control network ─►  │  jobs: slots, who may start
//!                     (beat, commit)      └─ life, credit: what is passed on, and how much
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `node` | what this node is: its name, its configuration, its credential |
//! | `session` | the stream to the machine manager, and the loop of the daemon |
//! | `limits` | what a user's job may take of the node manager, in bytes, time and number |
//! | `control_thread` | the thread of this node's end of the control network, the only urgent one |
//! | `control_network`, `control_sockets` | that end |
//! | `jobs` | which jobs there are, and their slots; no I/O |
//! | `launched` | a launcher's process, socket and pipes |
//! | `life` | what is made of what a launcher says; no I/O |
//! | `credit`, `outgoing` | how much output and input, and how much for the manager, may be under way; no I/O |
//! | `spawn`, `users` | executing a launcher as the user of its job |
//! | `groups`, `strays` | the control group of a job, and what launchers have left |
//! | `address`, `patience`, `notify` | where the node listens, how often it tries, what systemd is told |
//!
//! The invariant: no process of a job is left when the job is over, when the manager is lost, or when the
//! daemon ends.

mod address;
mod control_network;
mod control_sockets;
mod control_thread;
mod credit;
mod error;
mod groups;
mod jobs;
mod launched;
mod life;
mod limits;
mod node;
mod outgoing;
mod patience;
mod session;
mod spawn;
mod strays;
mod survey;
mod users;

pub use error::{DaemonError, LAUNCHER};
pub use node::Node;

use bcs_daemon::{notify, secrecy};
use nic_emu::priority;
use patience::Patience;
use session::{End, Termination};
use std::io;
use std::path::Path;
use std::rc::Rc;
use tokio::task::LocalSet;

/// Serves the cluster as the manager of this node, until SIGTERM or SIGINT. The node has this name, or the
/// system's.
///
/// # Errors
/// It cannot begin to: the configuration, the credential or the program launcher is not as it must be. That
/// the machine manager cannot be reached is none: it is tried again.
pub fn run(config: &Path, host: Option<&str>) -> Result<(), DaemonError> {
    secrecy::keep_memory();
    let node = Rc::new(Node::new(config, host)?);
    if let Err(error) = priority::favour() {
        tracing::debug!(%error, "jobs may start and end later beside ranks that compute");
    }
    let system = |what| move |error| DaemonError::System { what, error };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(system("start the runtime"))?;
    runtime.block_on(LocalSet::new().run_until(serve(node))).map_err(system("listen to signals"))?;
    // Looking up a user may still wait for an answer that nobody needs.
    runtime.shutdown_background();
    Ok(())
}

async fn serve(node: Rc<Node>) -> io::Result<()> {
    let mut termination = Termination::new()?;
    let mut patience = Patience::default();
    tracing::info!(host = node.host, launcher = %node.launcher.display(), release = env!("CARGO_PKG_VERSION"), "begins");
    if let Some(groups) = &node.groups {
        tracing::debug!(is_limiting = groups.is_limiting(), "jobs have control groups");
    }
    if let Err(error) = notify::notify("READY=1") {
        tracing::warn!(%error, "NOTIFY_SOCKET leads nowhere");
    }
    let watchdog = tokio::task::spawn_local(notify::keep_watchdog_quiet());
    loop {
        let reason = match session::run(&node, &mut termination, || patience.handle_success()).await {
            End::Terminated => break,
            End::Lost(reason) => reason,
        };
        let (wait, is_news) = patience.handle_failure(&reason);
        match is_news {
            true => tracing::warn!("{reason}; tries again"),
            false => tracing::debug!("{reason}; tries again"),
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = termination.wanted() => break,
        }
    }
    watchdog.abort();
    tracing::info!("ended");
    Ok(())
}

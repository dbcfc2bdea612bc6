//! The `node-manager` daemon: one on every node of a cluster, which starts launchers as the users of their jobs (paper, §4.1; design §2).
//!
//! ```text
//!  machine manager ◄══ TLS stream ══► session ◄──► launched (one a job) ◄── socket, pipes ──► program launcher
//!                  ◄─ control network ─►  │  jobs: slots, who may start
//!                     (beat, commit)      └─ life, credit: what is passed on, and how much
//! ```
//!
//! | file | holds |
//! |---|---|
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
//! | `address`, `patience`, `notify`, `readiness` | where the node listens, how often it tries, what systemd is told, descriptors to wait for |
//!
//! The invariant: no process of a job is left when the job is over, when the manager is lost, or when the daemon ends.

mod address;
mod control_network;
mod control_sockets;
mod control_thread;
mod credit;
mod groups;
mod jobs;
mod launched;
mod life;
mod limits;
pub mod notify;
mod outgoing;
mod patience;
mod readiness;
mod session;
mod spawn;
mod strays;
mod users;

use crate::protocol::ALPN;
use crate::secrecy;
use bcs_core::config::NodeConfig;
use bcs_core::config::port_range::PortRange;
use bcs_core::stream::{SecureEnds, StreamError};
use bcs_core::{Config, ConfigError, Credential, CredentialError};
use control_sockets::ControlSockets;
use groups::{Group, Groups, NoGroups};
use limits::USERS_SHARE_OF_PROCESSES;
use nic_emu::priority;
use patience::Patience;
use session::{End, Termination};
use spawn::Confinement;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;
use strays::Children;
use tokio::task::LocalSet;

/// The variable that names the program launcher, if it is not beside the daemon.
pub const LAUNCHER: &str = "BCS_LAUNCHER";

/// The file name of the program launcher.
const LAUNCHER_NAME: &str = "program-launcher";

/// Why a node manager cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The node is not in it.
    #[error("{host} is no node of the cluster '{cluster}': list it in [[nodes]] of {}, or name another with --host", config.display())]
    NotANode {
        /// The node's name.
        host: String,
        /// The cluster's.
        cluster: String,
        /// The file.
        config: PathBuf,
    },
    /// The credential cannot be read.
    #[error(
        "{0}; a node's credential is made where the cluster's authority is, and kept as HOST.pem in paths.keys"
    )]
    Credential(#[from] CredentialError),
    /// The credential is for somebody else.
    #[error("{} is the credential of '{name}', not of '{host}'; copy this node's own", path.display())]
    OtherCredential {
        /// The file.
        path: PathBuf,
        /// For whom it is.
        name: String,
        /// For whom it should be.
        host: String,
    },
    /// The credential cannot be used.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// There is no program launcher.
    #[error("there is no program launcher at {}; install it beside node-manager, or name it in {LAUNCHER}", tried.join(" or "))]
    NoLauncher {
        /// Where it was looked for.
        tried: Vec<String>,
    },
    /// The system refuses something that every node manager needs.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
}

/// What this node is.
#[derive(Debug)]
pub struct Node {
    host: String,
    manager: String,
    port: u16,
    interface: Option<String>,
    ports: PortRange,
    fanout: usize,
    cores: u32,
    memory: u64,
    launcher: PathBuf,
    credential: Credential,
    ends: SecureEnds,
    children: Children,
    /// Where jobs have control groups.
    groups: Option<Groups>,
    /// How many processes a user may have here.
    users_processes: u64,
    /// Whether this process is protected from being killed when memory runs out.
    is_protected: bool,
    sockets: Arc<ControlSockets>,
}

/// Serves the cluster as the manager of this node, until SIGTERM or SIGINT. The node has this name, or the system's.
///
/// # Errors
/// It cannot begin to: the configuration, the credential or the program launcher is not as it must be. That the machine manager cannot be reached is
/// none: it is tried again.
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

impl Node {
    fn new(path: &Path, host: Option<&str>) -> Result<Self, DaemonError> {
        let config = Config::read(path)?;
        let uname = rustix::system::uname();
        let host = host.map_or_else(|| uname.nodename().to_string_lossy().into_owned(), str::to_owned);
        let nodes = config.nodes();
        let Some(NodeConfig { cores, interface, .. }) = nodes.into_iter().find(|node| node.host == host)
        else {
            return Err(DaemonError::NotANode {
                host,
                cluster: config.cluster.name,
                config: path.to_owned(),
            });
        };
        let key = config.paths.keys.join(format!("{host}.pem"));
        let credential = Credential::load(&key)?;
        if !credential.name().eq_ignore_ascii_case(&host) {
            return Err(DaemonError::OtherCredential { path: key, name: credential.name(), host });
        }
        let ends = SecureEnds::new(&credential, ALPN)?;
        let system = |what| move |error| DaemonError::System { what, error };
        let counted = || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        let about = rustix::system::sysinfo();
        crate::signals::set_default(libc::SIGCHLD);
        let groups = Groups::find().map_err(|reason| {
            tracing::warn!(
                %reason,
                "jobs have no control groups here: what they leave is looked for process by process; run as a service whose group is delegated"
            );
        });
        Ok(Self {
            host,
            manager: config.cluster.manager,
            port: config.cluster.port,
            interface,
            ports: config.network.ports,
            fanout: config.network.fanout,
            cores: cores.unwrap_or_else(counted),
            memory: about.totalram * u64::from(about.mem_unit),
            launcher: launcher()?,
            credential,
            ends,
            children: Children::adopt().map_err(system("adopt the orphans of jobs"))?,
            groups: groups.ok(),
            users_processes: users_processes(),
            is_protected: number("/proc/self/oom_score_adj").is_some_and(|protection: i64| protection < 0),
            sockets: Arc::default(),
        })
    }

    /// The control group of a job with so many ranks here, where jobs have some.
    fn group(&self, ranks: usize) -> Result<Option<Group>, NoGroups> {
        self.groups.as_ref().map(|groups| groups.make(ranks as u64)).transpose()
    }

    /// What a launcher is held to.
    fn confinement<'a>(&self, group: Option<&'a Group>) -> Confinement<'a> {
        let processes = Some(self.users_processes);
        Confinement { group: group.map(AsFd::as_fd), processes, is_protected: self.is_protected }
    }
}

/// How many processes and threads a user may have here: no more than this process may be allowed, and than the user's share of all that there can be.
fn users_processes() -> u64 {
    let all = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"].map(number);
    let share = all.into_iter().flatten().min().map(|all: u64| all / USERS_SHARE_OF_PROCESSES);
    let own = rustix::process::getrlimit(rustix::process::Resource::Nproc).maximum;
    share.into_iter().chain(own).min().unwrap_or(u64::MAX)
}

/// The number in a file of the kernel's.
fn number<T: FromStr>(path: &str) -> Option<T> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Where the program launcher is: where the variable says, beside this program, or where a package keeps what users do not call.
fn launcher() -> Result<PathBuf, DaemonError> {
    let candidates = match std::env::var_os(LAUNCHER) {
        Some(path) => vec![PathBuf::from(path)],
        None => {
            let own = std::env::current_exe()
                .map_err(|error| DaemonError::System { what: "find this program", error })?;
            let directory = own.parent().unwrap_or(Path::new("/"));
            let libexec = directory.parent().unwrap_or(directory).join("libexec/bcs-mpi");
            vec![directory.join(LAUNCHER_NAME), libexec.join(LAUNCHER_NAME)]
        }
    };
    let found = candidates.iter().find(|path| path.is_file()).map(|path| path.canonicalize());
    match found {
        Some(Ok(path)) => Ok(path),
        _ => Err(DaemonError::NoLauncher {
            tried: candidates.iter().map(|path| path.display().to_string()).collect(),
        }),
    }
}

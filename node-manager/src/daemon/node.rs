//! What this node is.

use super::control_sockets::ControlSockets;
use super::error::{DaemonError, LAUNCHER};
use super::groups::{Group, Groups, NoGroups};
use super::limits::USERS_SHARE_OF_PROCESSES;
use super::spawn::Confinement;
use super::strays::Children;
use bcs_config::{Config, NodeConfig};
use bcs_core::{PortRange, Provider, Transport, TransportChoice};
use bcs_credentials::Credential;
use bcs_protocol::node::ALPN;
use bcs_stream::SecureEnds;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// The file name of the program launcher.
const LAUNCHER_NAME: &str = "program-launcher";

/// What this node is.
#[derive(Debug)]
pub struct Node {
    pub(super) host: String,
    pub(super) manager: String,
    pub(super) port: u16,
    pub(super) interface: Option<String>,
    pub(super) ports: PortRange,
    pub(super) fanout: usize,
    /// The provider of libfabric's that jobs use, where the configuration names one.
    pub(super) provider: Option<Provider>,
    pub(super) cores: u32,
    pub(super) memory: u64,
    pub(super) launcher: PathBuf,
    pub(super) credential: Credential,
    pub(super) ends: SecureEnds,
    pub(super) children: Children,
    /// Where jobs have control groups.
    pub(super) groups: Option<Groups>,
    /// How many processes a user may have here.
    pub(super) users_processes: u64,
    /// Whether this process is protected from being killed when memory runs out.
    pub(super) is_protected: bool,
    pub(super) sockets: Arc<ControlSockets>,
}

impl Node {
    /// What the configuration, the credential and the system say of it.
    ///
    /// # Errors
    /// They do not say what a node manager needs.
    pub(super) fn new(path: &Path, host: Option<&str>) -> Result<Self, DaemonError> {
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
        program_launcher::signals::set_default(libc::SIGCHLD);
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
            provider: match config.network.transport {
                TransportChoice::Transport(Transport::Ofi(provider)) => provider,
                _ => None,
            },
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
    pub(super) fn group(&self, ranks: usize) -> Result<Option<Group>, NoGroups> {
        self.groups.as_ref().map(|groups| groups.make(ranks as u64)).transpose()
    }

    /// What a launcher is held to.
    pub(super) fn confinement<'a>(&self, group: Option<&'a Group>) -> Confinement<'a> {
        let processes = Some(self.users_processes);
        Confinement { group: group.map(AsFd::as_fd), processes, is_protected: self.is_protected }
    }
}

/// How many processes and threads a user may have here: no more than this process may be allowed, and than
/// the user's share of all that there can be.
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

/// Where the program launcher is: where the variable says, beside this program, or where a package keeps what
/// users do not call.
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
        _ => Err(DaemonError::NoLauncher(candidates.iter().map(|path| path.display().to_string()).collect())),
    }
}

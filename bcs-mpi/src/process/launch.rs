//! How a process becomes a rank: what the launcher says in the environment, or a job of its own without one.
//!
//! | variable | meaning |
//! |---|---|
//! | `BCS_RANK`, `BCS_SIZE` | rank in the job, ranks of the job |
//! | `BCS_LOCAL_RANK` | index on this node |
//! | `BCS_NIC_FD` | number of the inherited descriptor of NIC memory |
//! | `BCS_WAKE_FD` | on one of several nodes: number of the inherited descriptor that wakes the NIC thread |
//! | `BCS_LINKS` | there: the inherited descriptors of the links to other nodes, where ranks can drive them |
//! | `BCS_CARD` | there: address and provider of libfabric, where a network card moves the bytes of these |
//! | `BCS_BUFFER_WRITES` | 0: this rank writes no long messages from buffer to buffer |
//! | `BCS_KEEP_REGISTRATIONS` | 1: registrations of buffers are kept also without a card |
//! | `BCS_LAUNCHER_PID` | the launcher, whose descriptor of that number serves where it was not inherited |
//! | `BCS_JOB` | the job, as trace files name it |
//! | `BCS_COLLECTIVE` | algorithms of collectives that the user wants |
//! | `BCS_APPNUM`, `BCS_UNIVERSE_SIZE` | the attributes MPI_APPNUM and MPI_UNIVERSE_SIZE |

use crate::object::wanted::{OF_TOOL, VARIABLE, Wanted};
use bcs_core::{LocalRank, Rank, TypeCheck};
use nic_emu::host::buffer_writes::CardWrites;
use nic_emu::host::endpoint_place::EndpointPlace;
use nic_emu::host::mapping::{self, MapError};
use nic_emu::host::shared_links::SharedLinks;
use nic_emu::host::time_slice;
use nic_emu::memory::Layout;
use nic_emu::port::{Port, PortError};
use std::ffi::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// Where a process is in its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Rank in the job.
    pub rank: Rank,
    /// Ranks of the job.
    pub size: u32,
    /// Whether a launcher started it, which prints the messages of aborts.
    pub launched: bool,
    /// The job, as trace files name it.
    pub job: String,
    /// MPI_APPNUM.
    pub appnum: Option<c_int>,
    /// MPI_UNIVERSE_SIZE.
    pub universe_size: Option<c_int>,
}

/// Why a process cannot become a rank.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A variable that a launcher did not set so.
    #[error(
        "{variable}={value:?} in the environment is {why}; start the program with storm run or mpiexec, or unset BCS_RANK to run it alone"
    )]
    Variable {
        /// Its name.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What is wrong.
        why: &'static str,
    },
    /// NIC memory is out of reach.
    #[error(
        "the launcher's NIC memory (descriptor {fd}, launcher process {launcher}) cannot be opened: {source}; the launcher is gone, or this process may not look into it"
    )]
    Unreachable {
        /// The descriptor's number.
        fd: i32,
        /// The launcher.
        launcher: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// What the launcher says in the environment and in NIC memory differ.
    #[error(
        "the environment says rank {rank} of {size}, the NIC memory is of {job_ranks} ranks; start the program with the launcher of this installation"
    )]
    Mismatch {
        /// The rank.
        rank: Rank,
        /// Ranks by the environment.
        size: u32,
        /// Ranks by NIC memory.
        job_ranks: u32,
    },
    /// There is no such algorithm.
    #[error("{VARIABLE} (storm run --collective): {0}")]
    Collective(String),
    /// NIC memory cannot be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The NIC refuses.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// The port and the place of this process.
///
/// # Errors
/// The environment says something that no launcher says, or the NIC cannot be reached.
pub fn open() -> Result<(Port, Place), LaunchError> {
    if std::env::var_os("BCS_RANK").is_none() {
        return alone();
    }
    let rank = Rank(required("BCS_RANK")?);
    let size: u32 = required("BCS_SIZE")?;
    let local_rank = LocalRank(required("BCS_LOCAL_RANK")?);
    let fd: i32 = required("BCS_NIC_FD")?;
    let memory = mapping::attach(descriptor(fd)?)?;
    let status =
        &memory.rank(local_rank).map_err(|_| wrong("BCS_LOCAL_RANK", "no rank of this node"))?.status;
    let job_ranks = memory.layout().job_ranks;
    if job_ranks != size || status.job_rank() != rank {
        return Err(LaunchError::Mismatch { rank, size, job_ranks });
    }
    let place = Place {
        rank,
        size,
        launched: true,
        job: std::env::var("BCS_JOB").unwrap_or_default(),
        appnum: optional("BCS_APPNUM")?,
        universe_size: optional("BCS_UNIVERSE_SIZE")?,
    };
    let spans_nodes = memory.node().1 > 1;
    let port = Port::open(Arc::new(memory), local_rank)?;
    // Refused: where others compute on its processor it waits as long for them as any program.
    let _ = time_slice::shorten();
    if !spans_nodes {
        return Ok((port, place));
    }
    let port = port.with_wake_pipe(wake_descriptor(required("BCS_WAKE_FD")?)?);
    Ok((with_links(port), place))
}

/// The port with the links to other nodes, where this process has inherited them. Where it has not, or cannot
/// map them, the NIC thread alone drives them.
fn with_links(port: Port) -> Port {
    let places = std::env::var("BCS_LINKS").ok().and_then(|text| text.parse().ok());
    let links = places.and_then(|places| SharedLinks::attach(&places, port.memory()).ok().flatten());
    match links {
        Some(links) => port.with_links(links, writes()),
        None => port,
    }
}

/// What writes long messages from buffer to buffer, where a network card moves the links' bytes.
fn writes() -> Option<CardWrites> {
    if std::env::var_os("BCS_BUFFER_WRITES").is_some_and(|value| value == "0") {
        return None;
    }
    let place = std::env::var(EndpointPlace::VARIABLE).ok()?.parse().ok()?;
    Some(CardWrites::new(place))
}

/// What of messages' types the user wants to be compared.
///
/// # Errors
/// The environment says something else.
pub fn type_check() -> Result<TypeCheck, LaunchError> {
    match std::env::var(TypeCheck::VARIABLE) {
        Ok(text) if !text.is_empty() => {
            text.parse().map_err(|_| wrong(TypeCheck::VARIABLE, "neither kinds, strict nor off"))
        }
        _ => Ok(TypeCheck::Off),
    }
}

/// Which algorithms of collectives the user wants: what a tool has said, else what the environment says.
///
/// # Errors
/// The environment names one that there is not.
pub fn wanted() -> Result<Wanted, LaunchError> {
    let of_user = Wanted::parse(&std::env::var(VARIABLE).unwrap_or_default());
    Ok(OF_TOOL.lock().or(&of_user.map_err(LaunchError::Collective)?))
}

/// A process without a launcher: a job of one rank, with a NIC that nobody else sees.
fn alone() -> Result<(Port, Place), LaunchError> {
    let layout = Layout::new(1, 1, [0; 2]).map_err(MapError::from)?;
    let memory = mapping::create_private(layout, 0, 1)?;
    let header = memory.header();
    header.cross_memory.set(1);
    header.cores.set(std::thread::available_parallelism().map_or(1, |n| n.get() as u32));
    let place = Place {
        rank: Rank(0),
        size: 1,
        launched: false,
        job: format!("singleton-{}", std::process::id()),
        appnum: None,
        universe_size: None,
    };
    Ok((Port::open(Arc::new(memory), LocalRank(0))?, place))
}

/// The descriptor of NIC memory: the inherited one, or, where an intermediate program closed that, the
/// launcher's.
fn descriptor(fd: i32) -> Result<OwnedFd, LaunchError> {
    // The number may be another file's by now: only NIC memory is taken over.
    let inherited = std::fs::read_link(format!("/proc/self/fd/{fd}"));
    if inherited.is_ok_and(|target| target.to_string_lossy().starts_with("/memfd:bcs-nic")) {
        // SAFETY: it is open, and NIC memory, which nobody but this library uses in this process.
        return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    let path = of_launcher(fd).ok_or_else(|| wrong("BCS_NIC_FD", "not the descriptor of NIC memory"))?;
    match std::fs::OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => Ok(file.into()),
        Err(source) => {
            let launcher = std::env::var("BCS_LAUNCHER_PID").unwrap_or_default();
            Err(LaunchError::Unreachable { fd, launcher, source })
        }
    }
}

/// The writing end of the wake pipe: the launcher's, or, where that is out of reach, the inherited one. What
/// the process executes later inherits neither.
fn wake_descriptor(fd: i32) -> Result<OwnedFd, LaunchError> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    let of_launcher = of_launcher(fd);
    let is_pipe = |target: &std::path::PathBuf| target.to_string_lossy().starts_with("pipe:");
    let is_at = |path: &str| std::fs::read_link(path).ok().filter(is_pipe);
    let inherited = is_at(&format!("/proc/self/fd/{fd}"));
    // The number may be another file's by now: where the launcher's can be seen, it has to be the same pipe.
    let is_inherited = match of_launcher.as_deref().and_then(is_at) {
        Some(pipe) => inherited == Some(pipe),
        None => inherited.is_some(),
    };
    // SAFETY: it is open, and nobody but this library knows of it in this process.
    let inherited = is_inherited.then(|| unsafe { OwnedFd::from_raw_fd(fd) });
    if let Some(file) = of_launcher.and_then(|path| options.open(path).ok()) {
        return Ok(file.into());
    }
    let inherited =
        inherited.ok_or_else(|| wrong("BCS_WAKE_FD", "not the descriptor that wakes the NIC thread"))?;
    // SAFETY: a system call on a descriptor that is open. It cannot be refused.
    unsafe { libc::fcntl(inherited.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
    Ok(inherited)
}

/// Where the launcher's descriptor with this number is found.
fn of_launcher(fd: i32) -> Option<String> {
    let launcher = std::env::var("BCS_LAUNCHER_PID").ok()?;
    let is_pid = !launcher.is_empty() && launcher.bytes().all(|b| b.is_ascii_digit());
    is_pid.then(|| format!("/proc/{launcher}/fd/{fd}"))
}

fn wrong(variable: &'static str, why: &'static str) -> LaunchError {
    LaunchError::Variable { variable, value: std::env::var(variable).unwrap_or_default(), why }
}

fn required<T: std::str::FromStr>(variable: &'static str) -> Result<T, LaunchError> {
    match std::env::var(variable) {
        Ok(text) => text.parse().map_err(|_| wrong(variable, "not a number that can be one")),
        Err(_) => Err(wrong(variable, "missing")),
    }
}

fn optional<T: std::str::FromStr>(variable: &'static str) -> Result<Option<T>, LaunchError> {
    if std::env::var_os(variable).is_none() { Ok(None) } else { required(variable).map(Some) }
}

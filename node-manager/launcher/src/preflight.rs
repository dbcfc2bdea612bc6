//! Looking before the leap: the limits of this machine against what a job will need, so that what
//! would be a silent hang or a failure half-way is one line that says what to do (design, §6).

use crate::job::{Job, MAX_RANKS_PER_NODE};
use bcs_core::NodeId;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::path::PathBuf;
use thiserror::Error;

/// Descriptors that the launcher holds besides those for each rank.
const OWN_DESCRIPTORS: u64 = 64;

/// Processes and threads besides the ranks: `storm`, the launcher, the NIC thread.
const OWN_PROCESSES: u64 = 3;

/// Why this machine cannot run a job.
#[derive(Debug, Error)]
pub enum PreflightError {
    /// So many ranks, which are more than a node can hold.
    #[error("{0} ranks are more than the {MAX_RANKS_PER_NODE} that one node runs; ask for fewer with -n")]
    TooManyRanks(u64),
    /// The user's limit on processes.
    #[error(
        "{ranks} ranks need more processes than this user may have ({limit}); raise the limit with: ulimit -u {need}"
    )]
    Processes {
        /// What was asked for.
        ranks: u32,
        /// What is allowed.
        limit: u64,
        /// What would be enough.
        need: u64,
    },
    /// The machine's limit on process ids.
    #[error(
        "{ranks} ranks need more process ids than this machine has ({limit}); raise it with: sysctl kernel.pid_max=4194304"
    )]
    ProcessIds {
        /// What was asked for.
        ranks: u32,
        /// What there are.
        limit: u64,
    },
    /// The limit on descriptors.
    #[error(
        "{ranks} ranks need {need} file descriptors in the launcher, and its hard limit is {limit}; raise it with: ulimit -Hn {need}{hint}"
    )]
    Descriptors {
        /// What was asked for.
        ranks: u32,
        /// What they take.
        need: u64,
        /// What is allowed.
        limit: u64,
        /// What else would help.
        hint: &'static str,
    },
    /// The directory for the dumps of MDS cannot be made.
    #[error("--trace-dir: {0}")]
    TraceDirectory(mds::trace::TraceError),
    /// A working directory is not there.
    #[error("--wdir {path}: {error}; name a directory that exists on every node")]
    WorkingDirectory {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        error: std::io::Error,
    },
}

/// Checks the limits for the job's ranks on this node, and raises the soft one on descriptors where that is
/// needed. Gives back the limit that the ranks are to have, if ours was changed.
///
/// # Errors
/// What the job would fail for later, and how to change it.
pub fn check(job: &Job, node: NodeId) -> Result<Option<libc::rlimit>, PreflightError> {
    let ranks = job.placement.ranks_on(node);
    if ranks > MAX_RANKS_PER_NODE {
        return Err(PreflightError::TooManyRanks(ranks.into()));
    }
    let processes = u64::from(ranks) + OWN_PROCESSES;
    if let Some(limit) = getrlimit(Resource::Nproc).current.filter(|limit| *limit < processes)
        && !rustix::process::geteuid().is_root()
    {
        return Err(PreflightError::Processes { ranks, limit, need: processes * 2 });
    }
    if ranks > 256
        && let Some(limit) = number_in("/proc/sys/kernel/pid_max").filter(|limit| *limit < processes)
    {
        return Err(PreflightError::ProcessIds { ranks, limit });
    }
    for (application, _) in job.placed_on(node).filter(|(_, ranks)| !ranks.is_empty()) {
        if let Some(path) = &application.working_directory {
            let error = match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => continue,
                Ok(_) => std::io::ErrorKind::NotADirectory.into(),
                Err(error) => error,
            };
            return Err(PreflightError::WorkingDirectory { path: path.clone(), error });
        }
    }
    if let Some(path) = &job.recording.trace_directory {
        mds_trace::prepare(path).map_err(PreflightError::TraceDirectory)?;
    }
    raise_descriptor_limit(job, ranks)
}

/// How many descriptors the launcher needs: for each rank its pidfd and, where output is labelled or
/// input is copied, both ends of its pipes.
fn descriptors_needed(job: &Job, ranks: u32) -> u64 {
    let pipes = if job.labels { 4 } else { 0 } + if job.stdin == crate::job::StdinTo::All { 2 } else { 0 };
    u64::from(ranks) * (1 + pipes) + OWN_DESCRIPTORS
}

fn raise_descriptor_limit(job: &Job, ranks: u32) -> Result<Option<libc::rlimit>, PreflightError> {
    let need = descriptors_needed(job, ranks);
    let before = getrlimit(Resource::Nofile);
    let (Some(soft), hard) = (before.current, before.maximum.unwrap_or(u64::MAX)) else { return Ok(None) };
    if soft >= need {
        return Ok(None);
    }
    if hard < need || setrlimit(Resource::Nofile, Rlimit { current: Some(need), ..before }).is_err() {
        let hint = if job.labels { ", or leave -l out" } else { "" };
        return Err(PreflightError::Descriptors { ranks, need, limit: hard, hint });
    }
    Ok(Some(libc::rlimit { rlim_cur: soft, rlim_max: before.maximum.unwrap_or(libc::RLIM_INFINITY) }))
}

fn number_in(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Why the kernel would refuse to copy from one rank's memory into another's, if it would. The job
/// then runs all the same, through NIC memory.
pub fn cross_memory_refusal() -> Option<String> {
    let root = rustix::process::geteuid().is_root();
    match number_in("/proc/sys/kernel/yama/ptrace_scope") {
        Some(scope @ 2..) if scope > 2 || !root => {
            return Some(format!(
                "/proc/sys/kernel/yama/ptrace_scope is {scope}, and would have to be 0 or 1"
            ));
        }
        _ => {}
    }
    let (source, mut target) = (0u8, 0u8);
    let local = libc::iovec { iov_base: (&raw mut target).cast(), iov_len: 1 };
    let remote = libc::iovec { iov_base: (&raw const source).cast_mut().cast(), iov_len: 1 };
    // SAFETY: both vectors name one byte of this process that lives through the call; the remote side
    // is only read.
    let copied =
        unsafe { libc::process_vm_readv(rustix::process::getpid().as_raw_pid(), &local, 1, &remote, 1, 0) };
    (copied != 1).then(|| format!("process_vm_readv: {}", std::io::Error::last_os_error()))
}

//! The Node Manager (NM): starts the program launcher of a job on this node, and sees to it that
//! nothing of the job is left when the launcher itself is killed (paper, §4.1).
//!
//! The launcher is forked, not executed anew: that takes a few hundred microseconds of the ten
//! milliseconds that a job of two ranks may take from start to end. So [`NodeManager::launch`] is
//! called while the process has one thread.

use crate::control::{self, Channel, Command, Notice, Received};
use crate::descendants;
use crate::environment;
use crate::job::Job;
use crate::launch_error::LaunchError;
use crate::launcher::{self, Prepared};
use crate::signals::{self, Signal, SignalSet};
use crate::verdict::{Exit, STATUS_RUNTIME, Verdict};
use bcs_core::NodeId;
use rustix::process::{Pid, PidfdFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{self, AssertUnwindSafe};
use std::slice;

/// The manager of this node.
#[derive(Debug)]
pub struct NodeManager {
    host: String,
    /// Children that this process had before it managed anything: those of a shell that has replaced
    /// itself with `storm`. They are not ours to end.
    earlier_children: Vec<Pid>,
}

/// A job that runs under its launcher.
#[derive(Debug)]
pub struct Launched<'a> {
    manager: &'a NodeManager,
    job_entry: Vec<u8>,
    launcher: Pid,
    pidfd: OwnedFd,
    channel: Channel<Command, Notice>,
}

impl NodeManager {
    /// Makes this process the manager of its node: it adopts what jobs leave.
    ///
    /// # Errors
    /// [`LaunchError::System`] if the kernel refuses that.
    pub fn new() -> Result<Self, LaunchError> {
        // Whoever started us may ignore the ends of its children, and then we could not see ours.
        signals::set_default(libc::SIGCHLD);
        let earlier_children = descendants::children();
        descendants::adopt_orphans()
            .map_err(|error| LaunchError::System { what: "adopt the orphans of jobs", error })?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Ok(Self { host, earlier_children })
    }

    /// The name of this node.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Checks that the job can run here, and starts its launcher. The ranks block the signals of
    /// `blocked`. To be called while the process has one thread.
    ///
    /// # Errors
    /// What is wrong with the programs, or what the machine lacks; nothing was started then.
    pub fn launch(&self, job: &Job, blocked: SignalSet) -> Result<Launched<'_>, LaunchError> {
        let variables = || std::env::vars_os().collect();
        let prepared = Prepared::find(job, NodeId(0), slice::from_ref(&self.host), variables, blocked)?;
        let system = |what| move |error: io::Error| LaunchError::System { what, error };
        let (ours, theirs) = control::pair().map_err(system("make a socket pair"))?;
        // SAFETY: this process has one thread, so the child finds every lock free and may go on as
        // an ordinary process.
        let launcher = match unsafe { libc::fork() } {
            0 => {
                drop(ours);
                become_launcher(&prepared, theirs)
            }
            pid => Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw),
        };
        drop(theirs);
        let launcher =
            launcher.ok_or_else(io::Error::last_os_error).map_err(system("start the program launcher"))?;
        let pidfd = rustix::process::pidfd_open(launcher, PidfdFlags::empty())
            .map_err(|error| system("watch the program launcher")(error.into()))?;
        let job_entry = format!("{}={}", environment::JOB, job.run).into_bytes();
        Ok(Launched { manager: self, job_entry, launcher, pidfd, channel: ours })
    }
}

fn become_launcher(prepared: &Prepared<'_>, theirs: Channel<Notice, Command>) -> ! {
    // What unwinds out of here would go on as a second `storm`.
    let result = panic::catch_unwind(AssertUnwindSafe(|| launcher::run(prepared, theirs)));
    if result.is_err() {
        descendants::kill_all(|_| true);
    }
    // SAFETY: ends this process without running what the parent had registered for its own exit.
    unsafe { libc::_exit(if result.is_ok() { 0 } else { STATUS_RUNTIME.into() }) }
}

impl Launched<'_> {
    /// Passes a signal on to the ranks.
    pub fn forward(&mut self, signal: Signal) {
        self.channel.send(&Command::Forward(signal));
    }

    /// Becomes readable when [`Launched::notice`] has something.
    pub fn notices(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// Becomes readable when the launcher has ended, and [`Launched::finish`] will not wait long.
    pub fn end(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Takes the next notice, if there is one.
    pub fn notice(&mut self) -> Option<Notice> {
        match self.channel.receive() {
            Received::Message(notice) => Some(notice),
            Received::Nothing | Received::Closed => None,
        }
    }

    /// Waits for the launcher's end, and if it came before that of its job, ends what is left of the
    /// job. Gives the verdict: the one that was told in time, or that the launcher was lost.
    pub fn finish(self, told: Option<Verdict>) -> Verdict {
        let mut status = 0;
        let pid = self.launcher.as_raw_pid();
        // SAFETY: waits for our own child; `status` lives through the call.
        while unsafe { libc::waitpid(pid, &mut status, 0) } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        if let Some(verdict) = told {
            return verdict;
        }
        let manager = self.manager;
        descendants::kill_all(|pid| {
            manager.earlier_children.is_empty()
                || !manager.earlier_children.contains(&pid)
                    && descendants::was_started_with(pid, &self.job_entry)
        });
        Verdict::LauncherLost { pid, host: manager.host.clone(), exit: Exit::from_wait_status(status) }
    }
}

//! The managers of a machine that is one node (paper, §4.1), which are part of `storm`: they start the
//! program launcher of a job, pass signals on, and see to it that nothing of the job is left when the
//! launcher itself is killed.
//!
//! The launcher is forked, not executed anew: that takes a few hundred microseconds of the ten milliseconds
//! that a job of two ranks may take from start to end. So [`run`] is called while the process has one thread.

use crate::control::{self, Channel, Command, Notice, Received};
use crate::descendants;
use crate::environment;
use crate::job::Job;
use crate::launch_error::LaunchError;
use crate::launcher::{self, Prepared};
use crate::signals::{self, SignalQueue, SignalSet};
use crate::verdict::{Exit, STATUS_RUNTIME, Verdict};
use bcs_core::NodeId;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{self, AssertUnwindSafe};
use std::slice;

/// Runs a job on this machine to its end. `remark` is told what the user should know before that. To be
/// called while the process has one thread.
///
/// # Errors
/// What is wrong with the programs, what the machine lacks, or what the kernel refuses; nothing is left
/// running then.
pub fn run(job: &Job, remark: impl Fn(&str)) -> Result<Verdict, LaunchError> {
    let system = |what| move |error: io::Error| LaunchError::System { what, error };
    // Whoever started us may ignore the ends of its children, and then we could not see ours.
    signals::set_default(libc::SIGCHLD);
    // Those of a shell that has replaced itself with `storm` are not ours to end.
    let earlier_children = descendants::children();
    descendants::adopt_orphans().map_err(system("adopt the orphans of jobs"))?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let forwarded = launcher::forwarded_here();
    let before = SignalSet::of(&forwarded).block_exactly();
    let signals = SignalQueue::of(&forwarded).map_err(system("watch for signals"))?;
    let variables = || std::env::vars_os().collect();
    let prepared = Prepared::find(job, NodeId(0), slice::from_ref(&host), variables, before)?;
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
    let told = converse(ours, &pidfd, &signals, remark).map_err(system("wait for the job"))?;
    let (pid, mut status) = (launcher.as_raw_pid(), 0);
    // SAFETY: waits for our own child; `status` lives through the call.
    while unsafe { libc::waitpid(pid, &mut status, 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
    if let Some(verdict) = told {
        return Ok(verdict);
    }
    let job_entry = format!("{}={}", environment::JOB, job.run);
    descendants::kill_all(|pid| {
        earlier_children.is_empty()
            || !earlier_children.contains(&pid) && descendants::was_started_with(pid, job_entry.as_bytes())
    });
    Ok(Verdict::LauncherLost { pid, host, exit: Exit::from_wait_status(status) })
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

/// Passes signals on to a launcher and its remarks to the user, until it has told the verdict, or has ended
/// without.
fn converse(
    mut channel: Channel<Command, Notice>,
    pidfd: &OwnedFd,
    signals: &SignalQueue,
    remark: impl Fn(&str),
) -> io::Result<Option<Verdict>> {
    let mut verdict = None;
    loop {
        let mut wait = [
            PollFd::new(signals, PollFlags::IN),
            PollFd::new(&channel, PollFlags::IN),
            PollFd::new(pidfd, PollFlags::IN),
        ];
        match poll(&mut wait, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let has_ended = !wait[2].revents().is_empty();
        while let Some(signal) = signals.next() {
            channel.send(&Command::Forward(signal));
            if signal == libc::SIGTSTP {
                // The ranks have been stopped.
                signals::stop_here();
            }
        }
        while let Received::Message(notice) = channel.receive() {
            match notice {
                Notice::Remark(text) => remark(&text),
                Notice::Over(told) => verdict = Some(told),
                // A launcher that was forked says no more than that.
                _ => {}
            }
        }
        if has_ended || verdict.is_some() {
            // Nothing more will be said; what is left is at most the launcher's exit.
            return Ok(verdict);
        }
    }
}

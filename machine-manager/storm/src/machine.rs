//! The Machine Manager (MM) of a machine that is this one node (paper, §4.1): it gives a job to the node
//! manager that is part of it, passes signals on, and tells the user how the job ended.

use program_launcher::control::Notice;
use program_launcher::launcher::forwarded_here;
use program_launcher::signals::{Signal, SignalQueue, SignalSet};
use program_launcher::{Job, LaunchError, NodeManager, Verdict};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;

/// The manager of a machine of one node.
#[derive(Debug)]
pub struct MachineManager {
    node: NodeManager,
}

impl MachineManager {
    /// Makes this process the manager of the machine.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn new() -> Result<Self, LaunchError> {
        Ok(Self { node: NodeManager::new()? })
    }

    /// The name of the machine's one node.
    pub fn host(&self) -> &str {
        self.node.host()
    }

    /// Runs a job to its end. `remark` is told what the user should know before that. To be called
    /// while the process has one thread.
    ///
    /// # Errors
    /// Why the job was not started.
    pub fn run(&self, job: &Job, remark: impl Fn(&str)) -> Result<Verdict, LaunchError> {
        let forwarded = forwarded_here();
        let system = |what| move |error: io::Error| LaunchError::System { what, error };
        let before = SignalSet::of(&forwarded).block_exactly();
        let signals = SignalQueue::of(&forwarded).map_err(system("watch for signals"))?;
        let mut launched = self.node.launch(job, before)?;
        let mut verdict = None;
        loop {
            let mut wait = [
                PollFd::new(&signals, PollFlags::IN),
                PollFd::from_borrowed_fd(launched.notices(), PollFlags::IN),
                PollFd::from_borrowed_fd(launched.end(), PollFlags::IN),
            ];
            match poll(&mut wait, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(system("wait for the job")(error.into())),
            }
            let has_ended = !wait[2].revents().is_empty();
            while let Some(signal) = signals.next() {
                launched.forward(signal);
                if signal == libc::SIGTSTP {
                    stop_here();
                }
            }
            while let Some(notice) = launched.notice() {
                match notice {
                    Notice::Remark(text) => remark(&text),
                    Notice::Over(told) => verdict = Some(told),
                    // A launcher that was forked says no more than that.
                    _ => {}
                }
            }
            if has_ended || verdict.is_some() {
                // Nothing more will be said; what is left is at most the launcher's exit.
                return Ok(launched.finish(verdict));
            }
        }
    }
}

/// Stops this process, as the shell expects after its stop signal; the ranks have been stopped.
fn stop_here() {
    const STOP: Signal = libc::SIGSTOP;
    // SAFETY: raise touches no memory of ours.
    unsafe { libc::raise(STOP) };
}

//! A child that has ended and has not been waited for: its number is its own until then.

use crate::verdict::Exit;
use rustix::process::{Pid, WaitId, WaitIdOptions};

/// A child of this process that has ended. Until [`Ended::reap`] the kernel gives its number to no other
/// process.
pub(super) struct Ended {
    pid: Pid,
    exit: Exit,
}

impl Ended {
    /// The child with this number, if it is one and has ended.
    pub(super) fn look(pid: Pid) -> Option<Self> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = rustix::process::waitid(WaitId::Pid(pid), options).ok()??;
        Some(Self { pid, exit: Exit::from_wait_id(&status) })
    }

    /// Some child that has ended, if one has.
    pub(super) fn any() -> Option<Self> {
        // rustix does not tell which child it found.
        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the kernel fills `info` or leaves it zeroed, both of which are valid; si_pid may be
        // read after waitid succeeded, and is 0 if no child has ended.
        let pid = unsafe {
            if libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) != 0 {
                return None;
            }
            info.assume_init().si_pid()
        };
        Self::look(Pid::from_raw(pid)?)
    }

    /// Its number.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// How it came to its end.
    pub(super) fn exit(&self) -> Exit {
        self.exit
    }

    /// Waits for it: from now on its number may be another process's.
    pub(super) fn reap(self) {
        // Nobody else waits for it, and it has ended.
        let _ = rustix::process::waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    fn child(script: &str) -> (Child, Pid) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let pid = Pid::from_child(&child);
        (child, pid)
    }

    fn ended(pid: Pid) -> Ended {
        loop {
            if let Some(ended) = Ended::look(pid) {
                return ended;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_number_of_a_child_that_has_ended_is_its_own_until_it_is_reaped() {
        let (_child, pid) = child("exit 7");
        let first = ended(pid);
        assert_eq!(first.exit(), Exit::Code(7));
        // It can be looked at again, and signals still go to it and to no other.
        assert_eq!(Ended::look(pid).unwrap().exit(), Exit::Code(7));
        assert_eq!(rustix::process::test_kill_process(pid), Ok(()));
        first.reap();
        assert_eq!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH));
        assert!(Ended::look(pid).is_none());
    }

    #[test]
    fn a_child_that_runs_has_not_ended_and_one_that_was_killed_says_by_what() {
        let (mut running, pid) = child("exec sleep 60");
        assert!(Ended::look(pid).is_none());
        running.kill().unwrap();
        let killed = ended(pid);
        assert_eq!(killed.exit(), Exit::Signal { signal: libc::SIGKILL, core_dumped: false });
        // As `waitpid` tells it.
        let status = running.wait().unwrap().into_raw();
        assert_eq!(killed.exit(), Exit::from_wait_status(status));
    }
}

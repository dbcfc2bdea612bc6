//! Starting a rank: one `clone` that shares the launcher's memory until the program is executed, so
//! that no page table is copied and an error comes back in a variable.
//!
//! Between `clone` and `execve` the child runs in the launcher's memory, on a stack of its own, while
//! the launcher's thread stands still. It only makes system calls: no allocation, no lock, no panic.
//! Everything that it needs is prepared in [`Plan`] before.

use crate::signals::SignalSet;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// The child makes a dozen system calls; this is ample, and touched only at its end.
const STACK_BYTES: usize = 64 * 1024;

/// A program with its arguments and environment, ready to be started any number of times.
pub struct Plan {
    /// The program.
    pub path: CString,
    /// Its arguments, the name of the program first.
    pub arguments: Vec<CString>,
    /// Its variables.
    pub environment: Vec<CString>,
    /// Where it runs, if not here.
    pub directory: Option<CString>,
}

/// What one rank gets of its own.
pub struct Setting<'a> {
    /// Variables on top of the plan's.
    pub environment: &'a [CString],
    /// Its descriptors 0, 1 and 2.
    pub stdio: [RawFd; 3],
    /// Descriptors that it inherits under the same numbers.
    pub inherited: &'a [RawFd],
    /// The limit on descriptors that it gets back, where the launcher raised its own.
    pub descriptor_limit: Option<libc::rlimit>,
    /// Whether it is to have no real-time priority, which a node manager allows its launcher.
    pub no_realtime: bool,
    /// The signals that it blocks: those that `storm` was started with.
    pub blocked: &'a SignalSet,
    /// The processors that it may run on, if not all that the launcher may.
    pub processors: Option<&'a CpuSet>,
    /// Whether it may write to the terminal although it is not in the foreground group.
    pub on_terminal: bool,
}

/// A process that was started.
#[derive(Debug)]
pub struct Started {
    /// Its id, which is its process group's too.
    pub pid: Pid,
    /// The descriptor that becomes readable when it ends.
    pub pidfd: OwnedFd,
}

/// What starting a process failed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Making the process.
    Clone,
    /// Changing to its working directory.
    ChangeDirectory,
    /// Setting up its descriptors and limits.
    SetUp,
    /// Executing the program.
    Execute,
}

/// A process that could not be started.
#[derive(Debug)]
pub struct StartError {
    /// Where it failed.
    pub step: Step,
    /// What the kernel said.
    pub error: io::Error,
}

impl Plan {
    /// Starts the program as a child of the calling thread, which must live as long as the child
    /// should: its end kills the child.
    ///
    /// The caller has all signals blocked, so that none is handled in the shared memory.
    ///
    /// # Errors
    /// The step that failed, with what the kernel said. Nothing is left running then.
    pub fn start(&self, setting: &Setting<'_>) -> Result<Started, StartError> {
        let pointers = |strings: &mut dyn Iterator<Item = &CString>| {
            strings.map(|string| string.as_ptr()).chain([ptr::null()]).collect::<Vec<*const c_char>>()
        };
        let arguments = pointers(&mut self.arguments.iter());
        let environment = pointers(&mut self.environment.iter().chain(setting.environment));
        let mut child = Child {
            path: &self.path,
            arguments: &arguments,
            environment: &environment,
            directory: self.directory.as_deref(),
            setting,
            launcher: rustix::process::getpid().as_raw_pid(),
            failure: None,
        };
        let mut stack = Box::new(Stack([0; STACK_BYTES]));
        let mut pidfd: RawFd = -1;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        // SAFETY: the stack is the child's own, aligned, and outlives it, because CLONE_VFORK holds
        // this thread until the child has left our memory; `child` and what it points to live as
        // long. With CLONE_PIDFD the kernel stores one descriptor at the pointer that follows.
        let pid = unsafe {
            libc::clone(
                run_child,
                stack.0.as_mut_ptr_range().end.cast::<c_void>(),
                flags,
                (&raw mut child).cast::<c_void>(),
                &raw mut pidfd,
            )
        };
        let Some(pid) = Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw) else {
            return Err(StartError { step: Step::Clone, error: io::Error::last_os_error() });
        };
        // SAFETY: clone succeeded, so the descriptor is new and ours.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        match child.failure {
            None => Ok(Started { pid, pidfd }),
            Some((step, errno)) => {
                // SAFETY: waits for our own child, which has called _exit.
                unsafe { libc::waitpid(pid.as_raw_pid(), ptr::null_mut(), 0) };
                Err(StartError { step, error: io::Error::from_raw_os_error(errno) })
            }
        }
    }
}

#[repr(align(16))]
struct Stack([u8; STACK_BYTES]);

struct Child<'a> {
    path: &'a CStr,
    arguments: &'a [*const c_char],
    environment: &'a [*const c_char],
    directory: Option<&'a CStr>,
    setting: &'a Setting<'a>,
    launcher: c_int,
    failure: Option<(Step, c_int)>,
}

extern "C" fn run_child(child: *mut c_void) -> c_int {
    // SAFETY: `start` passes its own `Child`, which nobody else touches while this runs.
    let child = unsafe { &mut *child.cast::<Child<'_>>() };
    let step = child.become_program();
    // SAFETY: errno was set by the call that failed in this thread of execution; _exit ends this
    // process only.
    unsafe {
        child.failure = Some((step, *libc::__errno_location()));
        libc::_exit(127)
    }
}

impl Child<'_> {
    /// Returns only if it failed, with the step that did; errno says why.
    fn become_program(&self) -> Step {
        let setting = self.setting;
        // SAFETY: all calls are system calls without effect on the memory that is shared with the
        // launcher, other than errno; descriptors, signal actions, the directory and limits are this
        // process's own, because CLONE_FILES, CLONE_SIGHAND and CLONE_FS are not set. The pointers are
        // to strings and null-terminated arrays that the launcher holds until execve has succeeded.
        unsafe {
            if libc::setpgid(0, 0) != 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Step::SetUp;
            }
            if libc::getppid() != self.launcher {
                libc::_exit(127); // The launcher was killed before its death could reach us.
            }
            // Rust ignores SIGPIPE, and so do not our ranks.
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            if setting.on_terminal {
                libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            }
            for (target, &source) in setting.stdio.iter().enumerate() {
                if source != target as RawFd && libc::dup2(source, target as RawFd) < 0 {
                    return Step::SetUp;
                }
            }
            for &inherited in setting.inherited {
                if libc::fcntl(inherited, libc::F_SETFD, 0) < 0 {
                    return Step::SetUp;
                }
            }
            // One system call, which allocates nothing and sets errno.
            if let Some(processors) = setting.processors
                && sched_setaffinity(None, processors).is_err()
            {
                return Step::SetUp;
            }
            if let Some(limit) = &setting.descriptor_limit
                && libc::setrlimit(libc::RLIMIT_NOFILE, limit) != 0
            {
                return Step::SetUp;
            }
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            if setting.no_realtime && libc::setrlimit(libc::RLIMIT_RTPRIO, &none) != 0 {
                return Step::SetUp;
            }
            if let Some(directory) = self.directory
                && libc::chdir(directory.as_ptr()) != 0
            {
                return Step::ChangeDirectory;
            }
            libc::sigprocmask(libc::SIG_SETMASK, setting.blocked.as_raw(), ptr::null_mut());
            libc::execve(self.path.as_ptr(), self.arguments.as_ptr(), self.environment.as_ptr());
        }
        Step::Execute
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::SignalSet;
    use std::io::Read;

    fn text(text: &str) -> CString {
        CString::new(text).unwrap()
    }

    fn setting<'a>(blocked: &'a SignalSet, stdout: RawFd) -> Setting<'a> {
        Setting {
            environment: &[],
            stdio: [0, stdout, 2],
            inherited: &[2],
            descriptor_limit: None,
            no_realtime: false,
            blocked,
            processors: None,
            on_terminal: false,
        }
    }

    #[test]
    fn program_gets_its_arguments_environment_and_directory() {
        let (mut reader, writer) = io::pipe().unwrap();
        let script = text("echo $1 $COLOUR $SHADE $(pwd)");
        let plan = Plan {
            path: text("/bin/sh"),
            arguments: vec![text("sh"), text("-c"), script, text("sh"), text("one")],
            environment: vec![text("COLOUR=red"), text("PATH=/bin:/usr/bin")],
            directory: Some(text("/")),
        };
        let blocked = SignalSet::of(&[]);
        use std::os::fd::AsRawFd;
        let shade = [text("SHADE=dark")];
        let started =
            plan.start(&Setting { environment: &shade, ..setting(&blocked, writer.as_raw_fd()) }).unwrap();
        drop(writer);
        let mut output = String::new();
        reader.read_to_string(&mut output).unwrap();
        assert_eq!(output, "one red dark /\n");
        let mut status = 0;
        // SAFETY: waits for our own child.
        unsafe { libc::waitpid(started.pid.as_raw_pid(), &mut status, 0) };
        assert_eq!(libc::WEXITSTATUS(status), 0);
    }

    #[test]
    fn failing_step_is_told_with_the_kernels_reason() {
        let blocked = SignalSet::of(&[]);
        let failing = |path: &str, directory: &str| {
            let (path, directory) = (text(path), Some(text(directory)));
            let plan = Plan { path, arguments: vec![text("x")], environment: vec![], directory };
            plan.start(&setting(&blocked, 1)).unwrap_err()
        };
        let missing = failing("/no/such/program", "/");
        assert_eq!((missing.step, missing.error.raw_os_error()), (Step::Execute, Some(libc::ENOENT)));
        let nowhere = failing("/bin/true", "/no/such/directory");
        assert_eq!((nowhere.step, nowhere.error.raw_os_error()), (Step::ChangeDirectory, Some(libc::ENOENT)));
    }
}

//! Executing a program launcher as the user of its job.
//!
//! The child is forked, not cloned into our memory: this process may be root's and holds the node's key, and between becoming the user and
//! executing the launcher nothing of it may be within the user's reach (the kernel sees to that for a process of its own: who changes its user
//! cannot be traced before it executes something). Between `fork` and `execve` the child only makes system calls: everything they need is prepared before.
//!
//! The invariant: a launcher that runs has the user's ids and groups and no others, descriptors 0 to 3 and no others, an empty environment,
//! default signals, a session of its own, and is told when this process dies.

use rustix::process::{Pid, PidfdFlags};
use std::ffi::{CString, c_char};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::ptr;

use crate::signals::SignalSet;

/// The descriptor of the control socket in the launcher.
pub const CONTROL_FD: RawFd = 3;

/// What the child needs before it has its descriptors has higher numbers, so that none is replaced by another.
const FD_AT_LEAST: RawFd = 16;

/// What a launcher is told by when this process dies. It ends its job at that; before it is set up, it dies of it. Not SIGKILL: processes that
/// ranks have started would be left.
const DEATH_SIGNAL: libc::c_int = libc::SIGTERM;

/// The highest signal of Linux.
const LAST_SIGNAL: libc::c_int = 64;

/// Who a process becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The number of the user.
    pub uid: u32,
    /// The number of its main group.
    pub gid: u32,
    /// The numbers of all its groups.
    pub groups: Vec<u32>,
}

/// A launcher that was executed.
#[derive(Debug)]
pub struct Started {
    /// Its process id, which is its session's too.
    pub pid: Pid,
    /// Becomes readable when it ends.
    pub pidfd: OwnedFd,
    /// Our end of its control socket.
    pub control: UnixStream,
    /// The end of its standard input that is written.
    pub input: OwnedFd,
    /// The ends of its standard output and error that are read.
    pub outputs: [OwnedFd; 2],
}

/// Where starting a launcher failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// Making pipes, a socket pair and the process.
    Prepare,
    /// Giving it its session, signals and descriptors.
    SetUp,
    /// Becoming the user.
    Become,
    /// Executing the launcher.
    Execute,
}

/// A launcher that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot {} {}: {error}", match step {
    Step::Prepare => "make pipes and a process for the program launcher",
    Step::SetUp => "set up the process of the program launcher",
    Step::Become => "become the job's user to execute the program launcher",
    Step::Execute => "execute the program launcher",
}, path.display())]
pub struct SpawnError {
    /// Where it failed.
    pub step: Step,
    /// The launcher.
    pub path: PathBuf,
    /// What the kernel said.
    pub error: io::Error,
}

/// Executes the launcher, as this user, or as who we are. To be called on the thread that lives as long as the process: the launcher is told
/// when that thread ends.
///
/// # Errors
/// The step that failed; nothing runs then.
pub fn start(launcher: &Path, identity: Option<&Identity>) -> Result<Started, SpawnError> {
    let failed = |step, error| SpawnError { step, path: launcher.to_owned(), error };
    let prepare = |error| failed(Step::Prepare, error);
    let path = CString::new(launcher.as_os_str().as_bytes())
        .map_err(|_| prepare(io::Error::from(io::ErrorKind::InvalidInput)))?;
    let (control, their_control) = UnixStream::pair().map_err(prepare)?;
    let (their_input, input) = io::pipe().map_err(prepare)?;
    let (output, their_output) = io::pipe().map_err(prepare)?;
    let (error_output, their_error_output) = io::pipe().map_err(prepare)?;
    let (mut failure, their_failure) = io::pipe().map_err(prepare)?;
    if let Some(identity) = identity {
        // They are opened again by name (`/dev/stderr`), which only their owner may.
        for pipe in [their_input.as_fd(), their_output.as_fd(), their_error_output.as_fd()] {
            let (uid, gid) =
                (rustix::fs::Uid::from_raw(identity.uid), rustix::fs::Gid::from_raw(identity.gid));
            rustix::fs::fchown(pipe, Some(uid), Some(gid)).map_err(|error| prepare(error.into()))?;
        }
    }
    let high = |fd: OwnedFd| {
        rustix::io::fcntl_dupfd_cloexec(&fd, FD_AT_LEAST).map_err(|error| prepare(error.into()))
    };
    let descriptors = [
        high(their_input.into())?,
        high(their_output.into())?,
        high(their_error_output.into())?,
        high(their_control.into())?,
    ];
    let their_failure = high(their_failure.into())?;
    let child = Child {
        path: &path,
        arguments: [c"program-launcher".as_ptr(), ptr::null()],
        environment: [ptr::null()],
        descriptors: [0, 1, 2, 3].map(|index: usize| descriptors[index].as_raw_fd()),
        identity,
        parent: rustix::process::getpid().as_raw_pid(),
        failure: their_failure.as_raw_fd(),
    };
    // Until the child has forgotten our handlers no signal may find them in it.
    let blocked = SignalSet::all().block_exactly();
    // SAFETY: the child only makes system calls (`Child::become_launcher`) and ends with `_exit`, so it does no harm that other threads
    // of this process are not in it.
    let pid = match unsafe { libc::fork() } {
        0 => child.become_launcher(),
        pid => pid,
    };
    let forked = io::Error::last_os_error();
    blocked.block_exactly();
    let pid = Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw).ok_or_else(|| prepare(forked))?;
    drop((descriptors, their_failure));

    let mut told = Vec::new();
    // It ends when the child has executed the launcher, or has failed to.
    let read = failure.read_to_end(&mut told);
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty());
    let problem = match (<[u8; 5]>::try_from(told.as_slice()), read, pidfd) {
        (Err(_), Ok(0), Ok(pidfd)) => {
            let outputs = [output.into(), error_output.into()];
            return Ok(Started { pid, pidfd, control, input: input.into(), outputs });
        }
        (Ok([step, errno @ ..]), ..) => {
            let steps = [Step::Prepare, Step::SetUp, Step::Become, Step::Execute];
            let step = steps.into_iter().find(|known| *known as u8 == step).unwrap_or(Step::SetUp);
            failed(step, io::Error::from_raw_os_error(i32::from_ne_bytes(errno)))
        }
        (_, Err(error), _) => failed(Step::SetUp, error),
        (_, _, Err(error)) => failed(Step::Prepare, error.into()),
        (Err(_), Ok(_), Ok(_)) => failed(Step::SetUp, io::ErrorKind::UnexpectedEof.into()),
    };
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    Err(problem)
}

struct Child<'a> {
    path: &'a CString,
    arguments: [*const c_char; 2],
    environment: [*const c_char; 1],
    descriptors: [RawFd; 4],
    identity: Option<&'a Identity>,
    parent: libc::pid_t,
    failure: RawFd,
}

impl Child<'_> {
    fn become_launcher(&self) -> ! {
        let step = self.execute();
        // SAFETY: errno was set by the call that failed; the message is a local array of the length that is given; _exit ends this process
        // without running anything of its parent's.
        unsafe {
            let [a, b, c, d] = (*libc::__errno_location()).to_ne_bytes();
            let message = [step as u8, a, b, c, d];
            libc::write(self.failure, message.as_ptr().cast(), message.len());
            libc::_exit(127)
        }
    }

    /// Returns only if it failed, with the step that did; errno says why.
    fn execute(&self) -> Step {
        // SAFETY: all calls are system calls, or libc's thin wrappers of them, which allocate nothing. Those that change who the process is have all
        // its threads follow: the child of a fork has this one alone, whatever threads its parent had, and libc's fork leaves its own locks
        // free in it. The pointers are to strings, null-terminated arrays and a slice that live in this process's copy of `start`'s frame.
        unsafe {
            if libc::setsid() < 0 {
                return Step::SetUp;
            }
            // Those that this process handles or was told to ignore are not the job's business. SIGKILL and SIGSTOP refuse.
            for signal in 1..=LAST_SIGNAL {
                libc::signal(signal, libc::SIG_DFL);
            }
            for (target, &source) in (0..).zip(&self.descriptors) {
                if libc::dup2(source, target) < 0 {
                    return Step::SetUp;
                }
            }
            // Also those that whoever started this process has left open.
            let close_on_exec = libc::CLOSE_RANGE_CLOEXEC;
            if libc::syscall(libc::SYS_close_range, CONTROL_FD + 1, libc::c_uint::MAX, close_on_exec) != 0 {
                return Step::SetUp;
            }
            if libc::chdir(c"/".as_ptr()) != 0 {
                return Step::SetUp;
            }
            if let Some(Identity { uid, gid, groups }) = self.identity {
                // For the launcher's NIC thread; ranks do not get it. Refused: jobs run as well, and are slower beside others that compute.
                let lowest = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
                libc::setrlimit(libc::RLIMIT_RTPRIO, &lowest);
                let (mut real, mut effective, mut saved) = (u32::MAX, u32::MAX, u32::MAX);
                if libc::setgroups(groups.len(), groups.as_ptr()) != 0
                    || libc::setresgid(*gid, *gid, *gid) != 0
                    || libc::setresuid(*uid, *uid, *uid) != 0
                    || libc::getresuid(&mut real, &mut effective, &mut saved) != 0
                {
                    return Step::Become;
                }
                if [real, effective, saved] != [*uid; 3] {
                    *libc::__errno_location() = libc::EPERM;
                    return Step::Become;
                }
            }
            // Becoming somebody else clears it, so it comes after.
            if libc::prctl(libc::PR_SET_PDEATHSIG, DEATH_SIGNAL) != 0 {
                return Step::SetUp;
            }
            if libc::getppid() != self.parent {
                libc::_exit(127); // It was killed before its death could reach us.
            }
            let none = SignalSet::of(&[]);
            libc::sigprocmask(libc::SIG_SETMASK, none.as_raw(), ptr::null_mut());
            libc::execve(self.path.as_ptr(), self.arguments.as_ptr(), self.environment.as_ptr());
        }
        Step::Execute
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    /// A program launcher that is a shell script, where everybody may execute it.
    fn script(directory: &Path, text: &str) -> PathBuf {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        let path = directory.join("launcher");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn ended(started: Started) -> (String, String) {
        let texts = started.outputs.map(|pipe| {
            let mut text = String::new();
            File::from(pipe).read_to_string(&mut text).unwrap();
            text
        });
        rustix::process::waitpid(Some(started.pid), rustix::process::WaitOptions::empty()).unwrap();
        texts.into()
    }

    #[test]
    fn launcher_has_its_four_descriptors_a_session_of_its_own_and_no_environment() {
        let directory = tempfile::tempdir().unwrap();
        // One that is not closed on exec, as whoever started us may have left it. (A shell has its script open as 10.)
        let open = rustix::io::dup(File::open("/dev/null").unwrap()).unwrap();
        let text = "for fd in $(seq 0 9) $(seq 11 99); do [ -e /proc/$$/fd/$fd ] && echo $fd; done; cat; \
                    echo $(cut -d' ' -f6 /proc/$$/stat) $$ $PWD >&2; tr '\\0' '\\n' < /proc/$$/environ >&2; echo hello >&3";
        let started = start(&script(directory.path(), text), None).unwrap();
        let (pid, mut control) = (started.pid.as_raw_pid(), started.control.try_clone().unwrap());
        let Started { pid: launcher, pidfd, control: ours, input, outputs } = started;
        File::from(input).write_all(b"in\n").unwrap();
        let nothing = File::open("/dev/null").unwrap().into();
        let started = Started { pid: launcher, pidfd, control: ours, input: nothing, outputs };
        let (output, error) = ended(started);
        assert_eq!((output.as_str(), error), ("0\n1\n2\n3\nin\n", format!("{pid} {pid} /\n")));
        let mut said = String::new();
        control.read_to_string(&mut said).unwrap();
        assert_eq!(said, "hello\n");
        drop(open);
    }

    #[test]
    fn launcher_of_another_user_has_its_ids_and_groups_and_may_open_its_output_by_name() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can become somebody else");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = script(directory.path(), "id -u; id -g; id -G > /dev/stderr");
        let identity = Identity { uid: 65534, gid: 65533, groups: vec![65533, 12345] };
        let (output, error) = ended(start(&path, Some(&identity)).unwrap());
        assert_eq!((output.as_str(), error.as_str()), ("65534\n65533\n", "65533 12345\n"));
    }

    #[test]
    fn failing_step_is_told_with_the_kernels_reason() {
        let missing = start(Path::new("/no/such/launcher"), None).unwrap_err();
        assert_eq!((missing.step, missing.error.raw_os_error()), (Step::Execute, Some(libc::ENOENT)));
        let text = missing.to_string();
        assert!(text.starts_with("cannot execute the program launcher /no/such/launcher: "), "{text}");
        if !rustix::process::geteuid().is_root() {
            let identity = Identity { uid: 1, gid: 1, groups: vec![] };
            let refused = start(Path::new("/bin/true"), Some(&identity)).unwrap_err();
            assert_eq!(refused.step, Step::Become);
        }
    }
}

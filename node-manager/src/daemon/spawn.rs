//! Executing a program launcher as the user of its job.
//!
//! The child is forked, not cloned into our memory: this process may be root's and holds the node's key, and
//! between becoming the user and executing the launcher nothing of it may be within the user's reach (the
//! kernel sees to that for a process of its own: who changes its user cannot be traced before it executes
//! something, and nothing of it is ever dumped). Between `clone` and `execve` the child only makes system
//! calls: everything they need is prepared before.
//!
//! From when the child is the user's, the user may stop it, and executing a file may take as long as a file
//! system likes. So [`start`] waits for none of that: a pipe tells how it went ([`outcome`]).
//!
//! The invariant: a launcher that runs has the user's ids and groups and no others, descriptors 0 to 3 and no
//! others, an empty environment, default signals, a session and a session keyring of its own, is in its job's
//! control group, and is told when this process dies.

use rustix::process::Pid;
use std::ffi::{CString, c_char, c_ulong};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::ptr;

use program_launcher::signals::SignalSet;

/// The descriptor of the control socket in the launcher.
pub const CONTROL_FD: RawFd = 3;

/// What the child needs before it has its descriptors has higher numbers, so that none is replaced by
/// another.
const FD_AT_LEAST: RawFd = 16;

/// What a launcher is told by when this process dies. It ends its job at that; before it is set up, it dies
/// of it. Not SIGKILL: processes that ranks have started would be left.
const DEATH_SIGNAL: libc::c_int = libc::SIGTERM;

/// The highest signal of Linux.
const LAST_SIGNAL: libc::c_int = 64;

/// Bytes of what the child says when it fails: the step, and errno.
const FAILURE_BYTES: usize = 5;

/// `KEYCTL_JOIN_SESSION_KEYRING` of keyctl(2).
const JOIN_SESSION_KEYRING: libc::c_int = 1;

/// `CLONE_INTO_CGROUP` of clone(2).
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// What is around all launchers of this daemon.
#[derive(Clone, Copy, Debug, Default)]
pub struct Confinement<'a> {
    /// The control group that the launcher is made in; ours if there is none.
    pub group: Option<BorrowedFd<'a>>,
    /// How many processes and threads of the user there may be on this node, if that is bounded here.
    pub processes: Option<u64>,
    /// Whether this process is protected from being killed when memory runs out, as a launcher is not to be.
    pub is_protected: bool,
}

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

/// A process that becomes a launcher.
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
    /// Ends when the launcher was executed, or has ended without; what is read of it is for [`outcome`].
    pub failure: OwnedFd,
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

/// Makes the process that executes the launcher, as this user, or as who we are. To be called on the thread
/// that lives as long as this process: the launcher is told when that thread ends.
///
/// # Errors
/// Nobody is this user, or [`Step::Prepare`]; nothing runs then.
pub fn start(
    launcher: &Path,
    identity: Option<&Identity>,
    confinement: &Confinement<'_>,
) -> Result<Started, SpawnError> {
    let failed = |step, error| SpawnError { step, path: launcher.to_owned(), error };
    let prepare = |error| failed(Step::Prepare, error);
    // The number that means "as it is" is nobody's.
    if identity.is_some_and(|identity| [identity.uid, identity.gid].contains(&u32::MAX)) {
        return Err(failed(Step::Become, io::ErrorKind::InvalidInput.into()));
    }
    let path = CString::new(launcher.as_os_str().as_bytes())
        .map_err(|_| prepare(io::Error::from(io::ErrorKind::InvalidInput)))?;
    let (control, their_control) = UnixStream::pair().map_err(prepare)?;
    let (their_input, input) = io::pipe().map_err(prepare)?;
    let (output, their_output) = io::pipe().map_err(prepare)?;
    let (error_output, their_error_output) = io::pipe().map_err(prepare)?;
    let (failure, their_failure) = io::pipe().map_err(prepare)?;
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
        processes: confinement.processes,
        is_protected: confinement.is_protected,
        parent: rustix::process::getpid().as_raw_pid(),
        failure: their_failure.as_raw_fd(),
    };
    // Until the child has forgotten our handlers no signal may find them in it.
    let blocked = SignalSet::all().block_exactly();
    // SAFETY: the child only makes system calls (`Child::become_launcher`) and ends with `_exit`, so it does
    // no harm that other threads of this process are not in it, nor that the C library does not know of it.
    let made = match unsafe { clone(confinement.group) } {
        Ok((0, _)) => child.become_launcher(),
        made => made,
    };
    blocked.block_exactly();
    let (pid, pidfd) = made.map_err(prepare)?;
    let pid = Pid::from_raw(pid).ok_or_else(|| prepare(io::ErrorKind::InvalidData.into()))?;
    // SAFETY: the kernel has made it for us.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let outputs = [output.into(), error_output.into()];
    Ok(Started { pid, pidfd, control, input: input.into(), outputs, failure: failure.into() })
}

/// What was read of [`Started::failure`], to its end.
///
/// # Errors
/// The step that failed. The process ends by itself.
pub fn outcome(launcher: &Path, told: &[u8]) -> Result<(), SpawnError> {
    let (step, error) = match <[u8; FAILURE_BYTES]>::try_from(told) {
        Ok([step, errno @ ..]) => {
            let steps = [Step::Prepare, Step::SetUp, Step::Become, Step::Execute];
            let step = steps.into_iter().find(|known| *known as u8 == step).unwrap_or(Step::SetUp);
            (step, io::Error::from_raw_os_error(i32::from_ne_bytes(errno)))
        }
        Err(_) if told.is_empty() => return Ok(()),
        Err(_) => (Step::SetUp, io::ErrorKind::UnexpectedEof.into()),
    };
    Err(SpawnError { step, path: launcher.to_owned(), error })
}

/// `fork`, into a control group if one is given: 0 in the child, and here its number and a descriptor of it.
/// Without the C library, which would ask all its threads in the child, where they are not, to become the
/// user with it.
///
/// # Safety
/// The child may only make system calls.
unsafe fn clone(group: Option<BorrowedFd<'_>>) -> io::Result<(libc::pid_t, RawFd)> {
    /// The first version of the kernel's structure that has a control group.
    #[repr(C)]
    #[derive(Default)]
    struct CloneArguments {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }
    let mut pidfd: RawFd = -1;
    let end = libc::SIGCHLD as u64;
    let pidfd_flag = libc::CLONE_PIDFD as u64;
    let made = match group {
        Some(group) => {
            let mut arguments = CloneArguments {
                flags: pidfd_flag | CLONE_INTO_CGROUP,
                pidfd: (&raw mut pidfd).expose_provenance() as u64,
                exit_signal: end,
                cgroup: group.as_raw_fd() as u64,
                ..CloneArguments::default()
            };
            // SAFETY: the arguments live through the call and have the size that is given; without CLONE_VM
            // the child has memory of its own, so both go on with this stack. The kernel stores one
            // descriptor at `pidfd`.
            unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<CloneArguments>()) }
        }
        // SAFETY: as above; where a descriptor of the child is asked for, it is stored at the third argument.
        None => unsafe {
            let nothing = ptr::null_mut::<libc::c_void>();
            let flags = (pidfd_flag | end) as c_ulong;
            libc::syscall(libc::SYS_clone, flags, nothing, &raw mut pidfd, nothing, nothing)
        },
    };
    match made {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok((pid as libc::pid_t, pidfd)),
    }
}

struct Child<'a> {
    path: &'a CString,
    arguments: [*const c_char; 2],
    environment: [*const c_char; 1],
    descriptors: [RawFd; 4],
    identity: Option<&'a Identity>,
    processes: Option<u64>,
    is_protected: bool,
    parent: libc::pid_t,
    failure: RawFd,
}

impl Child<'_> {
    fn become_launcher(&self) -> ! {
        let step = self.execute();
        // SAFETY: errno was set by the call that failed; the message is a local array of the length that is
        // given; _exit ends this process without running anything of its parent's.
        unsafe {
            let [a, b, c, d] = (*libc::__errno_location()).to_ne_bytes();
            let message = [step as u8, a, b, c, d];
            libc::write(self.failure, message.as_ptr().cast(), message.len());
            libc::_exit(127)
        }
    }

    /// Returns only if it failed, with the step that did; errno says why.
    fn execute(&self) -> Step {
        // SAFETY: all calls are system calls, or libc's thin wrappers of them, which allocate nothing and
        // take no lock. The pointers are to strings, null-terminated arrays and a slice that live in this
        // process's copy of `start`'s frame.
        unsafe {
            if libc::setsid() < 0 {
                return Step::SetUp;
            }
            // Those that this process handles or was told to ignore are not the job's business. SIGKILL and
            // SIGSTOP refuse.
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
            if self.is_protected && !let_go_when_memory_runs_out() {
                return Step::SetUp;
            }
            if let Some(identity) = self.identity {
                self.limit();
                if !become_user(identity) {
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
    /// What the user may take of the node. Refused: jobs run as well.
    ///
    /// # Safety
    /// Always, also in a child that may only make system calls.
    unsafe fn limit(&self) {
        let both = |limit| libc::rlimit { rlim_cur: limit, rlim_max: limit };
        // SAFETY: the limits live through the calls.
        unsafe {
            // For the launcher's NIC thread; ranks do not get it. Without it they are slower beside others
            // that compute.
            libc::setrlimit(libc::RLIMIT_RTPRIO, &both(1));
            if let Some(processes) = self.processes {
                libc::setrlimit(libc::RLIMIT_NPROC, &both(processes));
            }
        }
    }
}

/// Gives up what protects this process when memory runs out, for good: who is root then sets the least that
/// the process can take again.
///
/// # Safety
/// Always, also in a child that may only make system calls.
unsafe fn let_go_when_memory_runs_out() -> bool {
    // SAFETY: the strings live through the calls, and the descriptor is nobody else's.
    unsafe {
        let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        let is_done = file >= 0 && libc::write(file, c"0".as_ptr().cast(), 1) == 1;
        if file >= 0 {
            libc::close(file);
        }
        is_done
    }
}

/// Becomes a user for good, with a session keyring that nobody else has. False where that fails, and errno
/// says why.
///
/// # Safety
/// Only in a child that may only make system calls: the C library is not told.
unsafe fn become_user(Identity { uid, gid, groups }: &Identity) -> bool {
    let (mut real, mut effective, mut saved) = (u32::MAX, u32::MAX, u32::MAX);
    // SAFETY: the kernel reads as many groups as there are, and stores three numbers where that is asked for.
    unsafe {
        if libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) != 0
            || libc::syscall(libc::SYS_setresgid, *gid, *gid, *gid) != 0
            || libc::syscall(libc::SYS_setresuid, *uid, *uid, *uid) != 0
        {
            return false;
        }
        // Until the launcher is executed this is a copy of the node manager, keys and all. Whom signals end
        // in this user's hands leaves no dump of it, whatever fs.suid_dumpable says.
        if libc::prctl(libc::PR_SET_DUMPABLE, 0) != 0 {
            return false;
        }
        let joined = libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, ptr::null::<c_char>());
        // Where there are no keys, or a container refuses them to all, nobody has any of the node manager's.
        if joined < 0 && !matches!(*libc::__errno_location(), libc::ENOSYS | libc::EPERM) {
            return false;
        }
        if libc::getresuid(&mut real, &mut effective, &mut saved) != 0 {
            return false;
        }
        let mut is_right = [real, effective, saved] == [*uid; 3];
        if libc::getresgid(&mut real, &mut effective, &mut saved) != 0 {
            return false;
        }
        is_right &= [real, effective, saved] == [*gid; 3];
        if !is_right {
            *libc::__errno_location() = libc::EPERM;
        }
        is_right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    /// A process's session keyring (`KEY_SPEC_SESSION_KEYRING`).
    const SESSION_KEYRING: libc::c_int = -3;

    /// A program launcher that is a shell script, where everybody may execute it. Another process writes
    /// it: a process that another test forks would hold a descriptor of ours for a moment, and what is
    /// open for writing is not executed (ETXTBSY).
    fn script(directory: &Path, text: &str) -> PathBuf {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        let path = directory.join("launcher");
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
        let status = Command::new("sh").args(["-c", write]).arg(&path).arg(text).status().unwrap();
        assert!(status.success(), "{}: {status}", path.display());
        path
    }

    /// Starts a launcher, and waits until it is executed.
    fn executed(launcher: &Path, identity: Option<&Identity>) -> Result<Started, SpawnError> {
        let started = start(launcher, identity, &Confinement::default())?;
        let mut told = Vec::new();
        File::from(started.failure.try_clone().unwrap()).read_to_end(&mut told).unwrap();
        outcome(launcher, &told).map(|()| started)
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
        // One that is not closed on exec, as whoever started us may have left it. (A shell has its script
        // open as 10.)
        let open = rustix::io::dup(File::open("/dev/null").unwrap()).unwrap();
        let text = "for fd in $(seq 0 9) $(seq 11 99); do [ -e /proc/$$/fd/$fd ] && echo $fd; done; cat; \
                    echo $(cut -d' ' -f6 /proc/$$/stat) $$ $PWD >&2; tr '\\0' '\\n' < /proc/$$/environ >&2; echo hello >&3";
        let started = executed(&script(directory.path(), text), None).unwrap();
        let (pid, mut control) = (started.pid.as_raw_pid(), started.control.try_clone().unwrap());
        let Started { pid: launcher, pidfd, control: ours, input, outputs, failure } = started;
        File::from(input).write_all(b"in\n").unwrap();
        let nothing = File::open("/dev/null").unwrap().into();
        let started = Started { pid: launcher, pidfd, control: ours, input: nothing, outputs, failure };
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
            bcs_harness::skip("only root can become somebody else");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = script(directory.path(), "id -u; id -g; id -G > /dev/stderr");
        let identity = Identity { uid: 65534, gid: 65533, groups: vec![65533, 12345] };
        let (output, error) = ended(executed(&path, Some(&identity)).unwrap());
        assert_eq!((output.as_str(), error.as_str()), ("65534\n65533\n", "65533 12345\n"));
    }

    #[test]
    fn keys_of_the_node_managers_session_are_no_user_s() {
        const NAME: &std::ffi::CStr = c"bcs-test-key-of-another-session";
        if !rustix::process::geteuid().is_root() || !Path::new("/proc/keys").exists() {
            bcs_harness::skip("only root can become somebody else, or there are no keys here");
            return;
        }
        // SAFETY: the strings live through the calls, which store nothing in our memory. The session is this
        // thread's alone.
        let made = unsafe {
            libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, ptr::null::<c_char>()) > 0
                && libc::syscall(
                    libc::SYS_add_key,
                    c"user".as_ptr(),
                    NAME.as_ptr(),
                    c"secret".as_ptr(),
                    6,
                    SESSION_KEYRING,
                ) > 0
        };
        if !made {
            bcs_harness::skip(format_args!("keys are refused here: {}", io::Error::last_os_error()));
            return;
        }
        let seen = |identity: Option<&Identity>| {
            let directory = tempfile::tempdir().unwrap();
            let (output, _) = ended(executed(&script(directory.path(), "cat /proc/keys"), identity).unwrap());
            output.contains(NAME.to_str().unwrap())
        };
        assert!(seen(None), "our own processes have it");
        assert!(
            !seen(Some(&Identity { uid: 65534, gid: 65534, groups: vec![] })),
            "another user's have it, too"
        );
    }

    #[test]
    fn failing_step_is_told_with_the_kernels_reason() {
        let missing = executed(Path::new("/no/such/launcher"), None).unwrap_err();
        assert_eq!((missing.step, missing.error.raw_os_error()), (Step::Execute, Some(libc::ENOENT)));
        let text = missing.to_string();
        assert!(text.starts_with("cannot execute the program launcher /no/such/launcher: "), "{text}");
        // Root cannot become the user, or the group, that has no number.
        let is_root = rustix::process::geteuid().is_root();
        let refused = if is_root { [(u32::MAX, 1), (1, u32::MAX)] } else { [(1, 1); 2] };
        for (uid, gid) in refused {
            let identity = Identity { uid, gid, groups: vec![] };
            assert_eq!(executed(Path::new("/bin/true"), Some(&identity)).unwrap_err().step, Step::Become);
        }
    }
}

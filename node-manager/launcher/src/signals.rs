//! Signals as values: their names for messages, sets of them, and the descriptor they arrive on.
//!
//! No process of the launcher installs a handler: signals are blocked and read from a descriptor,
//! in order, between two steps of the event loop.

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A signal, by its number on this machine.
pub type Signal = i32;

const NAMES: &[(Signal, &str, &str)] = &[
    (libc::SIGHUP, "SIGHUP", "hangup"),
    (libc::SIGINT, "SIGINT", "interrupt"),
    (libc::SIGQUIT, "SIGQUIT", "quit"),
    (libc::SIGILL, "SIGILL", "illegal instruction"),
    (libc::SIGTRAP, "SIGTRAP", "trace trap"),
    (libc::SIGABRT, "SIGABRT", "abort"),
    (libc::SIGBUS, "SIGBUS", "bus error"),
    (libc::SIGFPE, "SIGFPE", "arithmetic exception"),
    (libc::SIGKILL, "SIGKILL", "kill"),
    (libc::SIGUSR1, "SIGUSR1", "user signal 1"),
    (libc::SIGSEGV, "SIGSEGV", "segmentation fault"),
    (libc::SIGUSR2, "SIGUSR2", "user signal 2"),
    (libc::SIGPIPE, "SIGPIPE", "broken pipe"),
    (libc::SIGALRM, "SIGALRM", "alarm clock"),
    (libc::SIGTERM, "SIGTERM", "terminate"),
    (libc::SIGCHLD, "SIGCHLD", "child status"),
    (libc::SIGCONT, "SIGCONT", "continue"),
    (libc::SIGSTOP, "SIGSTOP", "stop"),
    (libc::SIGTSTP, "SIGTSTP", "stop from the terminal"),
    (libc::SIGTTIN, "SIGTTIN", "terminal input"),
    (libc::SIGTTOU, "SIGTTOU", "terminal output"),
    (libc::SIGXCPU, "SIGXCPU", "processor time limit exceeded"),
    (libc::SIGXFSZ, "SIGXFSZ", "file size limit exceeded"),
    (libc::SIGVTALRM, "SIGVTALRM", "virtual timer"),
    (libc::SIGPROF, "SIGPROF", "profiling timer"),
    (libc::SIGIO, "SIGIO", "input or output possible"),
    (libc::SIGPWR, "SIGPWR", "power failure"),
    (libc::SIGSYS, "SIGSYS", "bad system call"),
];

/// The name of a signal as the manual writes it: `SIGSEGV`, or `signal 40` for those without one.
pub fn name(signal: Signal) -> String {
    match NAMES.iter().find(|(number, ..)| *number == signal) {
        Some((_, name, _)) => (*name).to_owned(),
        None => format!("signal {signal}"),
    }
}

/// What a signal means, in words; empty for those without a name.
pub fn meaning(signal: Signal) -> &'static str {
    NAMES.iter().find(|(number, ..)| *number == signal).map_or("", |(_, _, meaning)| meaning)
}

/// The signals with which a user or a batch system ends a job.
pub fn asks_to_end(signal: Signal) -> bool {
    matches!(signal, libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT)
}

/// A set of signals.
#[derive(Clone, Copy)]
pub struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// The set of just these signals.
    pub fn of(signals: &[Signal]) -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the whole set, so that assume_init may follow; sigaddset
        // refuses numbers that are no signal and writes nowhere else.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            let mut set = set.assume_init();
            for &signal in signals {
                libc::sigaddset(&mut set, signal);
            }
            Self(set)
        }
    }

    /// The set of all signals that a process can block.
    pub fn all() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigfillset initialises the whole set.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            Self(set.assume_init())
        }
    }

    /// Makes this the set of signals that the calling thread blocks; gives back the set before.
    pub fn block_exactly(&self) -> Self {
        let mut before = MaybeUninit::uninit();
        // SAFETY: both pointers are to sets that live through the call; with a valid first argument
        // sigprocmask cannot fail, so `before` is written.
        unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, &self.0, before.as_mut_ptr());
            Self(before.assume_init())
        }
    }

    /// The raw set, for calls of libc.
    pub fn as_raw(&self) -> &libc::sigset_t {
        &self.0
    }
}

/// Whether whoever started this process told it to ignore the signal (`nohup`, a background job of
/// a shell without job control). Such a signal is not ours to forward.
pub fn is_ignored(signal: Signal) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: with a null new action sigaction only writes the present one; it is read only when
    // the call succeeded.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Gives a signal its default action.
pub fn set_default(signal: Signal) {
    // SAFETY: SIG_DFL is no handler, so no code of ours runs in a signal's context.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Gives all signals their default actions, but for SIGPIPE, which no Rust program wants to die of: whoever
/// started this process may have ignored some of them for reasons of its own.
pub fn set_all_default() {
    // Numbers that are no signal, and the two whose action is fixed, are refused.
    (1..=libc::SIGRTMAX()).filter(|signal| *signal != libc::SIGPIPE).for_each(set_default);
}

/// Stops this process, as the shell expects of one that got its stop signal.
pub fn stop_here() {
    // SAFETY: raise touches no memory of ours.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// A descriptor from which blocked signals are read.
pub struct SignalQueue(OwnedFd);

impl SignalQueue {
    /// A queue of these signals, which the caller has blocked. Never blocks when read, and is
    /// closed on exec.
    pub fn of(signals: &[Signal]) -> io::Result<Self> {
        // SAFETY: signalfd reads the set and returns a new descriptor or -1.
        let fd = unsafe {
            libc::signalfd(-1, SignalSet::of(signals).as_raw(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Takes the next signal that has arrived, if any.
    pub fn next(&self) -> Option<Signal> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = mem::size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer holds `size` bytes; it is read only when the kernel wrote all of it,
        // and any bytes are a valid signalfd_siginfo.
        unsafe {
            let read = libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), size);
            (read == size as isize).then(|| info.assume_init().ssi_signo as Signal)
        }
    }
}

impl AsFd for SignalQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_manual_names() {
        assert_eq!(name(libc::SIGSEGV), "SIGSEGV");
        assert_eq!(meaning(libc::SIGSEGV), "segmentation fault");
        assert_eq!(name(40), "signal 40");
        assert_eq!(meaning(40), "");
    }
}

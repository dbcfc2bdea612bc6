//! Locks of ranges of a file's bytes, among threads and among processes of any node.
//!
//! Who writes bytes that it was not asked to write, because they lie between others, reads them before: it
//! has them locked for itself meanwhile, and everybody who writes has a lock that others who only write may
//! have, too. Atomic accesses have one over all of their bytes (§14.6.1).
//!
//! Locks are those of open file descriptions (`F_OFD_SETLKW`), which all processes respect; threads of one
//! process, whose locks these are, keep a list beside. A lock is held for as long as bytes are moved, and
//! nobody who holds one waits for another process's call.

use super::errors::Failed;
use crate::object::file::opened::Opened;
use rustix::fd::AsRawFd;
use rustix::io::Errno;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::PoisonError;

/// Whom a lock keeps out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Those who want the bytes for themselves.
    Shared,
    /// Everybody.
    Exclusive,
}

/// A lock that is held.
pub(super) struct Held<'a> {
    opened: &'a Opened,
    range: Range<u64>,
    /// Other processes know of it; some file systems have no locks.
    pub is_heard: bool,
}

/// Asks the system for a lock of these bytes, or gives it back.
fn set(opened: &Opened, kind: c_int, range: &Range<u64>) -> Result<(), Errno> {
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: range.start as i64,
        l_len: (range.end - range.start) as i64,
        l_pid: 0,
    };
    loop {
        // SAFETY: the descriptor is open, and the lock is initialised.
        let refused = unsafe { libc::fcntl(opened.fd.as_raw_fd(), libc::F_OFD_SETLKW, &raw const lock) };
        match if refused == 0 { Ok(()) } else { Err(last_error()) } {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Locks these bytes, once others let go of them. Threads of one process keep each other out in any mode.
///
/// # Errors
/// The system fails.
pub(super) fn lock(opened: &Opened, range: Range<u64>, mode: Mode) -> Result<Held<'_>, Failed> {
    let overlaps = |other: &Range<u64>| other.start < range.end && range.start < other.end;
    let mut held = opened.held.lock().unwrap_or_else(PoisonError::into_inner);
    while held.iter().any(overlaps) {
        held = opened.given_back.wait(held).unwrap_or_else(PoisonError::into_inner);
    }
    held.push(range.clone());
    drop(held);
    let kind = if mode == Mode::Shared && opened.may_read { libc::F_RDLCK } else { libc::F_WRLCK };
    // From here on it is given back whatever happens.
    let mut own = Held { opened, range, is_heard: false };
    match if own.range.is_empty() { Ok(()) } else { set(opened, kind, &own.range) } {
        Ok(()) => own.is_heard = true,
        Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
        Err(errno) => return Err(Failed { errno, at: own.range.start, action: "locked" }),
    }
    Ok(own)
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.is_heard && !self.range.is_empty() {
            // What cannot be given back goes with the descriptor.
            let _ = set(self.opened, libc::F_UNLCK, &self.range);
        }
        let mut held = self.opened.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = held.iter().position(|range| *range == self.range) {
            held.swap_remove(at);
        }
        drop(held);
        self.opened.given_back.notify_all();
    }
}

//! Cross-memory attach: the kernel copies between two processes' memory, one copy, one core
//! (`process_vm_readv(2)`).
//!
//! The only channel that needs no help of the other end, and so the one for an end that computes. Refusal
//! (containers, Yama) is an answer of its own: the caller falls back to the window.

use super::error::ChannelError;
use super::peer::Peer;
use crate::memory::NicMemory;
use crate::memory::status::Phase;
use libc::{c_void, iovec};
use std::io::Error;

/// Whether ranks of a node read and write each other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CrossMemory {
    /// They do not.
    Off,
    /// They do where it is faster.
    WhereFaster,
    /// They do wherever they can have large contributions to collectives read like that.
    Always,
}

impl Peer {
    /// That of the rank in this place of the node.
    ///
    /// # Errors
    /// [`ChannelError::Gone`] where none was ever, or none is any more: its number may be another process's.
    pub fn of(memory: &NicMemory, local_index: u32) -> Result<Self, ChannelError> {
        let status = &memory.rank(local_index)?.status;
        let peer = Self { rank: memory.job_rank(local_index), pid: status.pid() };
        if peer.pid == 0 || status.phase() == Phase::Exited {
            return Err(ChannelError::Gone { peer });
        }
        Ok(peer)
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the other process into this one.
    Read,
    /// From this process into the other one.
    Write,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// So many bytes are in place, from the start; at least one.
    Moved(u64),
    /// The system does not let this process touch the other one's memory.
    Refused,
}

/// Moves up to `bytes` bytes between `here` in this process and `there` in that of another rank.
///
/// The addresses need not be valid: the kernel checks both.
pub(super) fn attach(
    direction: Direction,
    peer: Peer,
    here: u64,
    there: u64,
    bytes: u64,
) -> Result<Attempt, ChannelError> {
    loop {
        let moved = call(direction, peer.pid, here, there, bytes);
        if moved > 0 {
            return Ok(Attempt::Moved(moved as u64));
        }
        let (source, direction) = (Error::last_os_error(), verb(direction));
        match source.raw_os_error() {
            code if moved == 0 || code == Some(libc::ESRCH) => return Err(ChannelError::Gone { peer }),
            Some(libc::EINTR | libc::EAGAIN) => {}
            Some(libc::EPERM | libc::ENOSYS | libc::EACCES) => return Ok(Attempt::Refused),
            Some(libc::EFAULT) if readable(peer.pid, there) => {
                return Err(ChannelError::OwnBuffer { direction, address: here, bytes });
            }
            Some(libc::EFAULT) => {
                return Err(ChannelError::PeerBuffer { peer, direction, address: there, bytes });
            }
            _ => return Err(ChannelError::System { peer, direction, address: there, bytes, source }),
        }
    }
}

/// Moves all of the bytes. Where the system refuses that, the error says so ([`ChannelError::is_refusal`]).
pub(super) fn attach_all(
    direction: Direction,
    peer: Peer,
    here: u64,
    there: u64,
    bytes: u64,
) -> Result<(), ChannelError> {
    let mut moved = 0;
    while moved < bytes {
        match attach(direction, peer, here + moved, there + moved, bytes - moved)? {
            Attempt::Moved(some) => moved += some,
            Attempt::Refused => {
                let source = Error::from_raw_os_error(libc::EPERM);
                let direction = verb(direction);
                return Err(ChannelError::System { peer, direction, address: there, bytes, source });
            }
        }
    }
    Ok(())
}

/// Reads from another process of the node, as much as asked for: what a member of a collective lends.
///
/// # Safety
/// `to` must be writable for `bytes` bytes.
pub(crate) unsafe fn read_peer(
    peer: Peer,
    address: u64,
    to: *mut u8,
    bytes: usize,
) -> Result<(), ChannelError> {
    attach_all(Direction::Read, peer, to as u64, address, bytes as u64)
}

/// Writes to another process of the node, as much as asked for: what came from another node.
///
/// # Safety
/// `bytes` bytes from `from` on must be readable.
pub(crate) unsafe fn write_peer(
    peer: Peer,
    address: u64,
    from: *const u8,
    bytes: usize,
) -> Result<(), ChannelError> {
    attach_all(Direction::Write, peer, from as u64, address, bytes as u64)
}

/// Whether process `pid` is alive: a dead one that nobody has waited for is dead too.
pub(super) fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    let Ok(handle) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) else {
        // No process, or a kernel without pidfds, where a signal number 0 tells as much as can be known.
        return rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH);
    };
    let mut fds = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
    let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
    !matches!(rustix::event::poll(&mut fds, Some(&now)), Ok(1..))
}

fn verb(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
    }
}

fn readable(pid: u32, address: u64) -> bool {
    let mut byte = 0u8;
    call(Direction::Read, pid, (&raw mut byte) as u64, address, 1) == 1
}

fn call(direction: Direction, pid: u32, here: u64, there: u64, bytes: u64) -> isize {
    let local = iovec { iov_base: here as *mut c_void, iov_len: bytes as usize };
    let remote = iovec { iov_base: there as *mut c_void, iov_len: bytes as usize };
    let pid = pid as libc::pid_t;
    // SAFETY: one vector each, alive during the call. The kernel checks every address in both processes and
    // answers EFAULT; what it may write here is the receive buffer that the program gave for it until its
    // request completes.
    unsafe {
        match direction {
            Direction::Read => libc::process_vm_readv(pid, &local, 1, &remote, 1, 0),
            Direction::Write => libc::process_vm_writev(pid, &local, 1, &remote, 1, 0),
        }
    }
}

//! Cross-memory attach by the Linux kernel: `process_vm_readv(2)`, `process_vm_writev(2)`.

use crate::channel::{Attempt, ChannelError, Direction, Peer, ProcessMemory};
use libc::{c_void, iovec};
use std::io::Error;

/// The memory of the ranks' processes, through the kernel.
#[derive(Clone, Copy, Debug)]
pub struct CrossMemoryAttach;

impl ProcessMemory for CrossMemoryAttach {
    unsafe fn attach(
        &self,
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
            let (source, direction) = (Error::last_os_error(), direction.verb());
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

    fn is_alive(&self, peer: Peer) -> bool {
        let pid = i32::try_from(peer.pid).ok().and_then(rustix::process::Pid::from_raw);
        let Some(pid) = pid else { return false };
        let Ok(handle) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) else {
            // No process, or a kernel without pidfds, where a signal number 0 tells as much as can be known.
            return rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH);
        };
        let mut fds = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
        let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(rustix::event::poll(&mut fds, Some(&now)), Ok(1..))
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

//! Cross-memory attach by the Linux kernel: `process_vm_readv(2)`, `process_vm_writev(2)`.

use crate::channel::{Access, ChannelError, Direction, Peer, ProcessMemory};
use libc::{c_void, iovec};
use std::io::Error;

/// The memory of the ranks' processes, through the kernel.
#[derive(Clone, Copy, Debug)]
pub struct CrossMemoryAttach;

impl ProcessMemory for CrossMemoryAttach {
    unsafe fn attach(&self, access: &Access) -> Result<u64, ChannelError> {
        loop {
            let moved = call(access);
            if moved > 0 {
                return Ok(moved as u64);
            }
            let (source, peer) = (Error::last_os_error(), access.peer);
            match source.raw_os_error() {
                code if moved == 0 || code == Some(libc::ESRCH) => return Err(ChannelError::Gone { peer }),
                Some(libc::EINTR | libc::EAGAIN) => {}
                Some(libc::EPERM | libc::ENOSYS | libc::EACCES) => {
                    return Err(ChannelError::Refused(*access));
                }
                Some(libc::EFAULT) if is_readable(access) => return Err(ChannelError::OwnBuffer(*access)),
                Some(libc::EFAULT) => return Err(ChannelError::PeerBuffer(*access)),
                _ => return Err(ChannelError::System { access: *access, source }),
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

/// Whether the other process has the first of the bytes.
fn is_readable(access: &Access) -> bool {
    let mut byte = 0u8;
    call(&Access { direction: Direction::Read, here: (&raw mut byte) as u64, bytes: 1, ..*access }) == 1
}

fn call(&Access { direction, peer, here, there, bytes }: &Access) -> isize {
    let [local, remote] =
        [here, there].map(|at| iovec { iov_base: at as *mut c_void, iov_len: bytes as usize });
    let pid = peer.pid as libc::pid_t;
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

//! What a connection's TCP knows of the host at its other end. The system there acknowledges what reaches it,
//! whatever the process does that is to read it (RFC 9293, section 3.8): so it answers for the host, and not
//! for what moves bytes.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Segments in a row that a host has to leave without an answer before it is lost: one may be under way.
const UNANSWERED: u32 = 2;

/// Whether the host at the other end of a connection is lost: it has acknowledged nothing for so long, and
/// has answered neither what was sent again to it nor a probe of its window (`TCP_INFO`, tcp(7)). Somebody
/// has to have sent something, or there is nothing to be answered, and the host counts as there.
///
/// # Errors
/// The socket is none of TCP.
pub(crate) fn is_lost(socket: BorrowedFd<'_>, patience: Duration) -> io::Result<bool> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut bytes = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the system writes at most so many bytes to where there is room for them.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut bytes,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: numbers, of which zero is one; an older system fills fewer of them.
    let info = unsafe { info.assume_init() };
    let unanswered = u32::from(info.tcpi_retransmits) + u32::from(info.tcpi_probes);
    let silent = Duration::from_millis(info.tcpi_last_ack_recv.into());
    Ok(silent >= patience && unanswered >= UNANSWERED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_host_that_acknowledges_is_there_though_nobody_reads() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _never_read = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        // Until nothing more fits, so that the window is probed.
        while io::Write::write(&mut &stream, &[0; 1 << 16]).is_ok() {}
        std::thread::sleep(Duration::from_millis(20));
        for patience in [Duration::ZERO, Duration::from_millis(1), Duration::from_secs(10)] {
            assert!(!is_lost(stream.as_fd(), patience).unwrap(), "{patience:?}");
        }
    }

    #[test]
    fn what_is_no_connection_is_an_error() {
        let (pipe, _writer) = io::pipe().unwrap();
        assert!(is_lost(pipe.as_fd(), Duration::ZERO).is_err());
    }
}

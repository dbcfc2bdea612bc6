//! Connections that are no link yet, or no link any more; and why a link is closed.

use super::handshake::Handshake;
use super::memory::OwnedEnd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How many connections may be under way whose other end has not proved who it is; more are closed. It bounds
/// what strangers can make a node keep and compute.
pub(crate) const GUESTS_LIMIT: usize = 256;

/// How many connections one round accepts.
pub(crate) const ACCEPTS_A_ROUND: usize = 64;

/// How long a node may take from its connection until it has proved who it is.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a dial that failed waits before it is tried again.
pub(crate) const RETRY: Duration = Duration::from_millis(20);

/// How long the other end of a link that is over may take to hear why.
pub(crate) const LINGERING: Duration = Duration::from_secs(1);

/// Why a link is closed, as its other end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CloseCode {
    /// The node leaves in order: all that it sent comes before.
    Orderly = 0,
    /// The peer does not keep the protocol.
    Protocol = 2,
    /// There is another connection for this link.
    Crossed = 3,
    /// The peer has been declared dead: it takes no further part.
    DeclaredDead = 4,
    /// The node itself takes no further part.
    Resigned = 5,
}

impl CloseCode {
    pub fn is(self, code: u8) -> bool {
        self as u8 == code
    }
}

/// A connection whose other end has not proved who it is.
#[derive(Debug)]
pub(crate) struct Guest {
    pub handshake: Handshake,
    pub until: Instant,
}

/// A connection that is over, but whose other end is to hear why before it is closed.
#[derive(Debug)]
pub(crate) struct Lingering {
    pub owned: OwnedEnd,
    pub stream: TcpStream,
    pub until: Instant,
}

impl Lingering {
    /// Goes on with it. False when it can be closed.
    pub fn advance(&mut self, now: Instant) -> bool {
        let end = &mut self.owned.end;
        if now >= self.until || end.drive_sending(self.stream.as_fd()).is_err() {
            return false;
        }
        if end.is_close_sent() {
            // What the other end still says is thrown away; a socket that is closed with bytes unread would
            // take back what was sent.
            let _ = self.stream.shutdown(std::net::Shutdown::Write);
            let mut rest = [0; 4096];
            loop {
                match self.stream.read(&mut rest) {
                    Ok(0) => return false,
                    Ok(_) => {}
                    Err(error) => return error.kind() == ErrorKind::WouldBlock,
                }
            }
        }
        true
    }
}

/// Sets a connection up: it never blocks, and what is written goes at once.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)
}

/// Begins to connect to an address, without waiting.
pub(crate) fn begin_connect(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error.into()),
    }
}

//! The UDP socket: datagrams in batches, in both directions.
//!
//! Received with recvmmsg and GRO, sent with GSO. What the kernel does not take at once is kept, and nothing more is
//! asked of the connections until it has gone. Invariant: no call blocks, but [`Socket::wait`].

use bytes::BytesMut;
use quinn_proto::{EcnCodepoint, Transmit};
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSockRef, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How many buffers are filled by one call, each of [`BUFFER_BYTES`].
const BUFFERS: usize = 8;
const _: () = assert!(BUFFERS <= BATCH_SIZE, "more would never be filled");

/// A buffer holds the largest datagram, or several that the kernel has put together.
const BUFFER_BYTES: usize = 1 << 16;

/// What the kernel is asked to keep of what arrives while nobody polls, in bytes.
const KERNEL_BUFFER_BYTES: usize = 8 << 20;

/// The largest datagram that the first link of the path to an address takes, in bytes.
pub fn path_datagram_bytes(address: SocketAddr) -> io::Result<u16> {
    // Connecting a UDP socket sends nothing, it only looks for the route.
    let (any, header_bytes): (IpAddr, u32) = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), 20 + 8),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), 40 + 8),
    };
    let probe = UdpSocket::bind((any, 0))?;
    probe.connect(address)?;
    let bytes = if address.is_ipv4() { sockopt::ip_mtu(&probe) } else { sockopt::ipv6_mtu(&probe) }?;
    Ok(bytes.saturating_sub(header_bytes).try_into().unwrap_or(u16::MAX))
}

/// A datagram that has arrived.
#[derive(Debug)]
pub struct Datagram {
    pub from: SocketAddr,
    pub local_ip: Option<IpAddr>,
    pub ecn: Option<EcnCodepoint>,
    pub bytes: BytesMut,
}

/// What has been sent and received, counted in the units of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketStatistics {
    /// Datagrams sent.
    pub sent: u64,
    /// System calls that sent them.
    pub send_calls: u64,
    /// Datagrams received.
    pub received: u64,
    /// System calls that received them, unsuccessful ones included.
    pub receive_calls: u64,
}

#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    buffers: Vec<u8>,
    /// What the kernel has not taken yet.
    blocked: VecDeque<(Transmit, Vec<u8>)>,
    pub statistics: SocketStatistics,
}

impl Socket {
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // More than the system's limit needs a privilege; with less the network loses packets in bursts, which
        // costs time only.
        if sockopt::set_socket_recv_buffer_size_force(&socket, KERNEL_BUFFER_BYTES).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, KERNEL_BUFFER_BYTES)?;
        }
        if sockopt::set_socket_send_buffer_size_force(&socket, KERNEL_BUFFER_BYTES).is_err() {
            sockopt::set_socket_send_buffer_size(&socket, KERNEL_BUFFER_BYTES)?;
        }
        Ok(Self {
            socket,
            state,
            buffers: vec![0; BUFFERS * BUFFER_BYTES],
            blocked: VecDeque::new(),
            statistics: SocketStatistics::default(),
        })
    }

    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Whether large datagrams may be tried: they are never cut in pieces on their way.
    pub fn may_probe_size(&self) -> bool {
        !self.state.may_fragment()
    }

    /// How many datagrams one call can send.
    pub fn segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Hands over what has arrived, as much as one call gives. False when that was all.
    pub fn receive(&mut self, mut handle: impl FnMut(Datagram)) -> io::Result<bool> {
        let mut meta = [RecvMeta::default(); BUFFERS];
        let mut chunks = self.buffers.chunks_exact_mut(BUFFER_BYTES);
        let mut slices: [IoSliceMut<'_>; BUFFERS] =
            std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
        self.statistics.receive_calls += 1;
        let count = loop {
            match self.state.recv(UdpSockRef::from(&self.socket), &mut slices, &mut meta) {
                Ok(count) => break count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                // An interrupted call, or the echo of a datagram that nobody took (its sender finds out by itself).
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionRefused) => {}
                Err(error) => return Err(error),
            }
        };
        for (meta, buffer) in meta.iter().zip(&slices).take(count) {
            for bytes in buffer[..meta.len].chunks(meta.stride.max(1)) {
                self.statistics.received += 1;
                handle(Datagram {
                    from: meta.addr,
                    local_ip: meta.dst_ip,
                    ecn: meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8)),
                    bytes: BytesMut::from(bytes),
                });
            }
        }
        Ok(count == BUFFERS)
    }

    /// Sends, or keeps for later. `contents` is the whole of what is described.
    pub fn send(&mut self, transmit: Transmit, contents: &[u8]) {
        if !self.blocked.is_empty() || !self.try_send(&transmit, contents) {
            self.blocked.push_back((transmit, contents.to_vec()));
        }
    }

    /// Whether everything has gone. While it has not, nothing more should be sent.
    pub fn is_clear(&mut self) -> bool {
        while let Some((transmit, contents)) = self.blocked.pop_front() {
            if !self.try_send(&transmit, &contents) {
                self.blocked.push_front((transmit, contents));
                return false;
            }
        }
        true
    }

    /// False when the kernel takes nothing now. A datagram that cannot be sent at all counts as lost on its way:
    /// whoever sent it repeats it, or gives up in time.
    fn try_send(&mut self, transmit: &Transmit, contents: &[u8]) -> bool {
        let datagram = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
            contents: &contents[..transmit.size],
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        self.statistics.send_calls += 1;
        self.statistics.sent += transmit.segment_size.map_or(1, |size| transmit.size.div_ceil(size)) as u64;
        let sent = self.state.try_send(UdpSockRef::from(&self.socket), &datagram);
        !matches!(sent, Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    /// Sleeps until something arrives, what was kept can be sent, or the time is over.
    pub fn wait(&self, at_most: Option<Duration>) -> io::Result<()> {
        let interest = if self.blocked.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        let timeout = at_most.map(|duration| Timespec {
            tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: duration.subsec_nanos().into(),
        });
        match poll(&mut [PollFd::new(&self.socket, interest)], timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

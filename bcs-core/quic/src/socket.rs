//! The UDP socket: datagrams in batches, in both directions.
//!
//! Received with recvmmsg and GRO, sent with GSO. What the kernel does not take at once is kept, and nothing
//! more is asked of the connections until it has gone. Invariant: no call blocks, but [`Socket::wait`].

use bcs_core::PortRange;
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

/// A buffer that is filled at least so far is handed over as it is, and used again when nobody has a part of
/// it any more. What is less is copied: else a small message that is kept would keep a whole buffer.
const HANDED_OVER_BYTES: usize = BUFFER_BYTES / 4;

/// How many buffers that were handed over are remembered, to be used again.
const LENT_BUFFERS: usize = 64;

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
    /// What is filled next, each of [`BUFFER_BYTES`].
    buffers: [BytesMut; BUFFERS],
    /// The empty ends of buffers that were handed over: each becomes the whole buffer again when the rest of
    /// it is gone.
    lent: VecDeque<BytesMut>,
    /// What the kernel has not taken yet.
    blocked: VecDeque<(Transmit, Vec<u8>)>,
    pub statistics: SocketStatistics,
}

/// Binds at the first of the ports that is free.
pub fn bind(address: IpAddr, ports: PortRange) -> io::Result<UdpSocket> {
    let is_taken =
        |bound: &io::Result<_>| matches!(bound, Err(error) if error.kind() == ErrorKind::AddrInUse);
    let mut tried = ports.ports().map(|port| UdpSocket::bind((address, port)));
    tried.find(|bound| !is_taken(bound)).unwrap_or(Err(ErrorKind::AddrInUse.into()))
}

impl Socket {
    /// Of a socket that is bound.
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // More than the system's limit needs a privilege; with less the network loses packets in bursts,
        // which costs time only.
        if sockopt::set_socket_recv_buffer_size_force(&socket, KERNEL_BUFFER_BYTES).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, KERNEL_BUFFER_BYTES)?;
        }
        if sockopt::set_socket_send_buffer_size_force(&socket, KERNEL_BUFFER_BYTES).is_err() {
            sockopt::set_socket_send_buffer_size(&socket, KERNEL_BUFFER_BYTES)?;
        }
        Ok(Self {
            socket,
            state,
            buffers: std::array::from_fn(|_| BytesMut::zeroed(BUFFER_BYTES)),
            lent: VecDeque::new(),
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
        let mut slices = self.buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
        self.statistics.receive_calls += 1;
        let count = loop {
            match self.state.recv(UdpSockRef::from(&self.socket), &mut slices, &mut meta) {
                Ok(count) => break count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                // An interrupted call, or the echo of a datagram that nobody took (its sender finds out by
                // itself).
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionRefused) => {}
                Err(error) => return Err(error),
            }
        };
        for (index, meta) in meta.iter().enumerate().take(count) {
            let mut arrived = self.take_arrived(index, meta.len);
            while !arrived.is_empty() {
                self.statistics.received += 1;
                handle(Datagram {
                    from: meta.addr,
                    local_ip: meta.dst_ip,
                    ecn: meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8)),
                    bytes: arrived.split_to(arrived.len().min(meta.stride.max(1))),
                });
            }
        }
        Ok(count == BUFFERS)
    }

    /// The first bytes of a buffer, which is free afterwards, or replaced.
    fn take_arrived(&mut self, index: usize, bytes: usize) -> BytesMut {
        let buffer = &mut self.buffers[index];
        if bytes < HANDED_OVER_BYTES {
            return BytesMut::from(&buffer[..bytes]);
        }
        let is_free = self.lent.front_mut().is_some_and(|lent| lent.try_reclaim(BUFFER_BYTES));
        let fresh = match self.lent.pop_front_if(|_| is_free) {
            Some(mut fresh) => {
                // SAFETY: it has this capacity, or it could not have been reclaimed, and all of it was
                // initialised when the buffer was made.
                unsafe { fresh.set_len(BUFFER_BYTES) };
                fresh
            }
            None => BytesMut::zeroed(BUFFER_BYTES),
        };
        let mut arrived = std::mem::replace(buffer, fresh);
        let mut end = arrived.split_off(bytes);
        end.clear();
        self.lent.truncate(LENT_BUFFERS - 1);
        self.lent.push_back(end);
        arrived
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

    /// False when the kernel takes nothing now. A datagram that cannot be sent at all counts as lost on its
    /// way: whoever sent it repeats it, or gives up in time.
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

//! Whether the host of a silent node answers. What QUIC hears comes from the process that moves bytes, so a
//! process that is stopped is as silent as a host that is lost. The host's system is asked instead: it
//! answers an attempt to connect over TCP, whoever listens there or nobody (RFC 9293, section 3.10.7), and
//! refuses a datagram that no process receives any more (RFC 1122, section 4.1.3.1).

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with, sockopt};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Questions in a row that a host has to leave without an answer before it is lost: one may be under way.
pub const UNANSWERED: u32 = 2;

/// What a process that is there does not answer: too short to be QUIC's.
const KNOCK: &[u8] = &[0];

/// What is asked about a node that is silent.
#[derive(Debug)]
pub struct Inquiry {
    /// Where the node receives datagrams.
    address: SocketAddr,
    /// Its datagrams are refused when nobody receives them there.
    knocks: UdpSocket,
    /// An attempt to connect that is under way.
    attempt: Option<OwnedFd>,
    /// When the host is asked next.
    ask_at: Instant,
    /// When the host has answered last, or the node itself was heard since then.
    heard_at: Instant,
    /// The host has, since the node was heard.
    is_answered: bool,
    unanswered: u32,
    is_refused: bool,
}

impl Inquiry {
    /// About a node that receives there, and was heard last at a time.
    ///
    /// # Errors
    /// There is no socket for it.
    pub fn new(address: SocketAddr, heard_at: Instant, now: Instant) -> io::Result<Self> {
        let knocks = match address {
            SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
            SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?,
        };
        knocks.set_nonblocking(true)?;
        knocks.connect(address)?;
        Ok(Self {
            address,
            knocks,
            attempt: None,
            ask_at: now,
            heard_at,
            is_answered: false,
            unanswered: 0,
            is_refused: false,
        })
    }

    /// Takes what has been answered, and asks again when it is time. The node itself was heard last at a
    /// time. True when it has asked.
    pub fn look(&mut self, heard_at: Instant, now: Instant, every: Duration) -> bool {
        if heard_at > self.heard_at {
            (self.heard_at, self.is_answered, self.unanswered) = (heard_at, false, 0);
            self.is_refused = false;
        }
        if let Some(attempt) = self.attempt.take() {
            match outcome(&attempt) {
                None if now < self.ask_at => self.attempt = Some(attempt),
                None => self.unanswered += 1,
                Some(outcome) => self.count(is_answer(outcome), now),
            }
        }
        // The answer to an earlier knock; or the system of this host has not let one out.
        self.is_refused |= is_refusal(&self.knocks.take_error());
        if now < self.ask_at {
            return false;
        }
        self.ask_at = now + every;
        self.is_refused |= is_refusal(&self.knocks.send(KNOCK).map(|_| None));
        match begin(self.address) {
            Ok(Begun::UnderWay(attempt)) => self.attempt = Some(attempt),
            Ok(Begun::Over(outcome)) => self.count(is_answer(outcome), now),
            // Who cannot ask has no answer.
            Err(_) => self.count(false, now),
        }
        true
    }

    fn count(&mut self, is_answer: bool, now: Instant) {
        match is_answer {
            true => (self.heard_at, self.is_answered, self.unanswered) = (now, true, 0),
            false => self.unanswered += 1,
        }
    }

    /// When it is to look at the latest.
    pub fn next_at(&self) -> Instant {
        self.ask_at
    }

    /// Whether the host has said nothing for so long, asked more than once.
    pub fn is_lost(&self, now: Instant, patience: Duration) -> bool {
        self.unanswered >= UNANSWERED && now >= self.heard_at + patience
    }

    /// Whether the host has answered while the node was silent.
    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// Whether the host has said that no process receives there.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }
}

fn is_refusal(result: &io::Result<Option<io::Error>>) -> bool {
    let (Ok(Some(error)) | Err(error)) = result else { return false };
    error.kind() == io::ErrorKind::ConnectionRefused
}

/// Whether it is the host that has said so, and no router on the way or the system here.
fn is_answer(outcome: Result<(), Errno>) -> bool {
    matches!(outcome, Ok(()) | Err(Errno::CONNREFUSED | Errno::CONNRESET))
}

enum Begun {
    UnderWay(OwnedFd),
    Over(Result<(), Errno>),
}

/// Begins to connect, without waiting.
fn begin(address: SocketAddr) -> Result<Begun, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    match connect(&socket, &address) {
        Err(Errno::INPROGRESS) => Ok(Begun::UnderWay(socket)),
        outcome => Ok(Begun::Over(outcome)),
    }
}

/// What an attempt to connect has come to; none while it is under way.
fn outcome(attempt: &OwnedFd) -> Option<Result<(), Errno>> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut [PollFd::new(attempt, PollFlags::OUT)], Some(&now)) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(sockopt::socket_error(attempt).unwrap_or_else(Err)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rustix::net::{bind, listen};
    use std::net::TcpStream;

    const EVERY: Duration = Duration::from_secs(1);
    const PATIENCE: Duration = Duration::from_secs(10);

    /// Asks for so many seconds: when the node counted as lost, and whether it was refused.
    fn ask(address: SocketAddr, seconds: u64) -> (Option<u64>, bool) {
        let begun = crate::driver::now();
        let mut inquiry = Inquiry::new(address, begun, begun + PATIENCE / 2).unwrap();
        for second in 5..seconds {
            let now = begun + Duration::from_secs(second);
            inquiry.look(begun, now, EVERY);
            // What the kernel says over loopback is there as soon as a call is over, or a moment later.
            std::thread::sleep(Duration::from_millis(2));
            if inquiry.is_lost(now, PATIENCE) {
                return (Some(second), inquiry.is_refused());
            }
        }
        (None, inquiry.is_refused())
    }

    #[test]
    fn a_host_answers_for_a_process_that_does_not_read() {
        let process = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(ask(process.local_addr().unwrap(), 60), (None, false));
        let process = UdpSocket::bind("[::1]:0");
        // There are machines without.
        if let Ok(process) = process {
            assert_eq!(ask(process.local_addr().unwrap(), 60), (None, false));
        }
    }

    #[test]
    fn a_host_says_that_a_process_is_gone() {
        let process = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = process.local_addr().unwrap();
        drop(process);
        assert_eq!(ask(address, 60), (None, true));
    }

    #[test]
    fn a_host_that_answers_nothing_is_lost_when_patience_is_over() {
        let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
        let (address, _deaf) = std::iter::repeat_with(bind)
            .find_map(|process| {
                let address = process.local_addr().unwrap();
                deafen(address).map(|deaf| (address, (process, deaf)))
            })
            .unwrap();
        assert_eq!(ask(address, 60), (Some(10), false));
    }

    /// What keeps a port deaf.
    pub(crate) type Deaf = (OwnedFd, Vec<TcpStream>);

    /// Has no attempt to connect to a port answered: a listener there has a full queue, so that the system
    /// drops what comes (listen(2)). None if somebody has the port already.
    pub(crate) fn deafen(address: SocketAddr) -> Option<Deaf> {
        let listener =
            socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        bind(&listener, &address).ok()?;
        listen(&listener, 0).unwrap();
        let wait = Duration::from_millis(100);
        let full = std::iter::from_fn(|| TcpStream::connect_timeout(&address, wait).ok()).collect();
        Some((listener, full))
    }
}

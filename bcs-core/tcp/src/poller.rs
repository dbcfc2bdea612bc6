//! Which sockets are ready: one epoll for the port to which nodes dial, for those that have not proved who
//! they are, and for the links.

use bcs_core::ids::NodeId;
use rustix::event::{Timespec, epoll};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Whose socket it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// The port to which others dial.
    Listener,
    /// A connection whose other end has not proved who it is, by its index.
    Guest(u32),
    /// The link to a node, or the dial for it.
    Link(NodeId),
}

impl Token {
    fn to_word(self) -> u64 {
        match self {
            Self::Listener => 0,
            Self::Guest(index) => 1 << 32 | u64::from(index),
            Self::Link(node) => 2 << 32 | u64::from(node.0),
        }
    }

    fn from_word(word: u64) -> Self {
        match word >> 32 {
            0 => Self::Listener,
            1 => Self::Guest(word as u32),
            _ => Self::Link(NodeId(word as u32)),
        }
    }
}

/// The epoll.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
}

/// How many sockets one call names at most; the others are named by the next.
const EVENTS: usize = 256;

impl Poller {
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    fn flags(writes: bool) -> epoll::EventFlags {
        if writes { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN }
    }

    /// Watches a socket until it is closed.
    pub fn add(&self, socket: impl AsFd, token: Token, writes: bool) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token.to_word());
        Ok(epoll::add(&self.epoll, socket, data, Self::flags(writes))?)
    }

    /// Watches a socket for somebody else, or for something else.
    pub fn modify(&self, socket: impl AsFd, token: Token, writes: bool) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token.to_word());
        Ok(epoll::modify(&self.epoll, socket, data, Self::flags(writes))?)
    }

    /// Watches a socket no more.
    pub fn remove(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// Waits until a socket is ready, at most so long, and names those that are.
    pub fn wait(&self, at_most: Option<Duration>, ready: &mut Vec<Token>) -> io::Result<()> {
        let timeout = at_most.map(|at_most| Timespec {
            tv_sec: at_most.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: at_most.subsec_nanos().into(),
        });
        let mut events = [const { MaybeUninit::uninit() }; EVENTS];
        match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            Ok((events, _)) => ready.extend(events.iter().map(|event| Token::from_word(event.data.u64()))),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

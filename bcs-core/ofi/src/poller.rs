//! What a driver sleeps on: one epoll for the links below and the provider's descriptor.

use rustix::event::{Timespec, epoll};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The epoll.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// Watches these.
    pub fn new<'a>(watched: impl IntoIterator<Item = BorrowedFd<'a>>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (descriptor, index) in watched.into_iter().zip(0..) {
            epoll::add(&epoll, descriptor, epoll::EventData::new_u64(index), epoll::EventFlags::IN)?;
        }
        Ok(Self { epoll })
    }

    /// Waits until one of them is readable, at most so long.
    pub fn wait(&self, at_most: Option<Duration>) -> io::Result<()> {
        let timeout = at_most.map(|at_most| Timespec {
            tv_sec: at_most.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: at_most.subsec_nanos().into(),
        });
        let mut events = [const { MaybeUninit::uninit() }; 4];
        match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

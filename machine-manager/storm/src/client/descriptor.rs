//! Waiting for descriptors that we did not open: the standard input and outputs.
//!
//! They belong to others too, so they are not made non-blocking. The kernel says when there is something to
//! read or room to write, and it is asked again before each read and write, so that none of them blocks.

use program_launcher::output::{is_ready, standard};
use rustix::event::PollFlags;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A standard descriptor that can be waited for.
pub(super) struct Descriptor {
    fd: BorrowedFd<'static>,
    /// None for what is always ready, which the kernel does not watch (a regular file, `/dev/null`).
    watched: Option<AsyncFd<BorrowedFd<'static>>>,
    interest: Interest,
}

/// Watches a descriptor of our own for something to read.
pub(super) fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned descriptor is open while its owner lives, which is what is registered, and `as_raw_fd`
    // always gives its number.
    unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.map_err(io::Error::from)
}

impl Descriptor {
    pub(super) fn new(number: i32, interest: Interest) -> io::Result<Self> {
        let fd = standard(number);
        // SAFETY: the descriptor is open for as long as the process lives, and of this value it is the only
        // number that `as_raw_fd` gives; one that is replaced (the standard input) is given up first.
        let watched = match unsafe { AsyncFd::register_with_interest(fd, interest) } {
            Ok(watched) => Some(watched),
            Err(error) => match io::Error::from(error) {
                error if error.kind() == io::ErrorKind::PermissionDenied => None,
                error => return Err(error),
            },
        };
        Ok(Self { fd, watched, interest })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'static> {
        self.fd
    }

    /// Whether more than a page can be written at once without blocking.
    pub(super) fn is_always_ready(&self) -> bool {
        self.watched.is_none()
    }

    /// Whether it is ready now.
    pub(super) fn is_ready(&self) -> bool {
        let flags = if self.interest.is_readable() { PollFlags::IN } else { PollFlags::OUT };
        self.watched.is_none() || is_ready(self.fd, flags)
    }

    /// Waits until it is ready. Cancel safe.
    pub(super) async fn ready(&self) {
        let Some(watched) = &self.watched else { return };
        while let Ok(mut guard) = watched.ready(self.interest).await {
            if self.is_ready() {
                return;
            }
            guard.clear_ready();
        }
    }

    /// Forgets that it was ready: the next wait is for something new.
    pub(super) fn forget(&self) {
        if let Some(watched) = &self.watched {
            let _ = watched.try_io(self.interest, |_| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
        }
    }
}

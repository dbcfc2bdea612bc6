//! Descriptors that the runtime waits for.

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Watches a descriptor, which becomes readable.
///
/// # Errors
/// The kernel does not watch it.
pub fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned by the `AsyncFd`, so it stays open and the same as long as that lives;
    // nothing here takes it out.
    let watched = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
    watched.map_err(|error| error.into_parts().1)
}

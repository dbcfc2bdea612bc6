//! What a loop of a daemon waits for beside other things.

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// What comes of something, if it is under way; else nothing ever does.
pub async fn or_never<F: Future>(something: Option<F>) -> F::Output {
    match something {
        Some(something) => something.await,
        None => std::future::pending().await,
    }
}

/// Watches a descriptor, which becomes readable.
///
/// # Errors
/// The kernel does not watch it.
pub fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned by the `AsyncFd`, so it stays open and the same as long as that lives;
    // nothing here takes it out.
    let watched = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
    watched.map_err(io::Error::from)
}

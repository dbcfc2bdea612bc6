//! What fork(2) must not hand on: descriptors of its parent's memory.
//!
//! A child's memory is not watched, but its copy of a userfaultfd is still that of its parent's memory: by it
//! the child would take its parent's events. The copy would also keep the parent's watch in being when the
//! parent has closed its own. So the child closes it, in a handler of pthread_atfork(3), and a cache asks
//! whether it is in a child by the number of forks. It also closes what tells its parent's mappings.

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// The most descriptors of a process: a cache that keeps registrations has two. One cache is enough, but for
/// tests.
const MOST: usize = 128;

const NONE: RawFd = -1;

static DESCRIPTORS: [AtomicI32; MOST] = [const { AtomicI32::new(NONE) }; MOST];

/// How many forks are between this process and the one that has set up the handler.
static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    for descriptor in &DESCRIPTORS {
        let descriptor = descriptor.swap(NONE, Ordering::Relaxed);
        if descriptor != NONE {
            // SAFETY: who has put it there withdraws it before closing it, and does not run in a child.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// Differs from what it was before a fork.
#[inline]
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// A descriptor that children close, until this value is dropped.
#[derive(Debug)]
pub(crate) struct ClosedInChildren(&'static AtomicI32);

/// Has children close a descriptor. None when there are too many, or no memory for the handler.
pub(crate) fn close_in_children(descriptor: BorrowedFd<'_>) -> Option<ClosedInChildren> {
    static HANDLER: OnceLock<bool> = OnceLock::new();
    // SAFETY: the handler calls what a child may call.
    let has_handler =
        HANDLER.get_or_init(|| unsafe { libc::pthread_atfork(None, None, Some(in_child)) } == 0);
    let put = |place: &&AtomicI32| {
        let descriptor = descriptor.as_raw_fd();
        place.compare_exchange(NONE, descriptor, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    has_handler.then(|| DESCRIPTORS.iter().find(put).map(ClosedInChildren)).flatten()
}

impl Drop for ClosedInChildren {
    fn drop(&mut self) {
        self.0.store(NONE, Ordering::Relaxed);
    }
}

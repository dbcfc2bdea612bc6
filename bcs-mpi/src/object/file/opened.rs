//! A file as the system has it.

use super::name::FileName;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::ops::Range;
use std::sync::{Condvar, Mutex};

/// The descriptor of a file, which the program may have closed: one that closes all descriptors that it does
/// not know does so. Then every access fails, and closing it does nothing.
#[derive(Debug)]
pub struct Descriptor(RawFd);

impl From<OwnedFd> for Descriptor {
    fn from(fd: OwnedFd) -> Self {
        Self(fd.into_raw_fd())
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: it is open for as long as this is there, unless the program does what it must not: then the
        // system refuses, or the program has given the number to another file.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more. That it was closed by the program MPI_File_close has told.
        unsafe { libc::close(self.0) };
    }
}

/// A file that this process has opened.
#[derive(Debug)]
pub struct Opened {
    /// Its descriptor.
    pub fd: Descriptor,
    /// The name that the program has given.
    pub name: FileName,
    /// The system lets this process read it, whatever the access mode says.
    pub may_read: bool,
    /// Bytes of a block of its file system.
    pub block_bytes: u64,
    /// Ranges of bytes that threads of this process have locked.
    pub held: Mutex<Vec<Range<u64>>>,
    /// One of them was given back.
    pub given_back: Condvar,
}

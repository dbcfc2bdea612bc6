//! A file as the system has it.

use rustix::fd::OwnedFd;
use std::ops::Range;
use std::sync::{Condvar, Mutex};

/// A file that this process has opened.
#[derive(Debug)]
pub struct Opened {
    /// Its descriptor.
    pub fd: OwnedFd,
    /// The name that the program has given.
    pub name: Box<str>,
    /// The system lets this process read it, whatever the access mode says.
    pub may_read: bool,
    /// Bytes of a block of its file system.
    pub block_bytes: u64,
    /// Ranges of bytes that threads of this process have locked.
    pub held: Mutex<Vec<Range<u64>>>,
    /// One of them was given back.
    pub given_back: Condvar,
}

//! The process of another rank of the node, and bytes of its memory that are read or written.

use bcs_core::Rank;
use std::fmt;

/// The process of another rank of the node, whose memory is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its rank in the job.
    pub rank: Rank,
    /// Its number.
    pub pid: u32,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} (process {})", self.rank, self.pid)
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the other process into this one.
    Read,
    /// From this process into the other one.
    Write,
}

impl fmt::Display for Direction {
    /// What is done to the other process's memory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Read => "read",
            Direction::Write => "write",
        })
    }
}

/// Bytes that are to go between this process and another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which way.
    pub direction: Direction,
    /// The other process.
    pub peer: Peer,
    /// Where in this process.
    pub here: u64,
    /// Where in the other one.
    pub there: u64,
    /// How many.
    pub bytes: u64,
}

impl fmt::Display for Access {
    /// "read 8 bytes at 0x1000 of rank 1 (process 7)"
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { direction, peer, there, bytes, .. } = self;
        write!(f, "{direction} {bytes} bytes at {there:#x} of {peer}")
    }
}

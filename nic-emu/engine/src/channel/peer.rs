//! The process of another rank of the node.

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

//! The process of a rank.

use bcs_core::Rank;
use rustix::process::Pid;
use std::os::fd::OwnedFd;

/// A rank that was started.
pub(super) struct RankProcess {
    pub rank: Rank,
    pub pid: Pid,
    pub pidfd: OwnedFd,
    pub is_live: bool,
}

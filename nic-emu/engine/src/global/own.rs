//! What a rank that drives the links knows of its own buffers, and NIC memory only says.

use crate::channel::{Buffer, ProcessMemory};
use crate::memory::{LocalRank, RequestId};

/// The rank that waits: what it knows itself.
pub struct Own<'a> {
    /// Which rank of its node it is.
    pub rank: LocalRank,
    /// The memory of the node's processes.
    pub processes: &'a dyn ProcessMemory,
    /// The buffer of a send of its own, which is there as the other node has been told.
    pub sent_from: &'a dyn Fn(RequestId, Buffer) -> Option<Buffer>,
    /// The buffer of a receive of its own, which is there as NIC memory says.
    pub received_in: &'a dyn Fn(RequestId, Buffer) -> Option<Buffer>,
    /// Whether it stays in its call until this request of its own is complete.
    pub stays_for: &'a dyn Fn(RequestId) -> bool,
}

//! A transfer under way, as the rank at one of its ends knows it.

use crate::channel::Mine;
use crate::memory::numbers::RequestId;

/// A transfer that this rank is an end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnTransfer {
    pub(super) transfer: u32,
    pub(super) request: RequestId,
    pub(super) mine: Mine,
    pub(super) asked: u64,
}

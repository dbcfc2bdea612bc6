//! A receive that is under way out of slabs.

use crate::memory::numbers::RequestId;

/// A receive whose bytes are being copied out of slabs that its sender still fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draining {
    pub(super) request: RequestId,
    pub(super) copied: u64,
}

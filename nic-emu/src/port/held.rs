//! A receive that its rank holds.

use crate::matching::Envelope;
use crate::memory::descriptor::Check;
use crate::memory::numbers::RequestId;
use bcs_core::LocalRank;

/// A receive that its rank has begun, and not posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) request: RequestId,
    /// The source.
    pub(super) sender: LocalRank,
    pub(super) envelope: Envelope,
    /// What its message has to say alike.
    pub(super) check: Check,
}

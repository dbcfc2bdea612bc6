//! The pace of a rank's lane.

/// How fast this rank fills its lane: where cores are far from each other, slowly, as the lines have to come
/// from the readers' caches.
#[derive(Clone, Copy, Debug)]
pub(super) struct LanePace {
    /// Nanoseconds a KB, of the fastest chunk since the last look.
    pub(super) best: u64,
    pub(super) slow: bool,
    /// Collectives since a lane was last tried.
    pub(super) untried: u32,
}

impl Default for LanePace {
    fn default() -> Self {
        Self { best: u64::MAX, slow: false, untried: 0 }
    }
}

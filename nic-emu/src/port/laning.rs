//! Large contributions, through this rank's lane and those of others ([`crate::lane`]).

use super::{Port, PortError};
use crate::channel::copy_in;
use crate::lane::{LaneKey, LaneReader};
use crate::policy;

/// Bytes of a chunk from which on filling it says how fast the lane is.
const PACED_BYTES: usize = 4 << 10;

/// How fast this rank fills its lane: where cores are far from each other, slowly, as the lines have to come from the readers' caches.
#[derive(Clone, Copy, Debug)]
pub(super) struct LanePace {
    /// Nanoseconds a KB, of the fastest chunk since the last look.
    best: u64,
    slow: bool,
    /// Collectives since a lane was last tried.
    untried: u32,
}

impl Default for LanePace {
    fn default() -> Self {
        Self { best: u64::MAX, slow: false, untried: 0 }
    }
}

impl Port {
    /// Whether this rank would rather have large contributions read by cross-memory attach than through lanes. Asked once a collective.
    pub fn prefers_attach(&mut self) -> bool {
        if self.memory.header().cross_memory.get() == 0 {
            return false;
        }
        let pace = &mut self.lane_pace;
        let best = std::mem::replace(&mut pace.best, u64::MAX);
        if best != u64::MAX {
            pace.slow = best > policy::SLOW_LANE_NS_A_KB;
            pace.untried = 0;
        }
        pace.untried += 1;
        pace.slow && !pace.untried.is_multiple_of(policy::LANE_TRIAL_COLLECTIVES)
    }

    /// Whether ranks of this node share cores: then chunks are long, as each may cost a context switch.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.waiting.polls == 0
    }

    /// Where another rank's lane is read next.
    #[inline]
    pub fn lane_reader(&self, local_index: u32) -> LaneReader {
        self.lane_readers.get(local_index as usize).copied().unwrap_or_default()
    }

    /// Notes where it is read next, when a collective is over.
    #[inline]
    pub fn note_lane_reader(&mut self, local_index: u32, reader: LaneReader) {
        if let Some(noted) = self.lane_readers.get_mut(local_index as usize) {
            *noted = reader;
        }
    }

    /// Whether the lane has room for a chunk.
    pub fn lane_has_room(&mut self, bytes: usize) -> Result<bool, PortError> {
        Ok(self.lane.room(&self.memory, self.local_index, bytes)?.is_some())
    }

    /// Puts a chunk of `bytes` bytes, of which those in `skip` matter to nobody, in the lane, for so many readers. False when there is no
    /// room now.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes.
    pub unsafe fn lay(
        &mut self,
        key: (LaneKey, u64),
        data: *const u8,
        bytes: usize,
        skip: std::ops::Range<usize>,
        readers: u32,
    ) -> Result<bool, PortError> {
        let Some(to) = self.lane.room(&self.memory, self.local_index, bytes)? else { return Ok(false) };
        let started = if bytes >= PACED_BYTES { (self.clock)() } else { 0 };
        let (first, last) = (skip.start.min(bytes), skip.end.min(bytes).max(skip.start.min(bytes)));
        // SAFETY: the caller's promise; the lane has room for `bytes`, of which both parts are.
        unsafe {
            copy_in(data, to.as_ptr(), first);
            copy_in(data.wrapping_add(last), to.as_ptr().add(last), bytes - last);
        }
        if bytes >= PACED_BYTES && first == last {
            let pace = (self.clock)().saturating_sub(started) * 1024 / bytes as u64;
            self.lane_pace.best = self.lane_pace.best.min(pace);
        }
        self.lane.publish(&self.memory, self.local_index, key, bytes, readers)?;
        Ok(true)
    }
}

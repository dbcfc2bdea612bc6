//! When slices run, and how much one schedules.

use crate::memory::NicMemory;

/// Ranks whose doorbells a slice answers at most; the rest are first in the next.
pub const RANKS_A_SLICE: usize = 256;

/// Bytes that an elastic slice grants a transfer at once: large enough that scheduling costs nothing
/// beside moving (80 µs and more of copying for 0.2 µs of scheduling), small enough that a grant is a
/// known amount of work.
const ELASTIC_GRANT_BYTES: u64 = 4 << 20;

/// Bytes a node moves in a nanosecond, for the budget of a fixed slice: 8 GB/s.
const BYTES_A_NANOSECOND: u64 = 8;

/// Elastic or fixed slices: the `bcs_core::SliceLength` of the job, as its NICs have it. All that differs
/// between the two is asked here, by name.
///
/// | question | elastic | fixed (paper, §3) |
/// |---|---|---|
/// | [`Self::starts_on_work`] | a slice starts when somebody finds work | on the beat |
/// | [`Self::runs_idle_slices`] | a slice that did nothing is none | it counts |
/// | [`Self::holds_completions`] | ranks resume at once | at the start of the next slice |
/// | [`Self::has_budget`] | as many bytes move as can | as many as the slice's budget |
/// | [`Self::buffers_more_than_a_slab`] | up to 64 KB of a message wait in slabs | one slab |
/// | [`Self::allows_edges`] | neighbours give each other bytes beside the slices | all goes by the beat |
/// | [`Self::lets_ranks_claim`] | a rank that waits may take its message out of the sender's ring | a slice takes it |
/// | [`Self::strobes_all`] | between nodes collectives are strobed | messages, too |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pacing {
    /// 0 for elastic slices.
    period_ns: u64,
}

impl Pacing {
    /// Of the job of this memory.
    #[inline(always)]
    pub fn of(memory: &NicMemory) -> Self {
        Self { period_ns: memory.header().slice_period_ns.get() }
    }

    /// The length of a fixed slice in nanoseconds; 0 for elastic slices.
    #[inline(always)]
    pub const fn period_ns(self) -> u64 {
        self.period_ns
    }

    /// Whether a slice starts as soon as there is work: whoever has posted or finds something posted runs
    /// it. Else slices start on the beat, and a NIC with nothing to do rests.
    #[inline(always)]
    pub const fn starts_on_work(self) -> bool {
        self.period_ns == 0
    }

    /// Whether slices are numbered, counted and recorded also when they did nothing, so that their number
    /// is no sign of progress.
    #[inline(always)]
    pub const fn runs_idle_slices(self) -> bool {
        !self.starts_on_work()
    }

    /// Whether a completion is visible at the start of the next slice, and not at once (§3.1, step 5).
    #[inline(always)]
    pub const fn holds_completions(self) -> bool {
        !self.starts_on_work()
    }

    /// Whether the bytes of a slice are counted. Then every slice grants each transfer some; else whoever
    /// has moved what was granted asks for more.
    #[inline(always)]
    pub const fn has_budget(self) -> bool {
        !self.starts_on_work()
    }

    /// Whether a message of more than a slab may be buffered: what goes through slabs counts in no budget.
    #[inline(always)]
    pub const fn buffers_more_than_a_slab(self) -> bool {
        !self.has_budget()
    }

    /// Whether neighbours in a topology may give each other bytes along edges, which no slice schedules.
    #[inline(always)]
    pub const fn allows_edges(self) -> bool {
        self.starts_on_work()
    }

    /// Whether a rank that waits may take a message out of its sender's ring itself, which the next slice
    /// takes note of.
    #[inline(always)]
    pub const fn lets_ranks_claim(self) -> bool {
        self.starts_on_work()
    }

    /// Whether all between nodes has its microphase of a global slice, and is done in no other. Else
    /// messages concern their two nodes alone, and go at once.
    #[inline(always)]
    pub const fn strobes_all(self) -> bool {
        !self.starts_on_work()
    }

    /// Bytes that all transfers of a node together are granted in one slice.
    #[inline]
    pub fn budget_bytes(self) -> u64 {
        match self.has_budget() {
            true => self.period_ns.saturating_mul(BYTES_A_NANOSECOND).max(64 << 10),
            false => u64::MAX,
        }
    }

    /// Bytes that one transfer is granted ahead of what has been moved.
    #[inline]
    pub fn grant_bytes(self) -> u64 {
        self.budget_bytes().min(ELASTIC_GRANT_BYTES)
    }

    /// The number of the beat that it is, with fixed slices. The clock is not read with elastic ones.
    #[inline]
    pub fn beat(self, now_ns: impl FnOnce() -> u64) -> Option<u64> {
        (!self.starts_on_work()).then(|| now_ns() / self.period_ns)
    }

    /// When a beat is.
    #[inline]
    pub const fn beat_ns(self, beat: u64) -> u64 {
        beat * self.period_ns
    }
}

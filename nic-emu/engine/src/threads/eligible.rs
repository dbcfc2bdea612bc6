//! What a slice may schedule: the descriptors that were posted before it began (paper, §4.2: what is posted
//! later waits for the next slice).

use crate::memory::doorbell::{Heads, RingKind};
use crate::memory::ring::Cell;
use crate::memory::{Corrupt, LocalRank, RankBlock, checked};
use crate::policy::RANKS_A_SLICE;
use smallvec::SmallVec;

/// One rank's eligible descriptors: those between `taken` and `heads`.
#[derive(Clone, Copy, Debug)]
pub struct Eligible {
    /// The rank.
    pub local_rank: LocalRank,
    /// What was taken before this slice, and has been in it so far.
    pub taken: Heads,
    /// What was posted before this slice.
    pub heads: Heads,
}

impl Eligible {
    /// How many entries of a ring are eligible.
    #[inline]
    pub fn count(&self, kind: RingKind) -> u32 {
        self.heads.ahead_of(self.taken, kind)
    }

    /// The eligible entries of one of the rank's rings. More than a ring has cells is corruption.
    #[inline]
    pub fn cells<'m>(
        &self,
        block: &'m RankBlock,
        kind: RingKind,
    ) -> Result<impl DoubleEndedIterator<Item = &'m Cell> + use<'m>, Corrupt> {
        let (ring, count, first) = (block.ring(kind), self.count(kind), self.taken.get(kind));
        checked("entries of a ring", count, ring.capacity() as usize + 1)?;
        Ok((0..count).map(move |i| ring.cell(first.wrapping_add(i))))
    }
}

/// What a slice has to schedule: the ranks that posted before it began, `RANKS_A_SLICE` at most.
pub type Exchange = SmallVec<[Eligible; RANKS_A_SLICE]>;

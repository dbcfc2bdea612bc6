//! What the NIC threads of a node hand on to each other within a slice. What has to outlast the slice is in
//! NIC memory.

use crate::memory::NicMemory;
use crate::policy::Pacing;
use crate::threads::collective_at_once::AtOnce;
use crate::threads::completer::Completer;
use crate::threads::eligible::Exchange;
use smallvec::SmallVec;

/// Collectives in which somebody arrives that one slice acts on; arrivals at more wait in their rings.
pub(crate) const COLLECTIVES_A_SLICE: usize = 64;

/// What a slice did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceCounts {
    /// Point-to-point descriptors taken.
    pub descriptors: u64,
    /// Point-to-point operations scheduled.
    pub matched: u64,
    /// Collective descriptors taken.
    pub collective_descriptors: u64,
    /// Collectives at which somebody arrived.
    pub collectives: u64,
}

/// The work of one slice.
pub(crate) struct SliceWork<'m> {
    /// The node's NIC memory.
    pub memory: &'m NicMemory,
    /// How slices are paced.
    pub pacing: Pacing,
    /// From BS to BR: what is eligible.
    pub exchange: Exchange,
    /// From BR to DH: bytes that may still be granted in this slice.
    pub budget_bytes: u64,
    /// From BR to CH and RH: collectives whose members have all come with this slice.
    pub at_once: AtOnce,
    /// From BR to CH and RH: the other instances at which somebody has arrived.
    pub arrivals: SmallVec<[u32; COLLECTIVES_A_SLICE]>,
    /// Publishes completions, for all of them.
    pub completer: Completer<'m>,
    /// What has been done so far.
    pub counts: SliceCounts,
}

impl<'m> SliceWork<'m> {
    /// That of a slice which begins.
    #[inline]
    pub fn new(memory: &'m NicMemory) -> Self {
        let pacing = Pacing::of(memory);
        Self {
            memory,
            pacing,
            exchange: Exchange::new(),
            budget_bytes: pacing.budget_bytes(),
            at_once: AtOnce::default(),
            arrivals: SmallVec::new(),
            completer: Completer::new(memory, pacing),
            counts: SliceCounts::default(),
        }
    }

    /// True when CH and RH have nothing to do.
    #[inline]
    pub fn has_no_collectives(&self) -> bool {
        self.arrivals.is_empty() && self.at_once.is_empty()
    }
}

//! SR, the Strobe Receiver (paper, §4.1, §4.2): on every microstrobe it wakes the NIC threads that the
//! microphase calls for.

use crate::memory::{Corrupt, NicMemory};
use crate::threads::microphase::Microphase;
use crate::threads::slice_work::SliceWork;

/// The Strobe Receiver, for one slice.
pub(crate) struct StrobeReceiver<'m> {
    /// What the threads hand on to each other.
    pub work: SliceWork<'m>,
}

impl<'m> StrobeReceiver<'m> {
    /// A Strobe Receiver at the start of a slice. The caller holds the run token.
    #[inline]
    pub fn new(memory: &'m NicMemory) -> Self {
        Self { work: SliceWork::new(memory) }
    }

    /// A microstrobe: runs this node's threads of the microphase.
    #[inline]
    pub fn handle_microstrobe(&mut self, microphase: Microphase) -> Result<(), Corrupt> {
        microphase.run(&mut self.work)
    }

    /// True when this node has nothing to do in this microphase: when all nodes agree, it is skipped.
    #[inline]
    pub fn is_idle_in(&self, microphase: Microphase) -> bool {
        microphase.is_idle(&self.work)
    }
}

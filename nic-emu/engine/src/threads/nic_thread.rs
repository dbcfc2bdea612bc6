//! What a NIC thread is (paper, §4.1): code that the Strobe Receiver runs in a microphase.

use crate::memory::Corrupt;
use crate::threads::slice_work::SliceWork;

/// A NIC thread of a node. The table in [`crate::threads::microphase`] says in which microphase it runs.
pub(crate) trait NicThread {
    /// True when it has nothing to do in this slice. A microphase whose threads all have nothing to do is
    /// skipped.
    fn is_idle(work: &SliceWork<'_>) -> bool;

    /// What it does in its microphase. The caller holds the run token.
    ///
    /// # Errors
    /// NIC memory is corrupt: the job is over.
    fn run(work: &mut SliceWork<'_>) -> Result<(), Corrupt>;
}

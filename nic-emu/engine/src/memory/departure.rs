//! Departures: how what a collective held comes back once all have read what they need (paper, §4.4).
//!
//! The last member to depart gives the slabs of all contributions back to their owners itself, as the reader
//! of a message does, and puts the instance on the stack of departed ones, from which whoever holds the run
//! token frees it before it looks for room. So neither a rank that waits for a slab nor a descriptor that
//! waits for an instance depends on a slice that nobody has a reason to run.
//!
//! Invariant: of an instance with readers exactly one departure is the last; of one without, the processor
//! hands it back.

use crate::memory::instance::Instance;
use crate::memory::slab::SLAB_BYTES;
use crate::memory::sync::Ordering;
use crate::memory::{Corrupt, NicMemory, SlabId};

/// One of the readers of an instance departs. True when it was the last: then slabs and instance are to be
/// handed back.
#[inline]
pub(crate) fn is_last(instance: &Instance) -> bool {
    // Before the count: after it the instance may be another collective's.
    let readers = instance.readers.get();
    instance.departed.fetch_add(1, Ordering::AcqRel).wrapping_add(1) == readers
}

/// A member has read what it needs, and reads no more.
///
/// # Errors
/// [`Corrupt`] when the instance names members that cannot be.
#[inline]
pub fn depart(memory: &NicMemory, index: u32) -> Result<(), Corrupt> {
    let instance = memory.instance(index)?;
    if !is_last(instance) {
        return Ok(());
    }
    give_back_slabs(memory, index, instance)?;
    let first = &memory.header().pools.departed_instances;
    let mut next = first.load(Ordering::Relaxed);
    loop {
        instance.next_stacked.store(next, Ordering::Relaxed);
        match first.compare_exchange(next, index + 1, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return Ok(()),
            Err(now) => next = now,
        }
    }
}

/// Gives the slabs of all contributions back to their owners. Once an instance.
///
/// # Errors
/// As [`depart`].
pub(crate) fn give_back_slabs(memory: &NicMemory, index: u32, instance: &Instance) -> Result<(), Corrupt> {
    for member in memory.members(index)?.iter().take(instance.expected.get() as usize) {
        if member.arrived.get() != 0 && member.place.get() == 1 {
            let owner = memory.rank(member.local_rank.get())?;
            owner.returned.give_back(SlabId(member.payload[0].get() as u32), SLAB_BYTES as u64);
        }
    }
    Ok(())
}

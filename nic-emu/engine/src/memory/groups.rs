//! Groups: on which nodes a communicator has members.
//!
//! Whoever makes a communicator that spans nodes registers its members before its first collective; every
//! member on a node writes the same words. Groups that live at the same time have different rows
//! ([`crate::memory::contexts`]); a row is cleared when the members have left, unless the next group has it
//! already.

use crate::memory::sync::Ordering;
use crate::memory::{Context, Corrupt, NicMemory, checked};
use bcs_core::{NodeSet, Rank};

/// Says that a communicator's collectives have this context, and who its members are, as ranks of the job.
/// Nothing on one node.
///
/// # Errors
/// A member is no rank of the job.
pub fn register(
    memory: &NicMemory,
    context: Context,
    members: impl IntoIterator<Item = Rank>,
) -> Result<(), Corrupt> {
    let words = memory.group(context);
    let Some((key, bits)) = words.split_first() else { return Ok(()) };
    let mut nodes = vec![0u64; bits.len()];
    for rank in members {
        let node = checked("node of a rank", memory.place(rank)?.0, bits.len() * 64)?;
        nodes[node / 64] |= 1 << (node % 64);
    }
    for (bit, word) in bits.iter().zip(nodes) {
        bit.store(word, Ordering::Relaxed);
    }
    key.store(context.0 as u64 + 1, Ordering::Release);
    Ok(())
}

/// Takes back what was said of a communicator whose members have left.
pub fn forget(memory: &NicMemory, context: Context) {
    if let Some(key) = memory.group(context).first() {
        // Who has the row next may have written it: then it stays.
        let _ = key.compare_exchange(context.0 as u64 + 1, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// The nodes of a registered communicator.
pub fn nodes(memory: &NicMemory, context: Context) -> Option<NodeSet> {
    let (key, bits) = memory.group(context).split_first()?;
    if key.load(Ordering::Acquire) != context.0 as u64 + 1 {
        return None;
    }
    let words: Vec<u64> = bits.iter().map(|bit| bit.load(Ordering::Relaxed)).collect();
    NodeSet::from_words(0, &words).filter(|nodes| !nodes.is_empty())
}

//! Messages of this node's ranks, as records and descriptors name them.

use super::rank_memory;
use super::record::{HEADER_BYTES, PAYLOAD_LIMIT};
use crate::memory::descriptor::Payload;
use crate::memory::slab::RUN_BYTES;
use crate::memory::{Corrupt, LocalRank, NicMemory, Rank, SlabId, within};

/// Bytes that are granted to come in to a node, and that go out of it, in a slice at most; what is on its way
/// to a node is never more than twice as much.
pub const BUDGET_BYTES: u64 = 1 << 20;

/// Bytes of a payload that fits in a record of this length.
pub fn payload_bytes(record_bytes: u64) -> u64 {
    (record_bytes - HEADER_BYTES as u64).min(PAYLOAD_LIMIT)
}

/// Appends bytes of a message in a rank's slabs, which are the NIC's until they are given back.
pub(super) fn append_slab(
    memory: &NicMemory,
    index: LocalRank,
    slab: SlabId,
    offset: u64,
    bytes: u64,
    to: &mut Vec<u8>,
) -> Result<(), Corrupt> {
    within("end of a message in slabs", offset, bytes, RUN_BYTES as u64)?;
    let from = memory.run(index, slab, offset + bytes)?;
    // SAFETY: the range lies in the slabs, checked.
    unsafe { rank_memory::append_copy(from.as_ptr().add(offset as usize), bytes as usize, to) };
    Ok(())
}

/// Where a payload is: slab plus one or 0, and its address in the sender's memory.
pub(super) fn place(payload: Payload) -> (u64, u64) {
    match payload {
        Payload::Inline(_) | Payload::Pooled(_) => (0, 0),
        Payload::Slab(slab) => (slab.0 as u64 + 1, 0),
        Payload::Memory(address) => (0, address),
    }
}

/// Which rank of this node a rank of the job is.
///
/// # Errors
/// It is of another node.
pub(super) fn local(memory: &NicMemory, rank: Rank) -> Result<LocalRank, Corrupt> {
    memory.local_rank(rank)?.ok_or(Corrupt { what: "rank of this node", value: rank.0.into(), limit: 0 })
}

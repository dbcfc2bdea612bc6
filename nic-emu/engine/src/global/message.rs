//! Messages of this node's ranks, as records and descriptors name them.

use super::rank_memory;
use super::record::{HEADER_BYTES, PAYLOAD_LIMIT};
use crate::memory::descriptor::Payload;
use crate::memory::slab::RUN_BYTES;
use crate::memory::{Corrupt, LocalRank, NicMemory, Rank, SlabId, within};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Bytes that are granted to come in to a node, and that go out of it, in a slice at most; what is on its way
/// to a node is never more than twice as much.
pub const BUDGET_BYTES: u64 = 1 << 20;

/// Bytes of a payload that fits in a record of this length.
pub fn payload_bytes(record_bytes: u64) -> u64 {
    (record_bytes - HEADER_BYTES as u64).min(PAYLOAD_LIMIT)
}

/// Bytes of a message: in a rank's slabs, which are the NIC's until they are given back, or in a buffer of
/// the program that is the NIC's as long as the send is. No reference to them is made, as others may write
/// them at the same time, if they are mad.
#[derive(Clone, Copy, Debug)]
pub struct RawBytes<'m> {
    from: NonNull<u8>,
    bytes: usize,
    _memory: PhantomData<&'m NicMemory>,
}

impl<'m> RawBytes<'m> {
    /// No bytes.
    pub const NONE: Self = Self { from: NonNull::dangling(), bytes: 0, _memory: PhantomData };

    /// So many bytes of a message from an offset on, which lies in the slabs of a rank from this one on.
    ///
    /// # Errors
    /// There are no such slabs.
    pub(super) fn of(
        memory: &'m NicMemory,
        index: LocalRank,
        slab: SlabId,
        offset: u64,
        bytes: u64,
    ) -> Result<Self, Corrupt> {
        within("end of a message in slabs", offset, bytes, RUN_BYTES as u64)?;
        let run = memory.run(index, slab, offset + bytes)?;
        // SAFETY: the range lies in the slabs, checked.
        let from = unsafe { run.add(offset as usize) };
        Ok(Self { from, bytes: bytes as usize, _memory: PhantomData })
    }

    /// So many bytes from here on.
    ///
    /// # Safety
    /// They can be read for as long as they are used.
    pub(super) unsafe fn at(from: NonNull<u8>, bytes: usize) -> Self {
        Self { from, bytes, _memory: PhantomData }
    }

    /// Those of a buffer of this process, which nobody changes meanwhile.
    pub fn of_slice(bytes: &'m [u8]) -> Self {
        Self { from: NonNull::from_ref(bytes).cast(), bytes: bytes.len(), _memory: PhantomData }
    }

    /// Where they are: [`Self::len`] bytes can be read there.
    pub fn as_ptr(&self) -> *const u8 {
        self.from.as_ptr()
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Appends them.
    pub fn append_to(&self, to: &mut Vec<u8>) {
        // SAFETY: the range lies in the slabs, checked, or was borrowed.
        unsafe { rank_memory::append_copy(self.as_ptr(), self.bytes, to) };
    }
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

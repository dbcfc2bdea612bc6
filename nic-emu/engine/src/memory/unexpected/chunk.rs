//! A chunk of a pool, as the processor knows it: which of its units are free, and its list.

use super::blocks::{Bitmap, WORDS};
use crate::memory::sync::AtomicU64;
use crate::memory::{Word, Word64};

/// What the processor knows of a chunk.
#[repr(C, align(64))]
pub struct PoolChunk {
    pub(super) free: [Word64; WORDS],
    pub(super) links: AtomicU64,
    /// The order of its largest free block, plus one; 0 when it has none.
    pub(super) room: Word,
    _pad: [u32; 13],
}

const _: () = assert!(size_of::<PoolChunk>() == 192);

impl PoolChunk {
    /// Its free units.
    pub(super) fn bitmap(&self) -> Bitmap {
        std::array::from_fn(|i| self.free[i].get())
    }
}

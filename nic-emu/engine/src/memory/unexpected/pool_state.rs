//! What NIC memory holds of the pools: a state for each rank, and the news of room.

use super::blocks::ORDERS;
use crate::memory::sync::{AtomicU32, AtomicU64, Ordering};
use crate::memory::{Word, Word64};

/// Bytes of the pool of a receiving rank, unless the job says otherwise.
pub const DEFAULT_LIMIT_BYTES: u64 = 1 << 30;

/// Bytes of a rank's pool at most, whatever the job says.
pub(crate) const MOST_LIMIT_BYTES: u64 = 1 << 38;

/// What a rank's block says of its pool.
#[repr(C, align(64))]
pub struct PoolState {
    /// The blocks that were given back, the latest first, as the words of blocks; 0 when there are none. The
    /// rank pushes.
    pub(super) returned: AtomicU64,
    /// For whom there was no room since a block was given back, as a word of [`super::ForWhom`]; 0 for
    /// nobody.
    pub(super) wanted: AtomicU32,
    _pad0: u32,
    _pad: [u64; 6],
    /// Of this and what follows, only the processor writes. Chunks in use so far.
    pub(super) touched: Word,
    /// By order: the ends of the list of the chunks whose largest free block is of it.
    pub(super) with_room: [AtomicU64; ORDERS as usize],
    /// Blocks in use, and their bytes.
    pub(super) used_blocks: Word64,
    pub(super) used_bytes: Word64,
    /// The most bytes at once.
    pub(super) most_bytes: Word64,
    /// The most bytes at once since somebody has begun to watch.
    pub(super) most_watched_bytes: Word64,
    /// Messages that have waited here, so far.
    pub(super) messages: Word64,
    /// As many when [`super::trim`] looked last, which alone writes this.
    pub(super) messages_seen: Word64,
    /// Messages that found no room, each time that they were tried.
    pub(super) refused: Word64,
}

/// News of room, for all pools of a node.
#[repr(C, align(64))]
pub struct RoomNews {
    /// Times that room came back to a pool where somebody had wanted some.
    pub(super) came: AtomicU32,
    /// The same as far as the driver of messages between nodes has looked what finds room.
    pub(crate) driver_saw: Word,
}

impl RoomNews {
    /// A number that changes whenever room came back where somebody had found none.
    #[inline]
    pub fn came(&self) -> u32 {
        self.came.load(Ordering::Acquire)
    }
}

const _: () = assert!(size_of::<PoolState>() == 256);

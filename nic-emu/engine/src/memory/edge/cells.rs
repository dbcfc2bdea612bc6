//! An edge in NIC memory: its cells, and how far its reader is.

use crate::memory::Word64;
use crate::memory::sync::{AtomicU32, AtomicU64};

/// Messages that an edge holds. A neighbour whose neighbour gives it something, too, is ahead by one at most.
pub(crate) const EDGE_CELLS: usize = 8;
/// Bytes that lie in a cell.
pub const EDGE_INLINE_BYTES: usize = 48;
/// Edges of a rank. What goes along more than these is sent as messages.
pub const EDGES: usize = 1 << 10;

#[repr(C, align(64))]
pub(super) struct EdgeCell {
    pub(super) label: AtomicU64,
    pub(super) bytes: Word64,
    pub(super) payload: [AtomicU64; EDGE_INLINE_BYTES / 8],
}

/// An edge in NIC memory.
#[repr(C, align(64))]
pub struct Edge {
    pub(super) taken: AtomicU32,
    _pad: [u64; 7],
    pub(super) cells: [EdgeCell; EDGE_CELLS],
}

const _: () = assert!(size_of::<EdgeCell>() == 64 && size_of::<Edge>() == 64 * (1 + EDGE_CELLS));

impl Edge {
    /// The cell of the message of this number.
    #[inline]
    pub(super) fn cell(&self, number: u32) -> &EdgeCell {
        &self.cells[number as usize % EDGE_CELLS]
    }
}

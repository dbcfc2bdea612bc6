//! Transfers: messages under way by rendezvous, from the match until the last byte is in place (paper, §4.3).
//!
//! The Buffer Receiver makes one of a matched pair whose bytes are still in the sender's memory, and grants it bytes slice by
//! slice: what exceeds a slice's budget waits for the next. Whoever has a core to lend then claims ranges of the message from the cursor
//! and moves them: the two ends, or the NIC thread. Claims are disjoint; when all bytes have been moved the one
//! who moved the last finishes the transfer.

use crate::memory::{Word, Word64};
use crate::sync::{AtomicU32, AtomicU64};

/// `Transfer::finished`: bytes are still to be moved.
pub const MOVING: u32 = 0;
/// `Transfer::finished`: all bytes are in place.
pub const FINISHED: u32 = 1;
/// `Transfer::finished`: both requests have been completed; the DMA Helper reaps it once both ends have left it.
pub const REPORTED: u32 = 2;

/// Slots of a window.
pub const WINDOW_SLOTS: usize = 8;
/// Bytes of a slot at most.
pub const SLOT_BYTES: usize = 64 << 10;
/// Bytes of a window.
pub const WINDOW_BYTES: usize = WINDOW_SLOTS * SLOT_BYTES;

/// A transfer in NIC memory.
#[repr(C, align(64))]
pub struct Transfer {
    /// Local index of the sender.
    pub source: Word,
    /// Local index of the receiver.
    pub destination: Word,
    /// The sender's request slot.
    pub source_request: Word,
    /// The receiver's request slot.
    pub destination_request: Word,
    /// Where the bytes are in the sender's memory.
    pub source_address: Word64,
    /// Where they go in the receiver's.
    pub destination_address: Word64,
    /// Bytes to move.
    pub bytes: Word64,
    /// Its window plus one, or 0 when it has none.
    pub window: Word,
    /// Link to the next one under way (or the next free one), plus one.
    pub next: Word,
    /// Link to the previous one under way, plus one.
    pub previous: Word,
    _pad0: [u32; 1],

    /// Bytes that may be claimed: what the slices so far have scheduled.
    pub granted: AtomicU64,
    /// The first byte that nobody has claimed.
    pub cursor: AtomicU64,
    _pad1: [u64; 6],

    /// Bytes in place.
    pub moved: AtomicU64,
    /// [`MOVING`], [`FINISHED`] or [`REPORTED`].
    pub finished: AtomicU32,
    /// Ends that have seen their request complete and will not touch the transfer again; at 2 it may be reaped.
    pub left: AtomicU32,
    /// 1 while the NIC thread moves bytes of it; it may not be reaped meanwhile.
    pub helped: AtomicU32,
    _pad2: [u32; 11],

    /// Slots that the sender has filled.
    pub filled: AtomicU64,
    _pad3: [u64; 7],

    /// Slots that the receiver has drained.
    pub drained: AtomicU64,
    _pad4: [u64; 7],

    /// Offset and length of what is in each slot.
    pub slots: [[Word64; 2]; WINDOW_SLOTS],
}

//! The pipelined channel: the sender fills slots of a window in NIC memory while the receiver drains earlier ones, both
//! cores at work. One sender and one receiver at a time, as each pins its side of the transfer.
//!
//! A slot is the receiver's from the store of its sequence number until the receiver has counted it as drained; its line
//! says where the bytes are and where they go, so that an empty window is polled by reading one line.

use super::ChannelError;
use super::copy::{drain, fill};
use super::policy::Cut;
use crate::memory::Corrupt;
use crate::sync::Ordering;
use crate::transfer::{Pinned, Range, Transfer, WINDOW_BYTES, WINDOW_SLOTS, Worker};
use std::ptr::NonNull;

/// The sender's end of a window.
pub(super) struct Filling<'a> {
    transfer: &'a Transfer,
    window: NonNull<u8>,
    cut: Cut,
}

impl<'a> Filling<'a> {
    pub(super) fn new(transfer: &'a Transfer, window: NonNull<u8>, cut: Cut) -> Self {
        let slots = cut.slots.clamp(1, WINDOW_SLOTS);
        let chunk_bytes = cut.chunk_bytes.clamp(1, WINDOW_BYTES / slots);
        Self { transfer, window, cut: Cut { chunk_bytes, slots } }
    }

    /// Bytes that one slot takes.
    pub(super) fn chunk_bytes(&self) -> u64 {
        self.cut.chunk_bytes as u64
    }

    /// Whether there is a free slot.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        let side = self.transfer.side(Worker::Source);
        let filled = side.slots.load(Ordering::Relaxed);
        if filled.wrapping_sub(side.seen.get()) < self.cut.slots as u64 {
            return true;
        }
        let drained = self.transfer.side(Worker::Destination).slots.load(Ordering::Acquire);
        side.seen.set(drained);
        filled.wrapping_sub(drained) < self.cut.slots as u64
    }

    /// Copies a claimed range of at most [`Self::chunk_bytes`] into the free slot.
    ///
    /// # Safety
    /// There is room, the caller pins the source side, and `range` of the message at `source_address` is in
    /// this process's memory.
    #[inline]
    pub(super) unsafe fn fill(&self, range: Range) {
        let side = self.transfer.side(Worker::Source);
        let filled = side.slots.load(Ordering::Relaxed);
        let index = filled as usize % self.cut.slots;
        let place = index * self.cut.chunk_bytes;
        let from = (self.transfer.source_address.get() + range.offset) as *const u8;
        // SAFETY: place + chunk_bytes is within the window by `new`; the source is the caller's promise; the slot is not
        // the receiver's, as there was room.
        unsafe { fill(from, self.window.as_ptr().add(place), range.bytes as usize) };
        let slot = &self.transfer.slots[filled as usize % WINDOW_SLOTS];
        slot.offset.set(range.offset);
        slot.bytes.set(range.bytes);
        slot.place.set(place as u64);
        slot.sequence.store(filled.wrapping_add(1), Ordering::Release);
        side.slots.store(filled.wrapping_add(1), Ordering::Release);
    }
}

/// Whether the sender has filled a slot that the receiver, which is the caller, has not drained.
#[inline]
pub(super) fn has_filled(transfer: &Transfer) -> bool {
    let drained = transfer.side(Worker::Destination).slots.load(Ordering::Relaxed);
    transfer.slots[drained as usize % WINDOW_SLOTS].sequence.load(Ordering::Acquire)
        == drained.wrapping_add(1)
}

/// Drains the next filled slot into the receiver's memory; answers its bytes. Call only after [`has_filled`].
///
/// # Safety
/// The caller pins the destination side and is the process whose memory `destination_address` is in; `window` is the
/// transfer's window.
#[inline]
pub(super) unsafe fn drain_slot(
    pinned: &Pinned<'_>,
    transfer: &Transfer,
    window: NonNull<u8>,
) -> Result<u64, ChannelError> {
    let side = pinned.side();
    let drained = side.slots.load(Ordering::Relaxed);
    let slot = &transfer.slots[drained as usize % WINDOW_SLOTS];
    let (offset, bytes, place) = (slot.offset.get(), slot.bytes.get(), slot.place.get());
    let within = |what, start: u64, limit: u64| match start.checked_add(bytes) {
        Some(end) if end <= limit => Ok(()),
        _ => Err(Corrupt { what, value: start, limit }),
    };
    within("end of a slot in its window", place, WINDOW_BYTES as u64)?;
    within("end of a slot in its message", offset, transfer.bytes.get())?;
    let to = (transfer.destination_address.get() + offset) as *mut u8;
    // SAFETY: both ranges were checked: inside the window, and inside the buffer that the receiver gave for this message.
    unsafe { drain(window.as_ptr().add(place as usize), to, bytes as usize) };
    side.slots.store(drained.wrapping_add(1), Ordering::Release);
    Ok(bytes)
}

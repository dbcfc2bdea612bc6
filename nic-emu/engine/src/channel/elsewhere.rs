//! The NIC thread's part in a message to or from another node whose rank's memory it may not touch: it is the
//! end of a transfer that has no buffer ([`ELSEWHERE`](bcs_core::LocalRank::ELSEWHERE)). What the sender
//! puts into its window goes from there to the network, and what the network brings goes into a window, from
//! which the receiver takes it. Where its buffer is, only the rank itself says.

use super::error::ChannelError;
use super::stores::Stores;
use super::window::{Filling, has_filled, next_filled, note_drained};
use crate::memory::transfer::{Range, SLOT_BYTES, Worker};
use crate::memory::{Corrupt, NicMemory};
use crate::policy::channel::Policy;

/// Hands the next chunk that the sender has put into its window to `take`, which is told what part of the
/// message it is, and where its bytes are: they can be read until `take` answers, but the sender may write
/// them meanwhile, if it is mad. False when there is none.
///
/// # Errors
/// NIC memory is corrupt, or what `take` fails with.
pub(crate) fn take_chunk<E: From<Corrupt>>(
    memory: &NicMemory,
    transfer: u32,
    take: impl FnOnce(Range, *const u8) -> Result<(), E>,
) -> Result<bool, E> {
    let transfer = memory.transfer(transfer)?;
    let Some(number) = transfer.window.get().checked_sub(1) else { return Ok(false) };
    let window = memory.window(number)?;
    let Some(pinned) = transfer.pin(Worker::Destination) else { return Ok(false) };
    if !has_filled(transfer) {
        return Ok(false);
    }
    let (range, from) = next_filled(&pinned, transfer)?;
    // SAFETY: `next_filled` has checked that the chunk lies in the window.
    take(range, unsafe { window.as_ptr().add(from) })?;
    note_drained(&pinned);
    pinned.count_moved(range.bytes);
    Ok(true)
}

/// Puts the first bytes of a range into the transfer's window, as far as there is room, and answers how many
/// these are.
///
/// # Safety
/// As many bytes as `range` has can be read at `from`.
///
/// # Errors
/// NIC memory is corrupt.
pub(crate) unsafe fn put_chunk(
    memory: &NicMemory,
    index: u32,
    range: Range,
    from: *const u8,
    policy: &Policy,
) -> Result<u64, ChannelError> {
    let transfer = memory.transfer(index)?;
    let Some(window) = transfer.window.get().checked_sub(1) else { return Ok(0) };
    let Some(_pinned) = transfer.pin(Worker::Source) else { return Ok(0) };
    let Some(filling) = Filling::lock(memory, window, index, policy)? else { return Ok(0) };
    let (mut stores, mut done) = (Stores::default(), 0);
    while done < range.bytes {
        let bytes = (range.bytes - done).min(SLOT_BYTES as u64);
        let Some(place) = filling.room(bytes as usize)? else { break };
        let chunk = Range { offset: range.offset + done, bytes };
        // SAFETY: the place was answered for this length, the source side is pinned, and the chunk is part of
        // what the caller says can be read. (These stores are forgotten: they time nothing.)
        unsafe { filling.fill(place, from.add(done as usize), chunk, &mut stores, &|| 0) };
        done += bytes;
    }
    Ok(done)
}

//! The pipelined channel: the sender fills slots in a window of NIC memory while the receiver drains earlier
//! ones, both cores at work. One sender and one receiver of a transfer at a time, as each pins its side.
//!
//! A window belongs to a sending rank (or to a receiving one, for what comes from other nodes) and serves all
//! its transfers: chunks are laid into it one behind the other, round and round. Going round a window of
//! twice the L2 cache is what makes it fast where writing to lines that the receiver's cache still holds is
//! slow (see [`Policy::window_bytes`]); one window for all transfers keeps that memory in the L3 however many
//! messages are under way.
//!
//! A slot is the receiver's from the store of its sequence number until the receiver has counted it as
//! drained; its line says where the bytes are and where they go, so that an empty window is polled by reading
//! one line. The window remembers for each of its units which slot of which transfer lay there last, and lays
//! nothing there before that was drained. These counts only grow, also from one message to the next, so that
//! a transfer that has finished, and is another message's by now, still answers right.

use super::buffer::Buffer;
use super::copy::copy;
use super::error::ChannelError;
use super::pace::Pace;
use super::peer::{Access, Direction, Peer};
use super::piece::{Channel, End, Mine, Piece, Step};
use super::process_memory::{ProcessMemory, is_done};
use super::stores::Stores;
use crate::memory::status::Activity;
use crate::memory::sync::{AtomicU32, Ordering};
use crate::memory::transfer::{
    Pinned, Range, SLOT_BYTES, Transfer, WINDOW_BYTES, WINDOW_DATA_BYTES, WINDOW_SLOTS, Worker,
};
use crate::memory::{Corrupt, NicMemory, TRANSFERS, Word, Word64, within};
use crate::policy::channel::Policy;
use std::ptr::NonNull;

/// Bytes of a unit: chunks are laid on unit boundaries.
const UNIT_BYTES: usize = 4096;
const UNITS: usize = WINDOW_DATA_BYTES / UNIT_BYTES;
const SEQUENCE_BITS: u32 = 48;

/// The start of a window. Its sending rank writes it, but for the pace, which belongs to both ends.
#[repr(C, align(4096))]
struct WindowHeader {
    lock: AtomicU32,
    /// The unit that comes next.
    position: Word,
    pace: Pace,
    /// By unit: the transfer (high bits) and sequence number of the slot that lay there last; 0 for none.
    tenants: [Word64; UNITS],
}

const _: () = {
    assert!(WINDOW_DATA_BYTES.is_multiple_of(UNIT_BYTES) && SLOT_BYTES.is_multiple_of(UNIT_BYTES));
    assert!(size_of::<WindowHeader>() + WINDOW_DATA_BYTES == WINDOW_BYTES, "header and data fill a window");
    assert!(TRANSFERS <= 1 << (64 - SEQUENCE_BITS), "a tenant's transfer fits in its high bits");
};

/// What has been learnt of the channels of a window's sender.
#[inline]
pub(super) fn pace(memory: &NicMemory, window: u32) -> Result<&Pace, Corrupt> {
    // SAFETY: as in `Filling::lock`.
    Ok(unsafe { &memory.window(window)?.cast::<WindowHeader>().as_ref().pace })
}

#[inline]
fn tenant(transfer: u32, sequence: u64) -> u64 {
    (transfer as u64) << SEQUENCE_BITS | sequence & ((1 << SEQUENCE_BITS) - 1)
}

/// The sender's end of a window, locked against other threads of its rank.
pub(super) struct Filling<'a> {
    memory: &'a NicMemory,
    header: &'a WindowHeader,
    data: NonNull<u8>,
    units: usize,
    index: u32,
    transfer: &'a Transfer,
}

impl Drop for Filling<'_> {
    #[inline]
    fn drop(&mut self) {
        self.header.lock.store(0, Ordering::Release);
    }
}

impl<'a> Filling<'a> {
    /// Locks a window to fill it for transfer `index`; none when another thread of the rank is at it.
    #[inline]
    pub(super) fn lock(
        memory: &'a NicMemory,
        window: u32,
        index: u32,
        policy: &Policy,
    ) -> Result<Option<Self>, Corrupt> {
        let start = memory.window(window)?;
        // SAFETY: a window is WINDOW_BYTES long, page-aligned, mapped as long as `memory` lives, and its
        // start is used as a header only; the header consists of atomics, for which every bit pattern is
        // valid.
        let (header, data) =
            unsafe { (start.cast::<WindowHeader>().as_ref(), start.add(size_of::<WindowHeader>())) };
        let transfer = memory.transfer(index)?;
        let units = policy.window_bytes.clamp(2 * SLOT_BYTES, WINDOW_DATA_BYTES) / UNIT_BYTES;
        let locked = header.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
        Ok(locked.then_some(Self { memory, header, data, units, index, transfer }))
    }

    /// The place for a chunk of at most `bytes` bytes, if a slot and the next place in the window are free.
    #[inline]
    pub(super) fn room(&self, bytes: usize) -> Result<Option<usize>, Corrupt> {
        let side = self.transfer.side(Worker::Source);
        let filled = side.slots.load(Ordering::Relaxed);
        if filled.wrapping_sub(side.seen.get()) >= WINDOW_SLOTS as u64 {
            let drained = self.transfer.side(Worker::Destination).slots.load(Ordering::Acquire);
            side.seen.set(drained);
            if filled.wrapping_sub(drained) >= WINDOW_SLOTS as u64 {
                return Ok(None);
            }
        }
        let count = bytes.min(SLOT_BYTES).div_ceil(UNIT_BYTES);
        let mut first = self.header.position.get() as usize;
        if first + count > self.units {
            first = 0;
        }
        for unit in &self.header.tenants[first..first + count] {
            if !self.is_drained(unit.get())? {
                return Ok(None);
            }
        }
        Ok(Some(first))
    }

    #[inline]
    fn is_drained(&self, tenant: u64) -> Result<bool, Corrupt> {
        if tenant == 0 {
            return Ok(true);
        }
        let transfer = self.memory.transfer((tenant >> SEQUENCE_BITS) as u32)?;
        // How far `count` is beyond the tenant's number, in the bits that are kept of it.
        let beyond = |count: u64| (count.wrapping_sub(tenant) << (64 - SEQUENCE_BITS)) as i64;
        Ok(beyond(transfer.side(Worker::Source).seen.get()) >= 0
            || beyond(transfer.side(Worker::Destination).slots.load(Ordering::Acquire)) >= 0)
    }

    /// Copies a claimed range into the window at the place that [`Self::room`] answered for its length or a
    /// longer one, and publishes it.
    ///
    /// # Safety
    /// The caller pins the source side, and as many bytes as `range` has can be read at `from`.
    #[inline]
    pub(super) unsafe fn fill(
        &self,
        first: usize,
        from: *const u8,
        range: Range,
        stores: &mut Stores,
        ticks: &impl Fn() -> u64,
    ) {
        let side = self.transfer.side(Worker::Source);
        let sequence = side.slots.load(Ordering::Relaxed).wrapping_add(1);
        let count = (range.bytes as usize).div_ceil(UNIT_BYTES);
        // SAFETY: `room` answered units inside the window that no receiver reads any more; the source is the
        // caller's promise.
        unsafe {
            let to = self.data.as_ptr().add(first * UNIT_BYTES);
            stores.copy_in(from, to, range.bytes as usize, ticks);
        }
        for unit in &self.header.tenants[first..first + count] {
            unit.set(tenant(self.index, sequence));
        }
        self.header.position.set((first + count) as u32);
        let slot = &self.transfer.slots[sequence as usize % WINDOW_SLOTS];
        slot.offset.set(range.offset);
        slot.bytes.set(range.bytes);
        slot.place.set((first * UNIT_BYTES) as u64);
        slot.sequence.store(sequence, Ordering::Release);
        side.slots.store(sequence, Ordering::Relaxed);
    }
}

/// Whether the sender has filled a slot that the receiver, which is the caller, has not drained.
#[inline]
pub(super) fn has_filled(transfer: &Transfer) -> bool {
    let next = transfer.side(Worker::Destination).slots.load(Ordering::Relaxed).wrapping_add(1);
    transfer.slots[next as usize % WINDOW_SLOTS].sequence.load(Ordering::Acquire) == next
}

/// Drains the next filled slot into the receiver's buffer; answers its bytes. Call only after [`has_filled`].
///
/// # Safety
/// The caller pins the destination side, `buffer` is memory of this process that it may write to, and
/// `window` is the start of a window.
#[inline]
pub(super) unsafe fn drain_slot(
    pinned: &Pinned<'_>,
    transfer: &Transfer,
    window: NonNull<u8>,
    buffer: &Buffer,
) -> Result<u64, ChannelError> {
    let (range, from) = next_filled(pinned, transfer)?;
    let to = buffer.at(range)? as *mut u8;
    // SAFETY: both ranges were checked, and each word was read once: inside the window, and inside the buffer
    // that the receiver gave for this message, as it knows it itself.
    unsafe { copy(window.as_ptr().add(from), to, range.bytes as usize) };
    note_drained(pinned);
    Ok(range.bytes)
}

/// The next filled slot: what part of the message is in it, and where in the window that begins. Call only
/// after [`has_filled`].
#[inline]
pub(super) fn next_filled(pinned: &Pinned<'_>, transfer: &Transfer) -> Result<(Range, usize), Corrupt> {
    let next = pinned.side().slots.load(Ordering::Relaxed).wrapping_add(1);
    let slot = &transfer.slots[next as usize % WINDOW_SLOTS];
    let (offset, bytes, place) = (slot.offset.get(), slot.bytes.get(), slot.place.get());
    within("end of a slot in its window", place, bytes, WINDOW_DATA_BYTES as u64)?;
    Ok((Range { offset, bytes }, size_of::<WindowHeader>() + place as usize))
}

/// The receiver has drained the slot that [`next_filled`] answered.
#[inline]
pub(super) fn note_drained(pinned: &Pinned<'_>) {
    let slots = &pinned.side().slots;
    slots.store(slots.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
}

/// [`Transfer::began`] of a message of which an end was elsewhere for a while.
pub(super) const UNTIMED: u64 = u64::MAX;

/// The channel.
pub(super) struct Window;

impl Channel for Window {
    fn advance<P: ProcessMemory, T: Fn() -> u64>(
        piece: &Piece<'_, P, T>,
        mine: &Mine,
        stores: &mut Stores,
    ) -> Result<Option<Step>, ChannelError> {
        match mine.end {
            End::Source => send(piece, &mine.buffer, stores),
            End::Destination => receive(piece, &mine.buffer),
        }
    }
}

/// The sender's piece of work.
fn send<P: ProcessMemory, T: Fn() -> u64>(
    piece: &Piece<'_, P, T>,
    buffer: &Buffer,
    stores: &mut Stores,
) -> Result<Option<Step>, ChannelError> {
    let window = piece.transfer.window.get();
    let flows = together(piece) && !goes_by_attach(piece)?;
    if window == 0 || !flows && piece.may_attach() {
        return take_over(piece, buffer);
    }
    match Filling::lock(piece.memory, window - 1, piece.index, piece.policy)? {
        Some(filling) => fill_window(piece, &filling, buffer, stores).map(Some),
        None => Ok(Some(Step::Blocked)),
    }
}

/// The sender moves what it has put into the window itself, by attach, where the receiver does not drain the
/// window: the receiver has left MPI since, and need not come back before the message is there (MPI-5.0,
/// §3.7.4). None when there is nothing of that.
fn take_over<P: ProcessMemory, T: Fn() -> u64>(
    piece: &Piece<'_, P, T>,
    buffer: &Buffer,
) -> Result<Option<Step>, ChannelError> {
    if piece.activity == Activity::Polling || !piece.may_attach() || !has_filled(piece.transfer) {
        return Ok(None);
    }
    // The receiver may be back: then it drains the window.
    let Some(receiver) = piece.transfer.pin(Worker::Destination) else { return Ok(None) };
    let peer = Peer::of(piece.memory, piece.peer)?;
    let mut done = 0;
    while done < piece.policy.step_bytes && has_filled(piece.transfer) {
        let (range, _) = next_filled(&receiver, piece.transfer)?;
        let there = piece.transfer.destination_address.get().wrapping_add(range.offset);
        let (direction, here) = (Direction::Write, buffer.at(range)?);
        // SAFETY: the range is within the buffer that the program gave for this message, and both sides are
        // pinned.
        let moved = unsafe {
            piece.processes.attach_all(&Access { direction, peer, here, there, bytes: range.bytes })
        };
        if !is_done(piece.memory, moved)? {
            return Ok(None);
        }
        note_drained(&receiver);
        if receiver.count_moved(range.bytes) {
            return Ok(Some(Step::Finished));
        }
        done += range.bytes;
    }
    Ok((done > 0).then_some(Step::Progress))
}

fn fill_window<P: ProcessMemory, T: Fn() -> u64>(
    piece: &Piece<'_, P, T>,
    filling: &Filling<'_>,
    buffer: &Buffer,
    stores: &mut Stores,
) -> Result<Step, ChannelError> {
    let is_at_it = piece.activity == Activity::Polling;
    let mut done = 0;
    let mut patience = 0;
    while done < piece.policy.step_bytes {
        let chunk = piece.policy.chunk_bytes(piece.pinned.claimed(), piece.pinned.unclaimed());
        if let Some(place) = filling.room(chunk as usize)? {
            let Some(range) = piece.pinned.claim(chunk)? else {
                return Ok(if done > 0 { Step::Progress } else { piece.nothing_to_claim() });
            };
            let from = buffer.at(range)? as *const u8;
            // SAFETY: the place was answered for this length, this side is pinned by its own process, and the
            // range is within the buffer that was given for the send.
            unsafe { filling.fill(place, from, range, stores, &piece.ticks) };
            done += range.bytes;
            patience = 0;
        } else if patience < piece.policy.patience && is_at_it {
            patience += 1;
            std::hint::spin_loop();
        } else if done == 0 {
            return Ok(if is_at_it { Step::Blocked } else { Step::PeerNeeded });
        } else {
            break;
        }
    }
    Ok(Step::Progress)
}

/// The receiver's piece of work.
fn receive<P: ProcessMemory, T: Fn() -> u64>(
    piece: &Piece<'_, P, T>,
    buffer: &Buffer,
) -> Result<Option<Step>, ChannelError> {
    let Some(number) = piece.transfer.window.get().checked_sub(1) else { return Ok(None) };
    let window = piece.memory.window(number)?;
    let flows = together(piece) && !goes_by_attach(piece)?;
    let (mut done, mut patience) = (0, 0);
    loop {
        if has_filled(piece.transfer) {
            // SAFETY: this side is pinned by its own process, whose receive this buffer was given for; a
            // window was answered.
            let bytes = unsafe { drain_slot(&piece.pinned, piece.transfer, window, buffer)? };
            if piece.pinned.count_moved(bytes) {
                return Ok(Some(Step::Finished));
            }
            done += bytes;
            if done >= piece.policy.step_bytes {
                return Ok(Some(Step::Progress));
            }
            patience = 0;
        } else if patience < piece.policy.patience && flows && !piece.pinned.all_moved() {
            patience += 1;
            std::hint::spin_loop();
        } else {
            break;
        }
    }
    if done > 0 {
        return Ok(Some(Step::Progress));
    }
    // Without attach there is the window alone.
    Ok(flows.then(|| piece.waits()))
}

/// Whether both ends are at work, so that the window flows. A message that they are not at all the time is
/// not timed.
fn together<P, T>(piece: &Piece<'_, P, T>) -> bool {
    let together = piece.policy.pipeline && piece.activity == Activity::Polling;
    if !together && piece.transfer.began.get() != UNTIMED {
        piece.transfer.began.set(UNTIMED);
    }
    together
}

/// Whether a message goes by attach although its window flows, by what others took.
fn goes_by_attach<P: ProcessMemory, T: Fn() -> u64>(piece: &Piece<'_, P, T>) -> Result<bool, ChannelError> {
    let learns = piece.policy.learn && piece.may_attach();
    let Some(window) = piece.transfer.window.get().checked_sub(1).filter(|_| learns) else {
        return Ok(false);
    };
    let by_attach = pace(piece.memory, window)?.goes_by_attach(piece.transfer.bytes.get());
    let began = &piece.transfer.began;
    match began.get() {
        0 if piece.pinned.claimed() == 0 => began.set((piece.ticks)() << 1 | by_attach as u64),
        0 => began.set(UNTIMED),
        UNTIMED => {}
        began => return Ok(began & 1 != 0),
    }
    Ok(by_attach)
}

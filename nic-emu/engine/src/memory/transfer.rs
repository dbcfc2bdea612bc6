//! Transfers: messages under way by rendezvous, from the match until the last byte is in place (paper, §4.3).
//!
//! The Buffer Receiver makes one of a matched pair whose bytes are still in the sender's memory, and grants
//! it bytes slice by slice: what exceeds a slice's budget waits for the next. Whoever has a core to lend then
//! claims ranges of the message and moves them (see [`crate::channel`]): the two ends, or the NIC thread.
//!
//! Invariants: ranges are claimed once each (from the cursor, never beyond what is granted), so every byte is
//! moved by exactly one worker; `moved` counts bytes that are in place; one worker, and only one, is told
//! that it moved the last. A claimed range that its worker may not move (cross-memory attach was refused)
//! goes back through `returned`, for any other worker. A transfer is used again only when both ends have left
//! it and the NIC thread is not at it.
//!
//! ```text
//!  line 0     who, where, how much; window; links        written by the processor before the start
//!  line 1     granted, cursor, count of ranges given back claims; when it began
//!  line 2     moved, finished, left, helped              one add per range in place
//!  lines 3-5  source, destination, outside               each written by its side alone
//!  line 6     ranges given back
//!  lines 7-22 slots, in order of use                     each a line: the drainer reads no other
//! ```

use crate::memory::linked::LinkWord;
use crate::memory::sync::{AtomicU32, AtomicU64, Ordering};
use crate::memory::{Corrupt, LocalRank, RequestId, Word, Word64, within};

/// Slots of a transfer: as many chunks of it are in its sender's window at once.
pub(crate) const WINDOW_SLOTS: usize = 16;
/// Bytes of a chunk at most.
pub const SLOT_BYTES: usize = 64 << 10;
/// Bytes of a window that hold chunks: twice the L2 cache of the processors with the largest ones.
pub const WINDOW_DATA_BYTES: usize = 4 << 20;
/// Bytes of a window: what its sender notes (`channel::window`), and the chunks.
pub const WINDOW_BYTES: usize = (12 << 10) + WINDOW_DATA_BYTES;

/// Bytes of a claim at most.
pub(crate) const CLAIM_BYTES: u64 = 1 << 20;
/// Bytes of a message at most (8 TB): what an offset in a packed range can say.
const MESSAGE_BYTES: u64 = 1 << (64 - LENGTH_BITS);

const LENGTH_BITS: u32 = 21;
const _: () = assert!(CLAIM_BYTES < 1 << LENGTH_BITS, "a claim's length fits in a packed range");

/// `Transfer::finished`: bytes are still to be moved.
pub const MOVING: u32 = 0;
/// `Transfer::finished`: all bytes are in place.
pub(crate) const FINISHED: u32 = 1;
/// `Transfer::finished`: both requests have been completed; the DMA Helper reaps it once both ends have left
/// it.
pub const REPORTED: u32 = 2;

/// Who works on a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Worker {
    /// The sender.
    Source = 0,
    /// The receiver.
    Destination = 1,
    /// The NIC thread, which holds neither buffer.
    Outside = 2,
}

/// Sides of a transfer: one worker at a time on each.
pub(crate) const WORKERS: usize = 3;

/// A matched pair, as the Buffer Receiver starts its transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// The sender, or `ELSEWHERE`.
    pub source: LocalRank,
    /// The receiver, or `ELSEWHERE`.
    pub destination: LocalRank,
    /// The sender's request slot.
    pub source_request: RequestId,
    /// The receiver's request slot.
    pub destination_request: RequestId,
    /// Where the bytes are in the sender's memory.
    pub source_address: u64,
    /// Where they go in the receiver's.
    pub destination_address: u64,
    /// Bytes to move: the smaller of message and receive buffer.
    pub bytes: u64,
}

/// Consecutive bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first one's offset in the message.
    pub offset: u64,
    /// How many; a range that exists is not empty.
    pub bytes: u64,
}

/// A chunk in the sender's window.
#[repr(C, align(64))]
pub struct Slot {
    /// How many slots the sender had filled with this one: publishes the other words.
    pub sequence: AtomicU64,
    /// Offset in the message of what is in it.
    pub offset: Word64,
    /// Bytes that are in it.
    pub bytes: Word64,
    /// Where they start in the window.
    pub place: Word64,
    _pad: [u64; 4],
}

/// What one side keeps of a transfer.
#[repr(C, align(64))]
pub struct TransferSide {
    pin: AtomicU32,
    /// Times in a row that this side found nothing to do.
    pub idle: Word,
    /// Slots filled (source) or drained (destination) since NIC memory was made: the two are equal between
    /// transfers.
    pub slots: AtomicU64,
    /// The source's last look at the destination's count.
    pub seen: Word64,
    held_offset: Word64,
    held_bytes: Word64,
    _pad: [u64; 3],
}

/// A transfer in NIC memory.
#[repr(C, align(64))]
pub struct Transfer {
    /// The sender. [`LocalRank::ELSEWHERE`] where it is on another node: the NIC thread stands in for it,
    /// without a buffer and without a request. What it brings goes through a window, in the order of the
    /// message.
    pub source: Word<LocalRank>,
    /// The receiver; the same.
    pub destination: Word<LocalRank>,
    /// The sender's request slot.
    pub source_request: Word<RequestId>,
    /// The receiver's request slot.
    pub destination_request: Word<RequestId>,
    /// Where the bytes are in the sender's memory.
    pub source_address: Word64,
    /// Where they go in the receiver's.
    pub destination_address: Word64,
    /// Bytes to move.
    pub bytes: Word64,
    links: AtomicU64,
    /// Its sender's window plus one, or 0 when it has none; the processor may give it one while it is under
    /// way.
    pub window: Word,
    _pad0: [u32; 3],

    /// Bytes that may be claimed: what the slices so far have scheduled.
    pub granted: AtomicU64,
    /// The first byte that nobody has claimed.
    pub cursor: AtomicU64,
    given_back: AtomicU32,
    _pad1: u32,
    /// Of a message that both ends wait for: when its first byte was claimed, and by which channel
    /// (`channel::advance`); 0 before.
    pub began: Word64,
    _pad2: [u64; 4],

    /// Bytes in place.
    pub moved: AtomicU64,
    /// `MOVING`, `FINISHED` or [`REPORTED`].
    pub finished: AtomicU32,
    /// Ends that have seen their request complete and will not touch the transfer again; at 2 it may be
    /// reaped.
    pub left: AtomicU32,
    /// 1 while the NIC thread moves bytes of it; it may not be reaped meanwhile.
    pub helped: AtomicU32,
    _pad3: [u32; 11],

    sides: [TransferSide; WORKERS],
    /// Ranges that were given back, each in one word, so that taking one from another worker is one swap; 0
    /// is none.
    returned: [AtomicU64; WORKERS],
    _pad4: [u64; 5],

    /// Slots, by sequence number modulo their number.
    pub slots: [Slot; WINDOW_SLOTS],
}

const _: () = {
    assert!(size_of::<TransferSide>() == 64 && size_of::<Slot>() == 64);
    assert!(size_of::<Transfer>() == (7 + WINDOW_SLOTS) * 64);
    assert!(
        std::mem::offset_of!(Transfer, sides) == 3 * 64 && std::mem::offset_of!(Transfer, slots) == 7 * 64
    );
};

impl Transfer {
    /// Its links in the list of those under way, or to the next free one.
    #[inline]
    pub fn links(&self) -> LinkWord<'_> {
        LinkWord(&self.links)
    }

    /// Prepares a transfer that nobody uses, with `granted` bytes to move at first. Processor only. Until
    /// [`Self::begin`] it is over for whoever looks at it.
    #[inline]
    pub fn prepare(&self, pair: &Pair, window: Option<u32>, granted: u64) {
        self.finished.store(REPORTED, Ordering::Relaxed);
        self.source.set(pair.source);
        self.destination.set(pair.destination);
        self.source_request.set(pair.source_request);
        self.destination_request.set(pair.destination_request);
        self.source_address.set(pair.source_address);
        self.destination_address.set(pair.destination_address);
        self.bytes.set(pair.bytes);
        self.window.set(window.map_or(0, |w| w.wrapping_add(1)));
        self.granted.store(granted.min(pair.bytes), Ordering::Relaxed);
        self.cursor.store(0, Ordering::Relaxed);
        self.began.set(0);
        self.moved.store(0, Ordering::Relaxed);
        self.left.store(0, Ordering::Relaxed);
    }

    /// Begins: from now on bytes may be moved. Processor only, once the requests of both ends say that they
    /// are moving: whoever moves the last byte completes both.
    #[inline]
    pub fn begin(&self) {
        // `helped` stays: the NIC thread may be looking whether there is something to do. It sees this store,
        // and with it all that was prepared, or that there is nothing.
        self.finished.store(MOVING, Ordering::Release);
    }

    /// Of a transfer that is prepared: its first bytes are in place already. Processor only.
    pub fn skip(&self, bytes: u64) {
        self.cursor.store(bytes, Ordering::Relaxed);
        self.moved.store(bytes, Ordering::Relaxed);
    }

    /// Its two ends: who they are, and their request slots.
    #[inline]
    pub fn ends(&self) -> [(LocalRank, RequestId); 2] {
        [
            (self.source.get(), self.source_request.get()),
            (self.destination.get(), self.destination_request.get()),
        ]
    }

    /// Whether one end is on another node.
    #[inline]
    pub fn is_elsewhere(&self) -> bool {
        self.source.get() == LocalRank::ELSEWHERE || self.destination.get() == LocalRank::ELSEWHERE
    }

    /// A side's own words.
    #[inline]
    pub fn side(&self, worker: Worker) -> &TransferSide {
        &self.sides[worker as usize]
    }

    /// Pins a side for its worker; none when another thread of the process is at it.
    #[inline]
    pub(crate) fn pin(&self, worker: Worker) -> Option<Pinned<'_>> {
        // SeqCst: a NIC thread that pins and then finds the transfer moving is seen by who reaps it after
        // that.
        let is_free = self.pin_of(worker).compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        is_free.then(|| Pinned { transfer: self, worker })
    }

    #[inline]
    fn pin_of(&self, worker: Worker) -> &AtomicU32 {
        match worker {
            Worker::Outside => &self.helped,
            _ => &self.side(worker).pin,
        }
    }
}

/// A transfer of which this worker holds its side.
pub(crate) struct Pinned<'a> {
    transfer: &'a Transfer,
    worker: Worker,
}

impl Drop for Pinned<'_> {
    #[inline]
    fn drop(&mut self) {
        self.transfer.pin_of(self.worker).store(0, Ordering::Release);
    }
}

impl Pinned<'_> {
    /// This side's own words.
    #[inline]
    pub(crate) fn side(&self) -> &TransferSide {
        self.transfer.side(self.worker)
    }

    /// Claims at most `bytes` bytes that nobody else moves. None: all that was granted is claimed.
    #[inline]
    pub(crate) fn claim(&self, bytes: u64) -> Result<Option<Range>, Corrupt> {
        let side = self.side();
        let bytes = bytes.clamp(1, CLAIM_BYTES);
        if side.held_bytes.get() == 0 && self.transfer.given_back.load(Ordering::Relaxed) != 0 {
            self.take_returned();
        }
        let (offset, held) = (side.held_offset.get(), side.held_bytes.get());
        if held != 0 {
            let range = Range { offset, bytes: held.min(bytes) };
            side.held_offset.set(offset.wrapping_add(range.bytes));
            side.held_bytes.set(held - range.bytes);
            return self.check(range).map(Some);
        }
        let granted = self.transfer.granted.load(Ordering::Acquire);
        let mut offset = self.transfer.cursor.load(Ordering::Relaxed);
        while offset < granted {
            let range = Range { offset, bytes: bytes.min(granted - offset) };
            match self.transfer.cursor.compare_exchange_weak(
                offset,
                offset + range.bytes,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return self.check(range).map(Some),
                Err(now) => offset = now,
            }
        }
        Ok(None)
    }

    /// The first byte that nobody has claimed.
    #[inline]
    pub(crate) fn claimed(&self) -> u64 {
        self.transfer.cursor.load(Ordering::Relaxed)
    }

    /// Bytes of the message that nobody has claimed.
    #[inline]
    pub(crate) fn unclaimed(&self) -> u64 {
        self.transfer.bytes.get().saturating_sub(self.claimed())
    }

    /// Whether there is something to claim.
    #[inline]
    pub(crate) fn claimable(&self) -> bool {
        self.side().held_bytes.get() != 0
            || self.transfer.given_back.load(Ordering::Relaxed) != 0
            || self.transfer.cursor.load(Ordering::Relaxed) < self.transfer.granted.load(Ordering::Acquire)
    }

    /// Whether all that the slices have granted so far is claimed, but not the whole message.
    #[inline]
    pub(crate) fn awaits_grant(&self) -> bool {
        !self.claimable() && self.transfer.granted.load(Ordering::Acquire) < self.transfer.bytes.get()
    }

    #[inline]
    fn check(&self, range: Range) -> Result<Range, Corrupt> {
        let limit = self.transfer.bytes.get().min(MESSAGE_BYTES - 1);
        within("end of a claimed range", range.offset, range.bytes, limit).map(|()| range)
    }

    #[inline]
    fn take_returned(&self) {
        for returned in &self.transfer.returned {
            let packed = match returned.load(Ordering::Relaxed) {
                0 => 0,
                _ => returned.swap(0, Ordering::Acquire),
            };
            if packed != 0 {
                self.transfer.given_back.fetch_sub(1, Ordering::Relaxed);
                self.side().held_offset.set(packed >> LENGTH_BITS);
                self.side().held_bytes.set(packed & ((1 << LENGTH_BITS) - 1));
                return;
            }
        }
    }

    /// Gives a claimed range, or what is left of it, back: this worker cannot move it.
    pub(crate) fn give_back(&self, range: Range) {
        let side = self.side();
        // What is held is what follows `range`, of the same claim: together they are no longer than a claim.
        let held = side.held_bytes.get();
        side.held_offset.set(range.offset);
        side.held_bytes.set(held + range.bytes);
        self.release_held();
    }

    /// Offers what this side holds to the others. Nothing happens when it has nothing, or when what it
    /// offered before was not yet taken.
    pub(crate) fn release_held(&self) {
        let side = self.side();
        let returned = &self.transfer.returned[self.worker as usize];
        // Only this side writes anything but 0 here.
        if side.held_bytes.get() != 0 && returned.load(Ordering::Relaxed) == 0 {
            self.transfer.given_back.fetch_add(1, Ordering::Relaxed);
            let held = side.held_offset.get() << LENGTH_BITS | side.held_bytes.get();
            returned.store(held, Ordering::Release);
            side.held_bytes.set(0);
        }
    }

    /// Counts bytes as in place. True for the one who brought the last, and for nobody else.
    #[inline]
    pub(crate) fn count_moved(&self, bytes: u64) -> bool {
        let moved = self.transfer.moved.fetch_add(bytes, Ordering::AcqRel).wrapping_add(bytes);
        moved == self.transfer.bytes.get()
    }

    /// Whether all bytes are in place: there is nothing left to do for anybody.
    #[inline]
    pub(crate) fn all_moved(&self) -> bool {
        self.transfer.finished.load(Ordering::SeqCst) != MOVING
            || self.transfer.moved.load(Ordering::Acquire) >= self.transfer.bytes.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn transfer(bytes: u64, granted: u64) -> Box<Transfer> {
        let transfer = prepared(bytes, granted);
        transfer.begin();
        transfer
    }

    fn prepared(bytes: u64, granted: u64) -> Box<Transfer> {
        // SAFETY: zeroed NIC memory is a valid, empty one: all fields are atomics or words.
        let transfer: Box<Transfer> = unsafe { Box::new(std::mem::zeroed()) };
        let pair = Pair { destination: LocalRank(1), bytes, ..Pair::default() };
        transfer.prepare(&pair, None, granted);
        transfer
    }

    #[test]
    fn transfer_whose_ends_are_not_both_told_is_over_for_whoever_looks() {
        let transfer = prepared(100, 100);
        assert!(transfer.pin(Worker::Source).unwrap().all_moved());
        assert!(transfer.pin(Worker::Outside).unwrap().all_moved());
        transfer.begin();
        assert!(!transfer.pin(Worker::Source).unwrap().all_moved());
    }

    const WORKERS_BY_NUMBER: [Worker; WORKERS] = [Worker::Source, Worker::Destination, Worker::Outside];

    /// What a worker does with a range that it has claimed.
    #[derive(Clone, Copy, Debug)]
    enum Deed {
        Move,
        MovePart,
        GiveBack,
    }

    fn deeds() -> impl Strategy<Value = Vec<(usize, u64, Deed, u64)>> {
        let deed = prop_oneof![4 => Just(Deed::Move), 1 => Just(Deed::MovePart), 2 => Just(Deed::GiveBack)];
        proptest::collection::vec((0..WORKERS, 1u64..3000, deed, 0u64..4000), 0..200)
    }

    fn unseen(bytes: u64) -> Vec<AtomicU32> {
        (0..bytes).map(|_| AtomicU32::new(0)).collect()
    }

    /// Claims, and counts in `seen` each byte that is moved; true when this was the last.
    fn work(pinned: &Pinned<'_>, bytes: u64, deed: Deed, seen: &[AtomicU32]) -> bool {
        let Some(range) = pinned.claim(bytes).unwrap() else {
            pinned.release_held();
            return false;
        };
        let moved = match deed {
            Deed::Move => range.bytes,
            Deed::MovePart => range.bytes.div_ceil(2),
            Deed::GiveBack => 0,
        };
        if moved < range.bytes {
            pinned.give_back(Range { offset: range.offset + moved, bytes: range.bytes - moved });
        }
        if moved == 0 {
            return false;
        }
        for byte in &seen[range.offset as usize..(range.offset + moved) as usize] {
            byte.fetch_add(1, Ordering::Relaxed);
        }
        assert!(range.offset + moved <= pinned.transfer.granted.load(Ordering::Relaxed));
        pinned.count_moved(moved)
    }

    proptest! {
        #[test]
        fn every_byte_is_moved_once_and_one_worker_is_told_whatever_they_do(bytes in 1u64..60_000, deeds in deeds()) {
            let transfer = transfer(bytes, 0);
            let seen = unseen(bytes);
            let mut told = 0;
            let mut granted = 0;
            let finish = WORKERS_BY_NUMBER.iter().cycle().map(|w| (*w as usize, 2500, Deed::Move, bytes));
            for (worker, claim, deed, grant) in deeds.into_iter().chain(finish) {
                granted = (granted + grant).min(bytes);
                transfer.granted.store(granted, Ordering::Release);
                let pinned = transfer.pin(WORKERS_BY_NUMBER[worker]).unwrap();
                told += work(&pinned, claim, deed, &seen) as u32;
                if told == 1 {
                    break;
                }
            }
            prop_assert!(seen.into_iter().all(|times| times.into_inner() == 1) && told == 1);
            let pinned = transfer.pin(Worker::Source).unwrap();
            prop_assert!(pinned.all_moved() && !pinned.claimable() && pinned.claim(1).unwrap().is_none());
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test's threads")]
    fn every_byte_is_moved_once_by_workers_at_the_same_time() {
        for seed in 0..30u64 {
            let bytes = 400_000 + seed * 1_001;
            let transfer = transfer(bytes, bytes);
            let (seen, told) = (unseen(bytes), AtomicU32::new(0));
            std::thread::scope(|scope| {
                for worker in WORKERS_BY_NUMBER {
                    let (transfer, seen, told) = (&transfer, &seen, &told);
                    scope.spawn(move || {
                        let mut dice = seed * 3 + worker as u64 + 1;
                        while transfer.moved.load(Ordering::Acquire) < bytes {
                            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                            let deed = match dice >> 61 {
                                0 | 1 => Deed::GiveBack,
                                2 => Deed::MovePart,
                                _ => Deed::Move,
                            };
                            let pinned = transfer.pin(worker).expect("one thread a side");
                            let last = work(&pinned, 1 + (dice >> 33) % 5_000, deed, seen);
                            told.fetch_add(last as u32, Ordering::Relaxed);
                        }
                    });
                }
            });
            assert!(seen.into_iter().all(|times| times.into_inner() == 1));
            assert_eq!(told.into_inner(), 1);
        }
    }

    #[test]
    fn a_side_has_one_worker_at_a_time() {
        let transfer = transfer(10, 10);
        let pinned = transfer.pin(Worker::Source).unwrap();
        assert!(transfer.pin(Worker::Source).is_none() && transfer.pin(Worker::Outside).is_some());
        drop(pinned);
        assert!(transfer.pin(Worker::Source).is_some());
    }

    #[test]
    fn a_corrupt_cursor_is_refused() {
        let transfer = transfer(10, 10);
        transfer.granted.store(u64::MAX, Ordering::Relaxed);
        transfer.cursor.store(u64::MAX - 4, Ordering::Relaxed);
        assert!(transfer.pin(Worker::Destination).unwrap().claim(8).is_err());
    }
}

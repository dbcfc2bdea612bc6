//! Records: how the processes of a node put them into the outgoing ring, and take them out of the incoming
//! one.
//!
//! ```text
//!  outgoing   sending.tail            appending.head      incoming   taking.tail          receiving.head
//!                  │ records, whole        │                              │ records, the last │
//!                  ▼                       ▼                              ▼ perhaps in part   ▼
//!             ─────█████████████████████████─────                    ─────████████████████▓▓▓▓─────
//! ```
//!
//! A record is a head of eight bytes, which holds its length, its bytes, and padding to a multiple of eight.
//! It may lie across the end of the ring. Invariant: a position is published after the bytes before it are
//! written, and a place is written again only after the position behind it has passed; but for a front whose
//! rest is opened elsewhere, which is changed under the lock for taking.
//!
//! A record may be taken while one before it stays, for another process. Then its head is marked, and its
//! room is free when the tail has passed it.

use super::fault::{FaultKind, LinkFault};
use super::keys::{Cipher, RenewalLimits};
use super::layout::{ALIGNMENT, RECORD_HEAD_BYTES};
use super::ring::{Head, Ring};
use super::sending::{Apart, makes_way, send_apart};
use super::state::{Held, Shared};
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// What a record takes in a ring.
#[inline]
fn whole_bytes(length: usize) -> usize {
    RECORD_HEAD_BYTES + length.next_multiple_of(ALIGNMENT)
}

/// The right to append records, which one process has at a time. It is held for as short as can be.
#[derive(Debug)]
pub struct Appender<'a> {
    shared: &'a Shared,
    ring: Ring,
    head: u64,
    /// The last seen position up to which the ring is sealed.
    tail: u64,
    sender: Option<Sender<'a>>,
    _held: Held<'a>,
}

/// What an [`Appender`] sends long records by, whose bytes it does not copy.
#[derive(Debug)]
pub(crate) struct Sender<'a> {
    pub expanded: &'a mut Option<Cipher>,
    pub limits: RenewalLimits,
    pub process: u32,
    pub socket: BorrowedFd<'a>,
    /// From how many bytes on.
    pub apart_bytes: usize,
}

impl<'a> Appender<'a> {
    #[inline]
    pub(crate) fn new(shared: &'a Shared, process: u32, sender: Option<Sender<'a>>) -> Option<Self> {
        let state = shared.state();
        let held = shared.try_hold(&state.appending.lock, process)?;
        let (head, tail) = (state.appending.head.load(Relaxed), state.sending.tail.load(Acquire));
        Some(Self { shared, ring: shared.outgoing(), head, tail, sender, _held: held })
    }

    /// Whether there is room for so many records of so many bytes.
    ///
    /// # Errors
    /// Shared memory is damaged.
    pub fn has_room(&mut self, records: usize, bytes: usize) -> Result<bool, LinkFault> {
        self.tail = self.shared.state().sending.tail.load(Acquire);
        let taken = self.shared.distance(self.tail, self.head)?;
        Ok(records * whole_bytes(bytes) <= self.shared.layout.ring_bytes() - taken)
    }

    /// Appends a record of these parts, one behind the other. False when there is no room for it now: then
    /// the link is to be driven.
    ///
    /// # Errors
    /// Shared memory is damaged.
    ///
    /// # Panics
    /// The record is longer than [`LinkLayout::record_bytes`](crate::LinkLayout::record_bytes).
    #[inline]
    pub fn push(&mut self, parts: &[&[u8]]) -> Result<bool, LinkFault> {
        // SAFETY: nothing is read there.
        unsafe { self.push_from(parts, std::ptr::dangling(), 0) }
    }

    /// [`Self::push`] of these parts and `bytes` bytes at `from` behind them, which others may write at the
    /// same time, if they are mad. Long ones are sent at once, from where they are, if this appender has the
    /// socket and nothing is in the way.
    ///
    /// # Safety
    /// So many bytes can be read there, and they do not lie in the link.
    ///
    /// # Errors
    /// As [`Self::push`].
    ///
    /// # Panics
    /// As [`Self::push`].
    #[inline]
    pub unsafe fn push_from(
        &mut self,
        parts: &[&[u8]],
        from: *const u8,
        bytes: usize,
    ) -> Result<bool, LinkFault> {
        let length = parts.iter().map(|part| part.len()).sum::<usize>() + bytes;
        let limit = self.shared.layout.record_bytes();
        assert!(length <= limit, "a record of {length} bytes is longer than {limit}");
        let is_apart = self.sender.as_ref().is_some_and(|sender| bytes >= sender.apart_bytes);
        // SAFETY: the caller's promise.
        if is_apart && unsafe { self.send_apart(parts, from, bytes) }? {
            return Ok(true);
        }
        let wanted = whole_bytes(length);
        let room =
            |link: &Self| Ok(link.shared.layout.ring_bytes() - link.shared.distance(link.tail, link.head)?);
        if room(self)? < wanted {
            self.tail = self.shared.state().sending.tail.load(Acquire);
            if room(self)? < wanted {
                return Ok(false);
            }
        }
        // SAFETY: the lock is held, and what lies between the head and the tail, a ring further, was sealed:
        // nobody reads it any more. Positions are multiples of 8, or the distance was an error.
        unsafe {
            let at = self.write_front(length, parts);
            self.ring.write(at, from, bytes);
        }
        self.head += wanted as u64;
        self.shared.state().appending.head.store(self.head, Release);
        Ok(true)
    }

    /// Writes the head of a record of this length, and its first parts; answers where they end.
    ///
    /// # Safety
    /// As [`Ring::write`], for as much from the head on.
    unsafe fn write_front(&self, length: usize, parts: &[&[u8]]) -> u64 {
        let mut at = self.head;
        // SAFETY: the caller's promise.
        unsafe {
            self.ring.write_head(at, Head { length, is_taken: false });
            at += RECORD_HEAD_BYTES as u64;
            for part in parts {
                self.ring.write(at, part.as_ptr(), part.len());
                at += part.len() as u64;
            }
        }
        at
    }

    /// Sends a record whose rest is not copied. False when that is not possible now.
    ///
    /// # Safety
    /// As [`Self::push_from`].
    unsafe fn send_apart(
        &mut self,
        parts: &[&[u8]],
        from: *const u8,
        bytes: usize,
    ) -> Result<bool, LinkFault> {
        let front_bytes = RECORD_HEAD_BYTES + parts.iter().map(|part| part.len()).sum::<usize>();
        let Some(Sender { expanded, limits, process, socket, .. }) = &mut self.sender else {
            return Ok(false);
        };
        let has_rest = front_bytes.is_multiple_of(ALIGNMENT) && bytes.is_multiple_of(ALIGNMENT);
        if !has_rest || front_bytes > MOST_FRONT_BYTES {
            return Ok(false);
        }
        let record = (self.head, front_bytes, bytes);
        let Some(way) = makes_way(self.shared, expanded, *limits, *process, *socket, record)? else {
            return Ok(false);
        };
        let length = front_bytes - RECORD_HEAD_BYTES + bytes;
        // SAFETY: the lock is held, there is credit for the whole record, and so room in the ring.
        unsafe { self.write_front(length, parts) };
        let apart = Apart { head: self.head, front_bytes, from, bytes };
        let Some(Sender { expanded, limits, socket, .. }) = &mut self.sender else { return Ok(false) };
        // SAFETY: both locks are held; the front was just written, and the caller vouches for the rest.
        unsafe { send_apart(self.shared, expanded, *limits, *socket, way, apart) }?;
        self.head += (front_bytes + bytes) as u64;
        // All of it is sealed, and so is what was before it.
        self.tail = self.head;
        Ok(true)
    }
}

/// The longest front of a record whose rest is elsewhere, with its head.
pub(crate) const MOST_FRONT_BYTES: usize = 128;

/// The right to take records, which one process has at a time.
#[derive(Debug)]
pub struct Taker<'a> {
    shared: &'a Shared,
    ring: Ring,
    tail: u64,
    /// The last seen position up to which the ring is filled.
    head: u64,
    _held: Held<'a>,
}

impl<'a> Taker<'a> {
    #[inline]
    pub(crate) fn new(shared: &'a Shared, process: u32) -> Option<Self> {
        let state = shared.state();
        let held = shared.try_hold(&state.taking.lock, process)?;
        let (tail, head) = (state.taking.tail.load(Relaxed), state.receiving.head.load(Acquire));
        Some(Self { shared, ring: shared.incoming(), tail, head, _held: held })
    }

    /// The length of the next record that nobody has taken, if all of it is there; frees the room of those
    /// before it.
    #[inline]
    fn peek(&mut self) -> Result<Option<usize>, LinkFault> {
        while let Some(head) = self.head_at(self.tail)? {
            if !head.is_taken {
                return Ok(Some(head.length));
            }
            self.free(head.length);
        }
        Ok(None)
    }

    /// The head of the record at a position, the tail or one behind it, if all of the record is there.
    #[inline]
    fn head_at(&mut self, position: u64) -> Result<Option<Head>, LinkFault> {
        if position == self.head {
            self.head = self.shared.state().receiving.head.load(Acquire);
        }
        loop {
            let there = self.shared.distance(position, self.head)?;
            if there == 0 {
                return Ok(None);
            }
            // SAFETY: the lock is held, and what lies before the head was published: nobody writes it
            // without the lock before the tail has passed it. Positions are multiples of 8, or the distance
            // was an error.
            let head = unsafe { self.ring.read_head(position) };
            let head = head.filter(|head| head.length <= self.shared.layout.record_bytes());
            let head = head.ok_or_else(|| self.shared.fail(FaultKind::Memory, position))?;
            if whole_bytes(head.length) <= there {
                return Ok(Some(head));
            }
            let filled = self.shared.state().receiving.head.load(Acquire);
            if std::mem::replace(&mut self.head, filled) == filled {
                return Ok(None);
            }
        }
    }

    /// Frees the room of the record at the tail, of so many bytes.
    #[inline]
    fn free(&mut self, length: usize) {
        self.tail += whole_bytes(length) as u64;
        self.shared.state().taking.tail.store(self.tail, Release);
    }

    /// Shows the records that are there and that nobody has taken, from a position on that an earlier call
    /// has answered, or from the first; also those behind one that is left. Answers the position of the first
    /// that was not gone past.
    ///
    /// # Errors
    /// As [`Self::next`].
    #[inline]
    pub fn go_past(
        &mut self,
        from: u64,
        mut show: impl FnMut(Record<'_>) -> Verdict,
    ) -> Result<u64, LinkFault> {
        self.peek()?;
        let there = self.shared.distance(self.tail, self.head)? as u64;
        // Others may have taken meanwhile what was left.
        let mut at = if from.wrapping_sub(self.tail) <= there { from } else { self.tail };
        while let Some(Head { length, is_taken }) = self.head_at(at)? {
            if is_taken {
                if at == self.tail {
                    self.free(length);
                }
            } else {
                match show(Record { ring: &self.ring, at: at + RECORD_HEAD_BYTES as u64, length }) {
                    Verdict::Take if at == self.tail => self.free(length),
                    // SAFETY: the lock is held, and a head stands there, behind the tail.
                    Verdict::Take => unsafe { self.ring.write_head(at, Head { length, is_taken: true }) },
                    Verdict::Leave => {}
                    Verdict::Stop => return Ok(at),
                }
            }
            at += whole_bytes(length) as u64;
        }
        self.peek()?;
        Ok(at)
    }

    /// How many bytes of the ring records keep that lie between the first that nobody has taken and this
    /// position, with those that were taken there.
    pub fn kept_before(&self, position: u64) -> u64 {
        position.wrapping_sub(self.tail)
    }

    /// Shows the next record, if one is there, and frees its room if that answers something.
    ///
    /// # Errors
    /// As [`Self::next`].
    #[inline]
    pub fn take_if<T>(&mut self, show: impl FnOnce(Record<'_>) -> Option<T>) -> Result<Option<T>, LinkFault> {
        let Some(length) = self.peek()? else { return Ok(None) };
        let shown = show(Record { ring: &self.ring, at: self.tail + RECORD_HEAD_BYTES as u64, length });
        if shown.is_some() {
            self.free(length);
        }
        Ok(shown)
    }

    /// Hands over the next record, if one is there, and frees its room.
    ///
    /// # Errors
    /// What is in the ring is no record: shared memory is damaged, or the other end does not keep the rules.
    #[inline]
    pub fn next<T>(&mut self, handle: impl FnOnce(Record<'_>) -> T) -> Result<Option<T>, LinkFault> {
        self.take_if(|record| Some(handle(record)))
    }
}

/// What becomes of a record that is shown, in [`Taker::go_past`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is taken.
    Take,
    /// It stays, for somebody else.
    Leave,
    /// It stays, and so do all behind it.
    Stop,
}

/// A record in the incoming ring, while its taker shows it.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    ring: &'a Ring,
    at: u64,
    length: usize,
}

impl Record<'_> {
    /// Its length.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Copies what is behind `offset` to a buffer, and answers how much that was: as much as there is and as
    /// the buffer takes.
    #[inline]
    pub fn copy(&self, offset: usize, into: &mut [u8]) -> usize {
        // SAFETY: the buffer is borrowed, and no reference is made into the ring.
        unsafe { self.copy_to(offset, into.as_mut_ptr(), into.len()) }
    }

    /// [`Self::copy`] to where there is room for so many bytes.
    ///
    /// # Safety
    /// So many bytes can be written there, and they do not lie in the link.
    #[inline]
    pub unsafe fn copy_to(&self, offset: usize, to: *mut u8, room: usize) -> usize {
        let bytes = self.length.saturating_sub(offset).min(room);
        // SAFETY: the range lies in the record, which a taker shows: it holds the lock, and nobody writes
        // what is not taken. The destination is the caller's promise.
        unsafe { self.ring.read_to(self.at + offset.min(self.length) as u64, to, bytes) };
        bytes
    }

    /// Appends what is behind `offset` to a buffer.
    #[inline]
    pub fn append_to(&self, offset: usize, buffer: &mut Vec<u8>) {
        let (before, offset) = (buffer.len(), offset.min(self.length));
        let bytes = self.length - offset;
        buffer.reserve(bytes);
        // SAFETY: the range lies in the record, as above; the buffer has room for it, which is filled before
        // it counts.
        unsafe {
            self.ring.read_to(self.at + offset as u64, buffer.as_mut_ptr().add(before), bytes);
            buffer.set_len(before + bytes);
        }
    }
}

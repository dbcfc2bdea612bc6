//! Keeping: moves the bytes of a sender's messages that have no receive yet into the pools of their
//! receivers.
//!
//! The sender does so as the processor: nobody else pays for it. Without a slab left it moves what is in its
//! slabs, which are free then; when it has waited long, what is in its memory, which is buffered from then
//! on, and its send complete. Of those that it has found, the latest, it moves the oldest first, a bounded
//! number of bytes while it holds the token.
//! A synchronous send in memory stays where it is: it waits for its match anyway.
//!
//! What the sender has posted and no slice has taken is kept in its ring: with fixed slices that can be for
//! as long as a slice.

use crate::memory::descriptor::{
    Payload, PointToPoint, SendDescriptor, SendWords, is_send, keep_in_pool, origin_of,
};
use crate::memory::doorbell::RingKind;
use crate::memory::queue::UnexpectedMessages;
use crate::memory::request::Delivery;
use crate::memory::ring::Cell;
use crate::memory::slab::{BUFFERED_BYTES, slabs_of};
use crate::memory::unexpected::{ForWhom, UnexpectedPool};
use crate::memory::{Corrupt, LocalRank, NicMemory, RequestId};
use crate::threads::completer::Completer;
use crate::threads::eligible::Eligible;

/// Bytes that are moved while the token is held, at most, but for the last message.
const BYTES_AT_ONCE: u64 = 512 << 10;

/// What a rank knows of its messages that may have to be kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keeping {
    /// Sends that went by rendezvous and may be kept, as far as is known.
    pub(super) in_memory: u32,
    /// Looks since the last attempt.
    pub(super) looks: u32,
    /// The news of room before the last attempt, which found none for any of them.
    pub(super) refused: Option<u32>,
    /// Sends to come for which nothing is tried.
    pub(super) pausing: u32,
    /// Times in a row that it has waited in vain for slabs to come back.
    pub(super) in_vain: u32,
}

impl Keeping {
    /// A send has gone by rendezvous that may be kept.
    pub fn add(&mut self) {
        self.in_memory += 1;
        self.refused = None;
    }

    /// Whether there is nothing to be tried that could let this rank go on: then its waiting is evidence of a
    /// deadlock, and it may sleep.
    #[inline]
    pub fn is_settled(&self, memory: &NicMemory) -> bool {
        self.in_memory == 0 || self.refused == Some(memory.header().room.came())
    }
}

/// A rank, as the processor, that takes its own messages out of its slabs and its memory.
pub(crate) struct Keeper<'a, 'm> {
    /// NIC memory; the run token is held.
    pub memory: &'m NicMemory,
    /// Completes the sends that are buffered from now on.
    pub completer: &'a mut Completer<'m>,
    /// The rank, whose memory this process can read, and which fills no slabs now.
    pub sender: LocalRank,
    /// What is to be moved.
    pub wanted: Wanted,
    /// Whether a send is one that this rank has posted: what is in its memory is read where the send says.
    pub is_ours: &'a dyn Fn(&SendDescriptor) -> bool,
}

/// What of a rank's messages is to be moved, and how much at most: with so many found, nothing more is looked
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Those in so many of its slabs.
    Slabs(u32),
    /// So many in its memory, for whose sends it waits.
    Memory(u32),
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Messages that were moved.
    pub moved: u32,
    /// Those that were found and not moved.
    pub left: u32,
}

/// A message that can be moved.
struct Found<'m> {
    cell: &'m Cell,
    receiver: LocalRank,
    send: SendDescriptor,
}

impl Wanted {
    fn is_nothing(self) -> bool {
        matches!(self, Wanted::Slabs(0) | Wanted::Memory(0))
    }
}

impl<'m> Keeper<'_, 'm> {
    /// Moves what it can.
    ///
    /// # Errors
    /// NIC memory is corrupt.
    pub fn run(&mut self) -> Result<Kept, Corrupt> {
        let mut found = Vec::new();
        self.look_in_ring(&mut found)?;
        self.look_in_queues(&mut found)?;
        let (mut kept, mut moved_bytes) = (Kept::default(), 0);
        for message in found.iter().rev() {
            if moved_bytes < BYTES_AT_ONCE && self.keep(message)? {
                kept.moved += 1;
                moved_bytes += message.send.bytes;
            } else {
                kept.left += 1;
            }
        }
        Ok(kept)
    }

    /// What is in the sender's ring, the latest first.
    fn look_in_ring(&mut self, found: &mut Vec<Found<'m>>) -> Result<(), Corrupt> {
        let (memory, local_rank) = (self.memory, self.sender);
        let heads = memory.doorbell(local_rank)?.read();
        let posted = Eligible { local_rank, taken: memory.taken()[local_rank.index()].read(), heads };
        for cell in posted.cells(memory.rank(local_rank)?, RingKind::Send)?.rev() {
            let words = cell.read();
            if is_send(&words)
                && let Some(receiver) = memory.local_rank(SendWords(&words).destination())?
                && !memory.rank(receiver)?.claims.is_claimed(local_rank, cell.label())
                && let Some(message) = self.movable(cell, receiver)
            {
                found.push(message);
            }
        }
        Ok(())
    }

    /// What waits for a receive, the latest first: earlier ones were kept before, mostly.
    fn look_in_queues(&mut self, found: &mut Vec<Found<'m>>) -> Result<(), Corrupt> {
        let memory = self.memory;
        let origin = memory.job_rank(self.sender);
        for receiver in memory.local_ranks() {
            if self.wanted.is_nothing() {
                break;
            }
            UnexpectedMessages::of(memory, memory.rank(receiver)?).list().walk_back(memory, |cell| {
                if origin_of(cell) == origin
                    && let Some(message) = self.movable(cell, receiver)
                {
                    found.push(message);
                }
                self.wanted.is_nothing()
            })?;
        }
        Ok(())
    }

    fn movable(&mut self, cell: &'m Cell, receiver: LocalRank) -> Option<Found<'m>> {
        let Some(PointToPoint::Send(send)) = PointToPoint::decode(&cell.read()) else { return None };
        if send.bytes > BUFFERED_BYTES as u64 || !(self.is_ours)(&send) {
            return None;
        }
        match (&mut self.wanted, &send.payload) {
            (Wanted::Slabs(out), Payload::Slab(_)) => *out = out.saturating_sub(slabs_of(send.bytes)),
            (Wanted::Memory(sends), Payload::Memory(_)) if !send.synchronous => {
                *sends = sends.saturating_sub(1);
            }
            _ => return None,
        }
        Some(Found { cell, receiver, send })
    }

    /// Moves one message; false when its receiver's pool has no room for it.
    fn keep(&mut self, message: &Found<'m>) -> Result<bool, Corrupt> {
        let Found { cell, receiver, send } = message;
        let pool = UnexpectedPool::of(self.memory, *receiver)?;
        let from = match send.payload {
            Payload::Slab(first) => self.memory.run(self.sender, first, send.bytes)?.as_ptr().cast_const(),
            Payload::Memory(address) => address as *const u8,
            Payload::Inline(_) | Payload::Pooled(_) => return Ok(false),
        };
        // SAFETY: a run has room for the message and is the NIC's until it is given back; a message in memory
        // is one that this rank has posted, so it lies there, in this process, until its send is complete, as
        // its poster has promised.
        let Some(block) = (unsafe { pool.put(from, send.bytes, ForWhom::Rank(self.sender))? }) else {
            return Ok(false);
        };
        let in_memory = matches!(send.payload, Payload::Memory(_));
        pool.count_message();
        // Who sees the entry sees the bytes: both are read with the token, or after it.
        keep_in_pool(cell, block, in_memory);
        match send.payload {
            Payload::Slab(first) => {
                self.memory.rank(self.sender)?.returned.give_back(first, send.bytes);
            }
            _ if send.request != RequestId::NONE => {
                let to = (self.sender, send.request);
                self.completer.complete(to, send.status(), &Delivery::InPlace)?;
            }
            _ => {}
        }
        Ok(true)
    }
}

//! Claiming: a rank that waits for a message of one source on its node takes it out of the sender's ring
//! itself ([`crate::memory::claims`]). So a message costs the line that it lies in, and the two of its
//! payload if it has one: no request, no slice, and no word from whoever runs one.
//!
//! Messages are taken in MPI's order: only where no receive of this rank is under way and no message waits
//! for one, and only the first message of the source that nobody has taken. Where that is not so, or the
//! message is of a kind that its sender waits for, the receive is posted.

use super::error::PortError;
use super::rank_port::Port;
use crate::matching::Envelope;
use crate::memory::claims::CLAIMED_SENDERS;
use crate::memory::descriptor::{Check, INLINE_BYTES, SendWords, is_send};
use crate::memory::doorbell::{Heads, RingKind};
use crate::memory::few;
use crate::memory::ring::{Ring, Words};
use crate::memory::{CommRank, LocalRank, NicMemory, Rank, SEND_RING};
use crate::port::Outcome;
use crate::threads::buffer_receiver::BufferReceiver;
use crate::threads::eligible::Eligible;

/// A message in a sender's ring.
pub(super) struct Found {
    sender: LocalRank,
    /// Its place in the ring, as doorbells count.
    place: u32,
    label: u64,
    /// Its descriptor.
    words: Words,
}

impl Found {
    /// Its words.
    #[inline(always)]
    pub(super) fn message(&self) -> SendWords<'_> {
        SendWords(&self.words)
    }
}

impl Port {
    /// Receives a message from the rank of the job `peer` that has come, or comes while this rank polls. None
    /// when it is to be received by posting a receive.
    ///
    /// # Safety
    /// `data` must be writable for `room` bytes.
    ///
    /// # Errors
    /// The NIC fails, or the job ends.
    #[inline]
    pub unsafe fn claim_message(
        &mut self,
        envelope: &Envelope,
        peer: Rank,
        (data, room): (*mut u8, usize),
        may_poll: bool,
    ) -> Result<Option<Outcome>, PortError> {
        if !self.outstanding.is_empty() {
            return Ok(None);
        }
        let Some(sender) = self.sender_to_claim_from(envelope, peer)? else { return Ok(None) };
        let most = if may_poll { self.waiting.polls + self.waiting.claim_yields } else { 0 };
        let mut looks = 0;
        let found = loop {
            match self.first_message(sender)? {
                Some(found) => break found,
                None if looks == most || !self.is_first_in_order() => return Ok(None),
                None if looks < self.waiting.polls => {
                    self.ahead.fetch_line();
                    std::hint::spin_loop();
                }
                None => rustix::thread::sched_yield(),
            }
            looks += 1;
        };
        let (message, length) = (found.message().envelope(), found.message().length());
        let bytes = length.bytes();
        if !envelope.takes(&message) || bytes > room as u64 || !self.claim(&found, Check::NONE)? {
            return Ok(None);
        }
        if found.message().is_buffered_inline() {
            let inline = found.message().payload();
            // SAFETY: the message is no longer than the room, which the caller vouches for, nor than what is
            // inline.
            unsafe { few::copy(inline.as_ptr().cast(), data, (bytes as usize).min(INLINE_BYTES)) };
        } else if let Some(first) = found.message().slab() {
            let mut copied = 0;
            // SAFETY: as above.
            while !unsafe { self.copy_run(sender, first, bytes, Some((data, bytes)), &mut copied)? } {
                rustix::thread::sched_yield();
                if self.memory.header().abort.is_said() {
                    return Err(PortError::Aborted);
                }
            }
        }
        // Who receives as it sends posts no stream.
        self.offered = self.heads;
        Ok(Some(Outcome { source: message.source, tag: message.tag, length, cancelled: false }))
    }

    /// The source of a receive, if this rank may claim messages of it: one rank of its node.
    #[inline]
    pub(super) fn sender_to_claim_from(
        &self,
        envelope: &Envelope,
        peer: Rank,
    ) -> Result<Option<LocalRank>, PortError> {
        if envelope.source == CommRank::ANY_SOURCE || !self.pacing.lets_ranks_claim() {
            return Ok(None);
        }
        Ok(self.memory.local_rank(peer)?.filter(|sender| sender.index() < CLAIMED_SENDERS))
    }

    /// The first message of a rank for this one that nobody has taken.
    #[inline]
    pub(super) fn first_message(&mut self, sender: LocalRank) -> Result<Option<Found>, PortError> {
        let taken = self.memory.taken()[sender.index()].read().get(RingKind::Send);
        let (block, own) = (self.memory.rank(sender)?, self.memory.job_rank(self.local_rank));
        let claimed = self.block().claims.claimed(sender);
        let ring = Ring::new(&block.send);
        let seen = &mut self.seen[sender.index()];
        if Heads::distance(taken, *seen) > SEND_RING as u32 {
            *seen = taken;
        }
        // No ring has more entries than cells.
        for _ in 0..SEND_RING {
            let (place, cell) = (*seen, ring.cell(*seen));
            let label = cell.label();
            if Heads::of_label(label) != Heads::after(place) {
                return Ok(None);
            }
            let words = cell.read();
            if label > claimed && is_send(&words) && SendWords(&words).destination() == own {
                return Ok(Some(Found { sender, place, label, words }));
            }
            *seen = Heads::after(place);
        }
        Ok(None)
    }

    /// Whether no receive of this rank is under way, and no message waits for one. Asked after the message
    /// was found: what was taken out of the ring before it waits, or has been received.
    #[inline]
    pub(super) fn is_first_in_order(&self) -> bool {
        let taken = self.memory.taken()[self.local_rank.index()].read();
        self.heads.ahead_of(taken, RingKind::Receive) == 0 && self.block().queues.are_empty()
    }

    /// Claims a message about which its receiver says this. False when a slice has taken it, or is to take
    /// it.
    #[inline]
    pub(super) fn claim(&self, found: &Found, check: Check) -> Result<bool, PortError> {
        let Found { sender, place, label, .. } = *found;
        if !found.message().is_buffered(check) || !self.is_first_in_order() {
            return Ok(false);
        }
        let claims = &self.block().claims;
        let before = claims.claimed(sender);
        claims.claim(sender, label);
        if self.memory.token().looks_free() && is_in_ring(&self.memory, sender, place) {
            return Ok(true);
        }
        // Somebody runs a slice, or has done so since.
        self.as_processor(|memory| {
            let holds = is_in_ring(memory, sender, place) || claims.was_passed_over(sender, label);
            if !holds {
                claims.retract(sender, before);
            }
            holds
        })
    }

    /// This rank's ring of sends is full: takes those out of it that its receivers have claimed, unless a
    /// slice is under way. A slice would look at all ranks. EMDS counts what slices take.
    pub(super) fn pass_over_claimed(&self) {
        if !self.pacing.lets_ranks_claim() || !self.memory.emds_local().is_empty() {
            return;
        }
        let (local_rank, heads) = (self.local_rank, self.heads);
        let _ = self.processor().with_token(
            || false,
            |memory| {
                let taken = memory.taken()[local_rank.index()].peek();
                // What is corrupt the next slice finds, too.
                BufferReceiver::pass_over_claimed(memory, &Eligible { local_rank, taken, heads })
            },
        );
    }
}

/// Whether no slice has taken the entry at this place of a send ring, whose label was seen.
#[inline]
fn is_in_ring(memory: &NicMemory, sender: LocalRank, place: u32) -> bool {
    let taken = memory.taken()[sender.index()].read().get(RingKind::Send);
    Heads::distance(taken, place) < SEND_RING as u32
}

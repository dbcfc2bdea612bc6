//! Claiming: a rank that waits for a message of one source on its node takes it out of the sender's ring
//! itself ([`crate::memory::claims`]). So a message costs the line that it lies in, and the two of a short
//! payload: no request, no slice, and no word from whoever runs one.
//!
//! Messages are taken in MPI's order: only where no receive of this rank is under way and no message waits
//! for one, and only the first message of the source that nobody has taken. Where that is not so, or the
//! message is in its sender's memory and cannot be read there (`reading`), the receive is posted.

use super::error::PortError;
use super::rank_port::Port;
use crate::matching::Envelope;
use crate::memory::claims::CLAIMED_SENDERS;
use crate::memory::descriptor::{Check, INLINE_BYTES, SendWords, is_send};
use crate::memory::doorbell::{Heads, RingKind};
use crate::memory::few;
use crate::memory::request::Delivery;
use crate::memory::ring::{LABEL, Ring, Words};
use crate::memory::sync::{Ordering, fence};
use crate::memory::{CommRank, Corrupt, LocalRank, NicMemory, Rank, RequestId, SEND_RING};
use crate::port::Outcome;
use crate::threads::buffer_receiver::BufferReceiver;
use crate::threads::completer::Completer;
use crate::threads::eligible::Eligible;

/// A message in a sender's ring.
pub(super) struct Found {
    pub(super) sender: LocalRank,
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

    /// Whether no slice has taken it, and its sender has not kept it.
    #[inline]
    fn is_in_ring(&self, memory: &NicMemory) -> Result<bool, Corrupt> {
        let taken = memory.taken()[self.sender.index()].read().get(RingKind::Send);
        let cell = Ring::new(&memory.rank(self.sender)?.send).cell(self.place);
        let is_there = Heads::distance(taken, self.place) < SEND_RING as u32 && cell.label() == self.label;
        Ok(is_there && self.message().is_as_read(cell))
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
                Some(found) => break Some(found),
                None if looks == most || !self.is_first_in_order() => break None,
                None if looks == 0 => self.status().begin_looking(Some(sender)),
                None if looks < self.waiting.polls => {
                    self.ahead.fetch_line();
                    std::hint::spin_loop();
                }
                None => rustix::thread::sched_yield(),
            }
            looks += 1;
        };
        let outcome = match found {
            // SAFETY: the caller's promise.
            Some(found) => unsafe { self.take_found(envelope, &found, (data, room)) },
            None => Ok(None),
        };
        if looks > 0 {
            self.status().end_looking();
        }
        outcome
    }

    /// Claims a message that was found, if the receive takes it.
    #[inline(always)]
    unsafe fn take_found(
        &mut self,
        envelope: &Envelope,
        found: &Found,
        (data, room): (*mut u8, usize),
    ) -> Result<Option<Outcome>, PortError> {
        let (message, length) = (found.message().envelope(), found.message().length());
        let bytes = length.bytes();
        if !envelope.takes(&message) || bytes > room as u64 {
            return Ok(None);
        }
        // SAFETY: the message is no longer than the room, which the caller vouches for.
        if !unsafe { self.claim(found, Check::NONE, data)? } {
            return Ok(None);
        }
        if found.message().is_inline() {
            let inline = found.message().payload();
            // SAFETY: the message is no longer than the room, which the caller vouches for, nor than what is
            // inline.
            unsafe { few::copy(inline.as_ptr().cast(), data, (bytes as usize).min(INLINE_BYTES)) };
        } else if let Some(first) = found.message().slab() {
            let mut copied = 0;
            // SAFETY: as above.
            while !unsafe { self.copy_run(found.sender, first, bytes, Some((data, bytes)), &mut copied)? } {
                rustix::thread::sched_yield();
                if self.memory.header().abort.is_said() {
                    return Err(PortError::Aborted);
                }
            }
        }
        self.release_sender(found)?;
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
            if words[LABEL] != label {
                // A slice has taken it, and its cell is another message's.
                return Ok(None);
            }
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

    /// Claims a message about which its receiver says this; one in its sender's memory is then at `to`. False
    /// when a slice has taken it, or is to take it.
    ///
    /// # Safety
    /// `to` must be writable for the message's bytes.
    #[inline]
    pub(super) unsafe fn claim(
        &mut self,
        found: &Found,
        check: Check,
        to: *mut u8,
    ) -> Result<bool, PortError> {
        if !found.message().is_claimable(check) || !self.is_first_in_order() {
            return Ok(false);
        }
        let Some(from) = found.message().address() else { return self.claim_in_ring(found) };
        // SAFETY: the caller's promise.
        if !unsafe { self.read(found, from, to) } {
            return Ok(false);
        }
        let claimed = self.claim_in_ring(found)?;
        self.reading.note(claimed);
        Ok(claimed)
    }

    /// Claims a message, if no slice has taken it.
    #[inline]
    fn claim_in_ring(&self, found: &Found) -> Result<bool, PortError> {
        let Found { sender, label, .. } = *found;
        let claims = &self.block().claims;
        let before = claims.claimed(sender);
        claims.claim(sender, label);
        if self.memory.token().looks_free() && found.is_in_ring(&self.memory)? {
            return Ok(true);
        }
        // Somebody runs a slice, or has done so since.
        self.as_processor(|memory| {
            let holds = found.is_in_ring(memory)? || claims.was_passed_over(sender, label);
            if !holds {
                claims.retract(sender, before);
            }
            Ok(holds)
        })?
    }

    /// A message was claimed and is here: tells its sender, if that waits for it.
    #[inline]
    pub(super) fn release_sender(&self, found: &Found) -> Result<(), PortError> {
        match found.message().request() {
            RequestId::NONE => Ok(()),
            request => self.complete_send(found, request),
        }
    }

    #[inline(never)]
    fn complete_send(&self, found: &Found, request: RequestId) -> Result<(), PortError> {
        let (Envelope { source, tag, .. }, length) = (found.message().envelope(), found.message().length());
        self.memory.rank(found.sender)?.status.note_claim(self.local_rank);
        let mut completer = Completer::new(&self.memory, self.pacing);
        completer.complete((found.sender, request), (source, tag, length.word()), &Delivery::InPlace)?;
        fence(Ordering::SeqCst);
        self.wake(&completer.touched);
        Ok(())
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::keeper::{Kept, Wanted};
    use super::super::reading::MOST_READ_BYTES;
    use super::*;
    use crate::channel::CrossMemory;
    use crate::host::mapping::create_private;
    use crate::memory::Layout;
    use crate::memory::contexts::Context;
    use crate::memory::slab::SLAB_BYTES;
    use crate::memory::status::WaitingFor;
    use crate::memory::token::Holder;
    use crate::port::{Posted, Send, SendWait, now_ns};
    use crate::threads::processor::{Lent, Processor};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    const ENVELOPE: Envelope = Envelope { context: Context(2), source: CommRank(0), tag: 1 };

    /// The ports of two ranks, of which the first has no free slab: what does not ride in descriptors stays
    /// in its memory.
    fn ports() -> (Port, Port) {
        let memory = Arc::new(create_private(Layout::new(2, 2, [0; 2]).unwrap(), 0, 1).unwrap());
        memory.header().cross_memory.set(CrossMemory::WhereFaster as u32);
        memory.header().cores.set(2);
        let [mut sender, receiver] = [0, 1].map(|rank| Port::open(memory.clone(), LocalRank(rank)).unwrap());
        let returned = &memory.rank(LocalRank(0)).unwrap().returned;
        while sender.slabs.take(SLAB_BYTES, returned).is_some() {}
        (sender, receiver)
    }

    fn post(sender: &mut Port, message: &[u8]) -> Posted {
        let Envelope { context, source, tag } = ENVELOPE;
        let destination = Rank(1);
        let send =
            Send { context, source, tag, destination, synchronous: false, check: Check::NONE, signature: 0 };
        // SAFETY: the callers' messages outlive their sends.
        unsafe { sender.post_send_of(&send, message.as_ptr(), message.len(), SendWait::Now) }.unwrap()
    }

    /// The same with a message that is posted, and its request.
    fn with_message(message: &[u8]) -> (Port, Port, RequestId) {
        let (mut sender, receiver) = ports();
        let Posted::Request(request) = post(&mut sender, message) else { panic!("the message is in slabs") };
        (sender, receiver, request)
    }

    fn message(bytes: usize, salt: usize) -> Vec<u8> {
        (0..bytes).map(|i| (i / 7 + salt) as u8).collect()
    }

    #[test]
    fn a_message_that_its_sender_has_kept_is_claimed_by_nobody_and_received_once() {
        let message = message(20_000, 0);
        let (mut sender, mut receiver, request) = with_message(&message);
        let found = receiver.first_message(LocalRank(0)).unwrap().unwrap();
        assert_eq!(sender.keep(Wanted::Memory(1)).unwrap(), Some(Kept { moved: 1, left: 0 }));
        assert!(sender.test(request).unwrap().is_some(), "its sender goes on");
        let mut buffer = vec![0; message.len()];
        // SAFETY: the buffer is as long as the message.
        assert!(!unsafe { receiver.claim(&found, Check::NONE, buffer.as_mut_ptr()) }.unwrap());
        buffer.fill(0);
        // SAFETY: as above.
        let posted = unsafe { receiver.post_receive(&ENVELOPE, buffer.as_mut_ptr(), buffer.len()) }.unwrap();
        receiver.wait(&WaitingFor::SOMETHING, |port| port.test(posted)).unwrap();
        assert!(buffer == message);
        assert_eq!(receiver.memory.header().slice.matched.get(), 1);
    }

    #[test]
    fn a_message_that_its_receiver_has_claimed_is_not_kept() {
        let message = message(20_000, 0);
        let (mut sender, mut receiver, request) = with_message(&message);
        let found = receiver.first_message(LocalRank(0)).unwrap().unwrap();
        let mut buffer = vec![0; message.len()];
        // SAFETY: the buffer is as long as the message.
        assert!(unsafe { receiver.claim(&found, Check::NONE, buffer.as_mut_ptr()) }.unwrap());
        assert_eq!(sender.keep(Wanted::Memory(1)).unwrap(), Some(Kept::default()));
        assert!(sender.test(request).unwrap().is_none(), "its receiver has not said that it has it");
        receiver.release_sender(&found).unwrap();
        assert!(sender.test(request).unwrap().is_some());
        assert!(buffer == message);
        assert!(receiver.first_message(LocalRank(0)).unwrap().is_none());
    }

    #[test]
    fn messages_in_their_senders_memory_are_read_in_order_while_others_keep_and_run_slices() {
        const MESSAGES: usize = 3_000;
        let (mut sender, mut receiver) = ports();
        let memory = receiver.memory.clone();
        let bytes_of = |i: usize| [30_000, 8, MOST_READ_BYTES as usize, 140_000, 100][i % 5];
        let (begun, ends, mut claimed) = (AtomicUsize::new(0), AtomicBool::new(false), 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..MESSAGES {
                    let message = message(bytes_of(i), i);
                    // Mostly the receiver is first.
                    while i % 11 > 0 && begun.load(Ordering::Relaxed) <= i {
                        std::hint::spin_loop();
                    }
                    if let Posted::Request(request) = post(&mut sender, &message) {
                        sender
                            .wait_for(Some(request), &WaitingFor::SOMETHING, |port| port.test(request))
                            .unwrap();
                    }
                }
            });
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    let processor = Processor::new(&memory, Holder::NIC_THREAD);
                    while matches!(processor.lend(now_ns).unwrap(), Lent::Slice(_)) {}
                    std::thread::sleep(std::time::Duration::from_micros(300));
                }
            });
            let mut wrong = None;
            for i in 0..MESSAGES {
                let mut buffer = vec![0xaa; bytes_of(i)];
                let place = (buffer.as_mut_ptr(), buffer.len());
                begun.store(i + 1, Ordering::Relaxed);
                // SAFETY: the buffer is as long as it says, until the receive is complete.
                let taken = unsafe { receiver.claim_message(&ENVELOPE, Rank(0), place, i % 7 > 0) }.unwrap();
                claimed += usize::from(taken.is_some());
                let outcome = taken.unwrap_or_else(|| {
                    // SAFETY: as above.
                    let request = unsafe { receiver.post_receive(&ENVELOPE, place.0, place.1) }.unwrap();
                    receiver.wait(&WaitingFor::SOMETHING, |port| port.test(request)).unwrap()
                });
                if outcome.length.bytes() != bytes_of(i) as u64 || buffer != message(bytes_of(i), i) {
                    wrong.get_or_insert(i);
                }
            }
            ends.store(true, Ordering::Relaxed);
            assert_eq!(wrong, None, "the first message that is another one");
        });
        assert!((MESSAGES / 4..MESSAGES).contains(&claimed), "{claimed} were claimed");
    }
}

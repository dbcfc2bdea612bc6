//! Holding: a rank keeps the receives that it has begun to itself for a while, because it may claim their
//! messages (`claiming`). One whose message it does not find soon it posts, with all others.
//!
//! Invariant: receives that are held are younger than all that are posted. So whatever else is posted in the
//! ring of receives, or asks which message a receive would take, posts first what is held.

use super::claiming::Found;
use super::error::PortError;
use super::lending::{SOME_REQUESTS, Waiting};
use super::posting::about_receive;
use super::rank_port::{Held, Port};
use super::reading::MOST_READ_BYTES;
use crate::matching::Envelope;
use crate::memory::descriptor::{Check, ReceiveDescriptor};
use crate::memory::doorbell::RingKind;
use crate::memory::request::Delivery;
use crate::memory::slab::BUFFERED_BYTES;
use crate::memory::{LocalRank, RECEIVE_RING, Rank, RequestId};
use crate::port::outstanding::Purpose;
use crate::threads::completer::Completer;

/// Receives that are held at most: each look for a message passes over all of them.
const MOST_HELD: usize = 16;

const _: () = assert!(MOST_HELD <= RECEIVE_RING);

impl Port {
    /// Begins a receive as [`Self::post_receive_of`] does: its rank holds it, if it may find its message
    /// itself. Longer ones are posted, because their messages may begin to move while the rank computes.
    ///
    /// # Safety
    /// As there.
    ///
    /// # Errors
    /// The rank has no request left, or the NIC fails.
    #[inline(always)]
    pub unsafe fn begin_receive(
        &mut self,
        envelope: &Envelope,
        check: Check,
        peer: (Rank, u64),
        signature: u16,
        place: (*mut u8, usize),
    ) -> Result<RequestId, PortError> {
        // SAFETY: the caller's promise.
        unsafe { self.begin_receive_up_to(BUFFERED_BYTES, envelope, check, peer, signature, place) }
    }

    /// The same where the call that begins it waits for it: longer ones are held, too.
    ///
    /// # Safety
    /// As there.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub unsafe fn begin_awaited_receive(
        &mut self,
        envelope: &Envelope,
        peer: (Rank, u64),
        signature: u16,
        place: (*mut u8, usize),
    ) -> Result<RequestId, PortError> {
        let most = MOST_READ_BYTES as usize;
        // SAFETY: the caller's promise.
        unsafe { self.begin_receive_up_to(most, envelope, Check::NONE, peer, signature, place) }
    }

    #[inline(always)]
    unsafe fn begin_receive_up_to(
        &mut self,
        most_bytes: usize,
        envelope: &Envelope,
        check: Check,
        peer: (Rank, u64),
        signature: u16,
        place: (*mut u8, usize),
    ) -> Result<RequestId, PortError> {
        if self.expects_few_receives()
            && place.1 <= most_bytes
            && let Some(request) = self.hold(*envelope, check, peer, signature, place)?
        {
            return Ok(request);
        }
        // SAFETY: the caller's promise.
        unsafe { self.post_receive_of(envelope, check, peer, signature, place) }
    }

    /// Holds a receive, if its rank may claim its message.
    #[inline(never)]
    fn hold(
        &mut self,
        envelope: Envelope,
        check: Check,
        peer: (Rank, u64),
        signature: u16,
        place: (*mut u8, usize),
    ) -> Result<Option<RequestId>, PortError> {
        if self.held.len() == MOST_HELD || !self.is_first_in_order() {
            return Ok(None);
        }
        let Some(sender) = self.sender_to_claim_from(&envelope, peer.0)? else { return Ok(None) };
        let request = self.arm(Purpose::Receive, about_receive(&envelope, peer, signature, place))?;
        self.held.push(Held { request, sender, envelope, check });
        Ok(Some(request))
    }

    /// Counts a receive that begins; whether those that are outstanding at once are few, as far as the last
    /// ones tell. To hold the first ones of many, which all are posted soon, would be in vain.
    #[inline]
    fn expects_few_receives(&mut self) -> bool {
        if self.outstanding.is_empty() {
            self.begins_many = self.begun > MOST_HELD;
            self.begun = 0;
        }
        self.begun += 1;
        !self.begins_many
    }

    /// Whether receives are held.
    #[inline]
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Posts all receives that are held, in their order.
    ///
    /// # Errors
    /// The NIC fails.
    #[inline]
    pub fn post_held(&mut self) -> Result<(), PortError> {
        if self.held.is_empty() { Ok(()) } else { self.post_all_held() }
    }

    #[inline(never)]
    fn post_all_held(&mut self) -> Result<(), PortError> {
        for at in 0..self.held.len() {
            let Held { request, envelope, check, .. } = self.held[at];
            let (address, capacity) = self.outstanding.place(request).unwrap_or_default();
            let Envelope { context, source, tag } = envelope;
            let descriptor = ReceiveDescriptor { context, source, tag, capacity, check, request, address };
            // There is a cell: nothing was in the ring when the first one was held, and nothing has been
            // posted there since.
            self.post(RingKind::Receive, &descriptor.encode())?;
        }
        self.status().end_looking();
        self.held.clear();
        Ok(())
    }

    /// One step of a wait ([`Self::wait_step`]) while receives are held: claims their messages. None once
    /// they have been posted, because no message of theirs comes soon, or none that can be claimed, or
    /// something else is waited for.
    #[inline(never)]
    pub(super) fn step_held(&mut self, waiting: &mut Waiting) -> Result<Option<bool>, PortError> {
        self.status().begin_looking(None);
        if self.claim_held()? {
            // Who receives as it sends posts no stream.
            self.offered = self.heads;
            if self.held.is_empty() {
                self.status().end_looking();
            }
            waiting.restart();
            return Ok(Some(true));
        }
        let is_awaited = waiting.request == SOME_REQUESTS
            || self.held.iter().any(|held| held.request == waiting.request)
            || self.is_send_to_be_read(waiting.request);
        if !is_awaited || waiting.has_claimed_long() || !self.is_first_in_order() {
            self.post_held()?;
            return Ok(None);
        }
        self.ahead.fetch_line();
        let moved = self.move_bytes()?;
        Ok((!self.held.is_empty()).then_some(moved))
    }

    /// Whether this is a send whose receiver may read the message: both may be in `MPI_Sendrecv`.
    fn is_send_to_be_read(&self, request: RequestId) -> bool {
        self.outstanding.purpose(request) == Some(Purpose::Send)
            && self.outstanding.about(request).is_some_and(|about| about.bytes <= MOST_READ_BYTES)
    }

    /// Claims messages of receives that are held, as far as they have come; true if there were some. Posts
    /// all when there is a message that cannot be claimed.
    pub(super) fn claim_held(&mut self) -> Result<bool, PortError> {
        let (mut at, mut some) = (0, false);
        while let Some(&Held { sender, .. }) = self.held.get(at) {
            // Each source once: at its oldest receive.
            let is_oldest = self.held[..at].iter().all(|older| older.sender != sender);
            if !is_oldest || !self.claim_of(sender, &mut some)? {
                at += 1;
            }
        }
        Ok(some)
    }

    /// Claims the first message of a sender. False if there is none, or else its receive is held no more.
    #[inline]
    fn claim_of(&mut self, sender: LocalRank, some: &mut bool) -> Result<bool, PortError> {
        let Some(found) = self.first_message(sender)? else { return Ok(false) };
        let message = found.message().envelope();
        let takes = |held: &Held| held.sender == sender && held.envelope.takes(&message);
        let held = self.held.iter().position(takes);
        let Some(at) = held.filter(|&at| self.fits(&self.held[at], &found)) else {
            return self.post_held().map(|()| true);
        };
        let Held { request, check, .. } = self.held[at];
        let address = self.outstanding.place(request).map_or(0, |(address, _)| address);
        // SAFETY: `begin_receive`'s caller vouches for the buffer, in which the message fits.
        if !unsafe { self.claim(&found, check, address as *mut u8)? } {
            return self.post_held().map(|()| true);
        }
        self.held.remove(at);
        let to = (self.local_rank, request);
        let mut completer = Completer::new(&self.memory, self.pacing);
        match (found.message().slab(), found.message().address()) {
            (Some(slab), _) => completer.complete_in_slabs(to, found.message(), sender, slab)?,
            (None, Some(_)) => {
                let length = found.message().length().word();
                completer.complete(to, (message.source, message.tag, length), &Delivery::InPlace)?;
            }
            (None, None) => self.slot(request)?.complete_inline(found.message()),
        }
        self.release_sender(&found)?;
        *some = true;
        Ok(true)
    }

    /// Whether a message is as long as a receive wants it, if that is checked; one in its sender's memory is
    /// no longer than there is room.
    #[inline]
    fn fits(&self, held: &Held, found: &Found) -> bool {
        let (bytes, in_memory) = (found.message().length().bytes(), found.message().address().is_some());
        let has_room = |(_, room)| room == bytes || held.check == Check::NONE && room > bytes;
        held.check == Check::NONE && !in_memory || self.outstanding.place(held.request).is_some_and(has_room)
    }
}

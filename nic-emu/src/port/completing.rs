//! Completing: what the NIC says of a request, and its bytes in their place.
//!
//! A request that is complete is taken once; what carried its bytes (slot, slab, transfer) is free from then
//! on.

use super::error::PortError;
use super::rank_port::Port;
use crate::matching::Envelope;
use crate::memory::descriptor::Length;
use crate::memory::doorbell::RingKind;
use crate::memory::few;
pub use crate::memory::request::Outcome;
use crate::memory::request::{Delivery, RequestSlot, SLOT_PAYLOAD_BYTES, SlotState};
use crate::memory::{CommRank, Context, ENTRIES, FIRST_MATCHED_CONTEXT, NicMemory, RequestId};
use crate::threads::buffer_receiver;

/// Contexts that matched messages of a rank use in turn: more than messages can wait.
const MATCHED_CONTEXTS: u32 = 1 << 23;

const _: () =
    assert!(MATCHED_CONTEXTS as usize > ENTRIES && FIRST_MATCHED_CONTEXT.0 <= u32::MAX - MATCHED_CONTEXTS);

/// How a collective let a member go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Complete; a small result is here.
    Result([u8; crate::memory::request::SLOT_PAYLOAD_BYTES]),
    /// The member reads what it needs from this instance ([`crate::port::board`]), then departs.
    Instance(u32),
}

/// A receive that is complete, its message no longer than its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The sender's rank in the communicator.
    pub source: CommRank,
    /// The tag.
    pub tag: i32,
    /// Length of the message.
    pub bytes: u64,
}

impl Port {
    /// Looks whether a request is complete; takes it if it is, with the bytes in their place.
    #[inline]
    pub fn test(&mut self, request: RequestId) -> Result<Option<Outcome>, PortError> {
        if self.slot(request)?.is_pending() {
            return Ok(None);
        }
        if let Some(Received { source, tag, bytes }) = self.take_received(request) {
            return Ok(Some(Outcome { source, tag, length: Length::new(bytes, 0), cancelled: false }));
        }
        self.test_other(request)
    }

    /// Whether nothing has happened to an outstanding request yet: the cheapest look at it.
    #[inline(always)]
    pub fn is_pending(&self, request: RequestId) -> bool {
        self.block().requests.get(request.index()).is_some_and(RequestSlot::is_pending)
    }

    /// Takes a receive that is complete in the commonest way of all: a message without a signature that came
    /// in its descriptor, and fits. None if it is not, or not yet: then [`Self::test`] says more.
    #[inline(always)]
    pub fn take_received(&mut self, request: RequestId) -> Option<Received> {
        let (source, tag, bytes, payload) = self.slot(request).ok()?.inline_completion()?;
        let about = self.outstanding.plain(request)?;
        let (address, room) = (about.address as *mut u8, about.bytes);
        if bytes > room || bytes > SLOT_PAYLOAD_BYTES as u64 {
            return None;
        }
        // SAFETY: `post_receive`'s caller vouches for the buffer until now; the slot's payload has
        // SLOT_PAYLOAD_BYTES, and the processor is done with the slot.
        unsafe { few::copy(payload, address, bytes as usize) };
        self.outstanding.take(request);
        Some(Received { source, tag, bytes })
    }

    /// [`Self::test`] for all but the commonest end.
    #[inline(never)]
    pub(super) fn test_other(&mut self, request: RequestId) -> Result<Option<Outcome>, PortError> {
        let outcome = self.look(request)?;
        if outcome.is_some() {
            self.outstanding.take(request);
        }
        Ok(outcome)
    }

    /// Looks whether a request is complete, with the bytes in their place if it is; it is still to be taken
    /// by [`Self::test`].
    pub fn look(&mut self, request: RequestId) -> Result<Option<Outcome>, PortError> {
        let slot = self.slot(request)?;
        if !matches!(slot.state(), SlotState::Done | SlotState::Cancelled) {
            return Ok(None);
        }
        let (outcome, delivery) = slot.completion();
        if !self.outstanding.has_landed(request) {
            if !self.land(request, outcome.length.bytes(), &delivery)? {
                return Ok(None);
            }
            self.outstanding.set_landed(request);
        }
        Ok(Some(outcome))
    }

    /// Takes a request that [`Self::look`] found complete.
    pub fn take(&mut self, request: RequestId) {
        self.outstanding.take(request);
    }

    /// Puts a complete request's bytes in their place, as far as they are there, and gives back what carried
    /// them; false while some are to come.
    fn land(&mut self, request: RequestId, bytes: u64, delivery: &Delivery) -> Result<bool, PortError> {
        match *delivery {
            Delivery::InPlace => {}
            Delivery::ByTransfer(transfer) => self.leave(transfer, request)?,
            Delivery::InSlot(payload) => {
                if let Some((address, room)) = self.outstanding.place(request) {
                    let bytes = bytes.min(room) as usize;
                    // SAFETY: `post_receive`'s caller vouches for the buffer until now; a slot's payload is
                    // at least as long as any inline message.
                    unsafe { few::copy(payload.as_ptr(), address as *mut u8, bytes.min(payload.len())) };
                }
            }
            Delivery::InSlab { owner, slab } => return self.drain(request, owner, slab, bytes),
            Delivery::InPool(block) => self.take_from_pool(request, block, bytes)?,
        }
        Ok(true)
    }

    /// Looks at a collective's request: complete with a small result, released to read from the instance, or
    /// neither.
    ///
    /// # Errors
    /// Members called what does not fit.
    #[inline]
    pub fn test_collective(&mut self, request: RequestId) -> Result<Option<Release>, PortError> {
        let slot = self.slot(request)?;
        let release = match slot.state() {
            SlotState::Done => Ok(Some(Release::Result(slot.payload()))),
            SlotState::Released => Ok(Some(Release::Instance(slot.reference()))),
            SlotState::Refused => Err(self.broken(slot.reference())),
            _ => return Ok(None),
        };
        self.outstanding.take(request);
        release
    }

    /// The oldest message that a receive with this envelope would take, if one has arrived: its source, tag
    /// and length. Runs a slice first, so that what was posted before is seen.
    pub fn probe(&mut self, envelope: &Envelope) -> Result<Option<Outcome>, PortError> {
        self.look_for(envelope, None)
    }

    /// Takes the oldest message that a receive with this envelope would take, if one has arrived: from now on
    /// a receive in the context that is answered, which is this message's alone, takes it, and nothing else
    /// does.
    pub fn probe_matched(&mut self, envelope: &Envelope) -> Result<Option<(Outcome, Context)>, PortError> {
        let matched = Context(FIRST_MATCHED_CONTEXT.0 + self.next_matched);
        let found = self.look_for(envelope, Some(matched))?;
        Ok(found.map(|outcome| {
            self.next_matched = (self.next_matched + 1) % MATCHED_CONTEXTS;
            (outcome, matched)
        }))
    }

    /// Posts what is held, moves bytes, because others may wait for that while this rank does nothing but
    /// look, runs a slice, drives the links, and then looks at the NIC's queues as the processor. While a
    /// receive that was posted before is in its ring, which no slice has taken, nothing is found: that
    /// receive comes first.
    fn look_for(
        &mut self,
        envelope: &Envelope,
        matched: Option<Context>,
    ) -> Result<Option<Outcome>, PortError> {
        self.post_held()?;
        self.move_bytes()?;
        self.lend()?;
        self.drive_links()?;
        self.leave_unsent();
        let (heads, local_rank) = (self.heads, self.local_rank);
        let found = self.as_processor(|memory| {
            match heads.ahead_of(memory.taken()[local_rank.index()].read(), RingKind::Receive) {
                0 => buffer_receiver::probe(memory, local_rank, envelope, matched),
                _ => Ok(None),
            }
        })??;
        Ok(found.map(|message| Outcome {
            source: message.send.source,
            tag: message.send.tag,
            length: message.send.length(),
            cancelled: false,
        }))
    }

    /// Takes the token, waiting for it if need be, and calls `with`.
    ///
    /// # Errors
    /// The job is being ended.
    pub(super) fn as_processor<R>(&self, with: impl FnOnce(&NicMemory) -> R) -> Result<R, PortError> {
        let mut tries = 0;
        let pause = || {
            tries += 1;
            if tries > 100 {
                rustix::thread::sched_yield();
            }
            !self.memory.header().abort.is_said()
        };
        self.processor().with_token(pause, with).ok_or(PortError::Aborted)
    }
}

//! Completing: what the NIC says of a request, and its bytes in their place.
//!
//! A request that is complete is taken once; what carried its bytes (slot, slab, transfer) is free from then on.

use super::posting::copy_small;
use super::{Port, PortError};
use crate::matching::Envelope;
use crate::outstanding::Purpose;
use crate::request::{Delivery, SLOT_PAYLOAD_BYTES, SlotState};
use crate::sync::Ordering;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The sender's rank in the communicator.
    pub source: u32,
    /// The tag.
    pub tag: i32,
    /// Length of the message; more than the receive's capacity means that it was truncated.
    pub bytes: u64,
    /// It was cancelled.
    pub cancelled: bool,
}

/// How a collective let a member go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Complete; a small result is here.
    Result([u8; crate::request::SLOT_PAYLOAD_BYTES]),
    /// The member reads what it needs from this instance ([`crate::board`]), then departs.
    Instance(u32),
}

impl Port {
    /// Looks whether a request is complete; takes it if it is, with the bytes in their place.
    #[inline]
    pub fn test(&mut self, request: u32) -> Result<Option<Outcome>, PortError> {
        let slot = self.memory.request(self.local_index, request)?;
        if slot.is_pending() {
            return Ok(None);
        }
        if let Some((source, tag, bytes, payload)) = slot.inline_completion() {
            if let Some(Purpose::Receive { address, capacity }) = self.outstanding.take(request) {
                let length = bytes.min(capacity).min(SLOT_PAYLOAD_BYTES as u64) as usize;
                // SAFETY: `post_receive`'s caller vouches for the buffer until now; the slot's payload has SLOT_PAYLOAD_BYTES, and
                // the processor is done with the slot.
                unsafe { copy_small(payload, address as *mut u8, length) };
            }
            return Ok(Some(Outcome { source, tag, bytes, cancelled: false }));
        }
        self.test_other(request)
    }

    /// [`Self::test`] for all but the commonest end.
    #[inline(never)]
    pub(super) fn test_other(&mut self, request: u32) -> Result<Option<Outcome>, PortError> {
        let slot = self.memory.request(self.local_index, request)?;
        if !matches!(slot.state(), SlotState::Done | SlotState::Cancelled) {
            return Ok(None);
        }
        let completion = slot.completion();
        if let Delivery::InSlab { owner, slab } = completion.delivery
            && !self.drain(request, owner, slab, completion.bytes)?
        {
            return Ok(None);
        }
        let purpose = self.outstanding.take(request);
        match completion.delivery {
            Delivery::InPlace => {}
            Delivery::ByTransfer(transfer) => self.leave(transfer, request)?,
            Delivery::InSlot(payload) => {
                if let Some(Purpose::Receive { address, capacity }) = purpose {
                    let bytes = completion.bytes.min(capacity) as usize;
                    // SAFETY: `post_receive`'s caller vouches for the buffer until now; a slot's payload is at least as long
                    // as any inline message.
                    unsafe { copy_small(payload.as_ptr(), address as *mut u8, bytes.min(payload.len())) };
                }
            }
            Delivery::InSlab { .. } => {}
        }
        Ok(Some(Outcome {
            source: completion.source,
            tag: completion.tag,
            bytes: completion.bytes,
            cancelled: completion.cancelled,
        }))
    }

    /// Looks at a collective's request: complete with a small result, released to read from the instance, or neither.
    #[inline]
    pub fn test_collective(&mut self, request: u32) -> Result<Option<Release>, PortError> {
        let slot = self.memory.request(self.local_index, request)?;
        match slot.state() {
            SlotState::Done => {
                let payload = slot.payload();
                self.outstanding.take(request);
                Ok(Some(Release::Result(payload)))
            }
            SlotState::Released => {
                let instance = slot.reference();
                self.outstanding.take(request);
                Ok(Some(Release::Instance(instance)))
            }
            _ => Ok(None),
        }
    }

    /// The oldest message that a receive with this envelope would take, if one has arrived: its source, tag and length. Runs a slice first, so that
    /// what was posted before is seen.
    pub fn probe(&mut self, envelope: &Envelope) -> Result<Option<Outcome>, PortError> {
        self.lend()?;
        let local_index = self.local_index;
        let memory = self.memory.clone();
        let mut tries = 0;
        let give_up = || {
            tries += 1;
            if tries > 100 {
                rustix::thread::sched_yield();
            }
            memory.header().aborted.0.load(Ordering::Relaxed) == 0
        };
        let found = self
            .processor()
            .with_token(give_up, |memory| crate::buffer_receiver::probe(memory, local_index, envelope))
            .ok_or(PortError::Aborted)??;
        Ok(found.map(|message| Outcome {
            source: message.send.source,
            tag: message.send.tag,
            bytes: message.send.bytes,
            cancelled: false,
        }))
    }
}

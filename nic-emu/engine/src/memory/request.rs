//! Request slots: where the NIC tells a rank what became of a descriptor (the completion words of design §4).
//!
//! A slot is one cache line. The rank picks a free one, names it in the descriptor and waits for its state;
//! the NIC fills the line and publishes the state last. Small payloads and small results come in the same
//! line, so that one transfer of a cache line brings everything.

use crate::memory::descriptor::{Length, SendWords};
use crate::memory::numbers::{CommRank, SlabId};
use crate::memory::sync::{AtomicU64, Ordering};
use bcs_core::LocalRank;

/// Bytes of payload or result that fit in a slot.
pub const SLOT_PAYLOAD_BYTES: usize = 32;

/// State of a request slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SlotState {
    /// Nothing has happened yet.
    Pending = 0,
    /// Matched: the bytes move by the transfer `reference`; both ends may help.
    Moving = 1,
    /// Released from a collective: the rank reads what it needs from instance `reference`, then departs.
    Released = 2,
    /// Complete: status and, if `payload` says so, bytes are in the slot or in a slab.
    Done = 3,
    /// Complete, but taken back before it was matched (`MPI_Cancel`).
    Cancelled = 4,
    /// Refused, because its communicator is broken: `reference` is the breach ([`crate::threads::breach`]).
    Refused = 5,
}

/// Where the bytes of a completed receive are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Already in place, or there are none.
    InPlace,
    /// In place, moved by this transfer.
    ByTransfer(u32),
    /// In the slot's payload.
    InSlot([u8; SLOT_PAYLOAD_BYTES]),
    /// In slab `slab` of the rank `owner`; the reader frees it.
    InSlab {
        /// The slab's owner.
        owner: LocalRank,
        /// Its number there.
        slab: SlabId,
    },
    /// In this block of the rank's own pool ([`crate::memory::unexpected`]); the reader gives it back.
    InPool(u64),
}

impl Delivery {
    /// In the slot: bytes that fit there.
    #[inline]
    pub(crate) fn in_slot(bytes: &[u8]) -> Self {
        let mut payload = [0; SLOT_PAYLOAD_BYTES];
        payload[..bytes.len()].copy_from_slice(bytes);
        Self::InSlot(payload)
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The sender's rank in the communicator.
    pub source: CommRank,
    /// The message's tag.
    pub tag: i32,
    /// The message's length; more than the receive's capacity means that it was truncated.
    pub length: Length,
    /// True when it was cancelled.
    pub cancelled: bool,
}

/// A request slot in NIC memory.
///
/// ```text
///  word 0   state:32 | delivery:32       published last, in one store
///       1   source:32 | tag:32           packed as in a send descriptor, from which it is copied
///       2   bytes:48 | signature:16      the same
///       3   reference:32 | owner:32      by state and delivery: the transfer, the instance, the breach, or the slab and its owner;
///                                        or the block of a pool, 64 bits
///      4-7  payload
/// ```
#[repr(C, align(64))]
pub struct RequestSlot {
    state: AtomicU64,
    envelope: AtomicU64,
    length: AtomicU64,
    reference: AtomicU64,
    payload: [AtomicU64; SLOT_PAYLOAD_BYTES / 8],
}

const _: () = assert!(size_of::<RequestSlot>() == 64, "a request slot is one cache line");

const IN_PLACE: u64 = 0;
const IN_SLOT: u64 = 1 << 32;
const IN_SLAB: u64 = 2 << 32;
const BY_TRANSFER: u64 = 3 << 32;
const IN_POOL: u64 = 4 << 32;

impl RequestSlot {
    /// Makes the slot ready for a new request; only its rank does, before it posts.
    #[inline]
    pub fn arm(&self) {
        self.state.store(SlotState::Pending as u64, Ordering::Relaxed);
    }

    /// True while nothing has happened: what a rank that polls sees nearly always.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.state.load(Ordering::Acquire) == SlotState::Pending as u64
    }

    /// The slot's state; what was written before it was published is seen.
    #[inline]
    pub fn state(&self) -> SlotState {
        match self.state.load(Ordering::Acquire) as u32 {
            1 => SlotState::Moving,
            2 => SlotState::Released,
            3 => SlotState::Done,
            4 => SlotState::Cancelled,
            5 => SlotState::Refused,
            _ => SlotState::Pending,
        }
    }

    /// For a receive that is complete with its bytes in the slot, the commonest end of all: source and tag,
    /// the message's bytes, and the address of the slot's copy of them. The bytes are above all limits where
    /// the message has a signature.
    #[inline]
    pub fn inline_completion(&self) -> Option<(CommRank, i32, u64, *const u8)> {
        if self.state.load(Ordering::Acquire) != SlotState::Done as u64 | IN_SLOT {
            return None;
        }
        let envelope = self.envelope.load(Ordering::Relaxed);
        let bytes = self.length.load(Ordering::Relaxed);
        Some((CommRank(envelope as u32), (envelope >> 32) as i32, bytes, self.payload.as_ptr().cast()))
    }

    /// The transfer, instance or breach that a moving, released or refused slot refers to.
    #[inline]
    pub fn reference(&self) -> u32 {
        self.reference.load(Ordering::Relaxed) as u32
    }

    /// Reads a completed slot: how the request ended, and where the bytes are.
    #[inline]
    pub fn completion(&self) -> (Outcome, Delivery) {
        let state = self.state.load(Ordering::Relaxed);
        let delivery = match state & !(u32::MAX as u64) {
            IN_SLOT => Delivery::InSlot(self.payload()),
            BY_TRANSFER => Delivery::ByTransfer(self.reference()),
            IN_POOL => Delivery::InPool(self.reference.load(Ordering::Relaxed)),
            IN_SLAB => {
                let reference = self.reference.load(Ordering::Relaxed);
                Delivery::InSlab {
                    owner: LocalRank((reference >> 32) as u32),
                    slab: SlabId(reference as u32),
                }
            }
            _ => Delivery::InPlace,
        };
        let envelope = self.envelope.load(Ordering::Relaxed);
        let outcome = Outcome {
            source: CommRank(envelope as u32),
            tag: (envelope >> 32) as i32,
            length: Length::from_word(self.length.load(Ordering::Relaxed)),
            cancelled: state as u32 == SlotState::Cancelled as u32,
        };
        (outcome, delivery)
    }

    /// The payload words as bytes.
    #[inline]
    pub fn payload(&self) -> [u8; SLOT_PAYLOAD_BYTES] {
        let mut bytes = [0; SLOT_PAYLOAD_BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(&self.payload) {
            chunk.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        bytes
    }

    /// Writes the status words, not yet the state; `length` is the word of a message's bytes and signature.
    #[inline]
    pub(crate) fn write_status(&self, source: CommRank, tag: i32, length: u64) {
        self.envelope.store(source.0 as u64 | (tag as u32 as u64) << 32, Ordering::Relaxed);
        self.length.store(length, Ordering::Relaxed);
    }

    /// The same of a message, from its descriptor's words.
    #[inline]
    pub(crate) fn write_status_words(&self, send: SendWords<'_>) {
        self.envelope.store(send.status_word(), Ordering::Relaxed);
        self.length.store(send.length().word(), Ordering::Relaxed);
    }

    /// Completes the slot of a receive with a message that came in its descriptor: the shortest way that a
    /// message can take.
    #[inline]
    pub fn complete_inline(&self, send: SendWords<'_>) {
        let kind = self.write_inline(send);
        self.publish(SlotState::Done, kind);
    }

    /// Writes what a message says that came in its descriptor, and its bytes, from the descriptor's words.
    #[inline]
    pub(crate) fn write_inline(&self, send: SendWords<'_>) -> DeliveryKind {
        self.write_status_words(send);
        for (to, &word) in self.payload.iter().zip(send.payload()) {
            to.store(word, Ordering::Relaxed);
        }
        DeliveryKind(IN_SLOT)
    }

    /// Writes where the bytes are; answers what [`Self::publish`] says of it.
    #[inline]
    pub(crate) fn write_delivery(&self, delivery: &Delivery) -> DeliveryKind {
        DeliveryKind(match delivery {
            Delivery::InPlace => IN_PLACE,
            Delivery::ByTransfer(transfer) => {
                self.reference.store(*transfer as u64, Ordering::Relaxed);
                BY_TRANSFER
            }
            Delivery::InSlot(bytes) => {
                for (word, chunk) in self.payload.iter().zip(bytes.chunks_exact(8)) {
                    word.store(u64::from_ne_bytes(chunk.try_into().expect("eight bytes")), Ordering::Relaxed);
                }
                IN_SLOT
            }
            Delivery::InSlab { owner, slab } => {
                self.reference.store(slab.0 as u64 | (owner.0 as u64) << 32, Ordering::Relaxed);
                IN_SLAB
            }
            Delivery::InPool(block) => {
                self.reference.store(*block, Ordering::Relaxed);
                IN_POOL
            }
        })
    }

    /// Points a moving, released or refused slot at its transfer, instance or breach.
    #[inline]
    pub(crate) fn write_reference(&self, reference: u32) {
        self.reference.store(reference as u64, Ordering::Relaxed);
    }

    /// Publishes the slot in this state; everything written before is seen by who sees the state.
    #[inline]
    pub(crate) fn publish(&self, state: SlotState, delivery: DeliveryKind) {
        self.state.store(state as u64 | delivery.0, Ordering::Release);
    }
}

/// How a slot's bytes are delivered, as its state word says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeliveryKind(pub(crate) u64);

impl DeliveryKind {
    /// For slots that deliver no bytes.
    pub(crate) const NONE: Self = Self(IN_PLACE);
}

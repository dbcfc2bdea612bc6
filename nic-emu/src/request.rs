//! Request slots: where the NIC tells a rank what became of a descriptor (the completion words of design §4).
//!
//! A slot is one cache line. The rank picks a free one, names it in the descriptor and waits for its state; the NIC
//! fills the line and publishes the state last. Small payloads and small results come in the same line, so that one
//! transfer of a cache line brings everything.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

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
    /// In slab `slab` of the rank with local index `owner`; the reader frees it.
    InSlab {
        /// Local index of the slab's owner.
        owner: u32,
        /// Its number there.
        slab: u32,
    },
}

/// What a completed request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The sender's rank in the communicator.
    pub source: u32,
    /// The message's tag.
    pub tag: i32,
    /// The message's length; more than the receive's capacity means that it was truncated.
    pub bytes: u64,
    /// True when it was cancelled.
    pub cancelled: bool,
    /// Where the bytes are.
    pub delivery: Delivery,
}

/// A request slot in NIC memory.
///
/// `reference` and `owner` say, by state: the transfer, the collective instance, or the slab and its owner.
#[repr(C, align(64))]
pub struct RequestSlot {
    state: AtomicU32,
    source: AtomicU32,
    tag: AtomicU32,
    delivery: AtomicU32,
    bytes: AtomicU64,
    reference: AtomicU32,
    owner: AtomicU32,
    payload: [AtomicU64; SLOT_PAYLOAD_BYTES / 8],
}

const _: () = assert!(size_of::<RequestSlot>() == 64, "a request slot is one cache line");

const IN_PLACE: u32 = 0;
const IN_SLOT: u32 = 1;
const IN_SLAB: u32 = 2;
const BY_TRANSFER: u32 = 3;

impl RequestSlot {
    /// Makes the slot ready for a new request; only its rank does, before it posts.
    #[inline]
    pub fn arm(&self) {
        self.state.store(SlotState::Pending as u32, Ordering::Relaxed);
    }

    /// The slot's state; what was written before it was published is seen.
    #[inline]
    pub fn state(&self) -> SlotState {
        match self.state.load(Ordering::Acquire) {
            1 => SlotState::Moving,
            2 => SlotState::Released,
            3 => SlotState::Done,
            4 => SlotState::Cancelled,
            _ => SlotState::Pending,
        }
    }

    /// The transfer or instance that a moving or released slot refers to.
    #[inline]
    pub fn reference(&self) -> u32 {
        self.reference.load(Ordering::Relaxed)
    }

    /// Reads a completed slot.
    #[inline]
    pub fn completion(&self) -> Completion {
        let delivery = match self.delivery.load(Ordering::Relaxed) {
            IN_SLOT => Delivery::InSlot(self.payload()),
            BY_TRANSFER => Delivery::ByTransfer(self.reference.load(Ordering::Relaxed)),
            IN_SLAB => Delivery::InSlab {
                owner: self.owner.load(Ordering::Relaxed),
                slab: self.reference.load(Ordering::Relaxed),
            },
            _ => Delivery::InPlace,
        };
        Completion {
            source: self.source.load(Ordering::Relaxed),
            tag: self.tag.load(Ordering::Relaxed) as i32,
            bytes: self.bytes.load(Ordering::Relaxed),
            cancelled: self.state.load(Ordering::Relaxed) == SlotState::Cancelled as u32,
            delivery,
        }
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

    /// Writes the status words, not yet the state.
    #[inline]
    pub(crate) fn write_status(&self, source: u32, tag: i32, bytes: u64) {
        self.source.store(source, Ordering::Relaxed);
        self.tag.store(tag as u32, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Writes the delivery words, not yet the state.
    #[inline]
    pub(crate) fn write_delivery(&self, delivery: &Delivery) {
        match delivery {
            Delivery::InPlace => self.delivery.store(IN_PLACE, Ordering::Relaxed),
            Delivery::ByTransfer(transfer) => {
                self.reference.store(*transfer, Ordering::Relaxed);
                self.delivery.store(BY_TRANSFER, Ordering::Relaxed);
            }
            Delivery::InSlot(bytes) => {
                for (word, chunk) in self.payload.iter().zip(bytes.chunks_exact(8)) {
                    word.store(u64::from_ne_bytes(chunk.try_into().expect("eight bytes")), Ordering::Relaxed);
                }
                self.delivery.store(IN_SLOT, Ordering::Relaxed);
            }
            Delivery::InSlab { owner, slab } => {
                self.owner.store(*owner, Ordering::Relaxed);
                self.reference.store(*slab, Ordering::Relaxed);
                self.delivery.store(IN_SLAB, Ordering::Relaxed);
            }
        }
    }

    /// Points a moving or released slot at its transfer or instance.
    #[inline]
    pub(crate) fn write_reference(&self, reference: u32) {
        self.reference.store(reference, Ordering::Relaxed);
    }

    /// Publishes the slot in this state; everything written before is seen by who sees the state.
    #[inline]
    pub(crate) fn publish(&self, state: SlotState) {
        self.state.store(state as u32, Ordering::Release);
    }
}

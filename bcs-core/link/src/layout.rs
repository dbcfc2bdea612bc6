//! How large a link is, and where its parts lie.
//!
//! ```text
//! 0          4 KB              frame_room               2 × frame_room      ring            ring
//! ┌──────────┬─────────────────┬───────────────────────┬──────────────────┬───────────────┐
//! │ state    │ frame that is   │ stage: frames as they │ outgoing records │ incoming      │
//! │ (`state`)│ being sent      │ came from the socket  │                  │ records       │
//! └──────────┴─────────────────┴───────────────────────┴──────────────────┴───────────────┘
//! ```
//!
//! A link that is not used takes up no memory but addresses: nothing here has to be written before its use,
//! and all zeros is a link that is free.

use super::frame::{HEADER_BYTES, TAG_BYTES};

/// The most bytes of records in one frame: those of a record with a payload of 64 KB, and its heads.
const FRAME_PAYLOAD_BYTES: usize = (64 << 10) + 1024;

/// The most bytes of records that share a system call with the rest of a record, sealed where it lies.
const FRONT_BYTES: usize = 4 << 10;

/// Rings smaller than this hold no useful record; larger ones only make a slow receiver's sender wait later.
const RING_BYTES: std::ops::RangeInclusive<usize> = 4 << 10..=64 << 20;

/// What stands before each record in a ring.
pub(crate) const RECORD_HEAD_BYTES: usize = 8;

/// Everything in a ring begins and ends at a multiple of this.
pub(crate) const ALIGNMENT: usize = 8;

/// Parts begin at multiples of this, and so do links.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Links begin at multiples of this.
pub const LINK_ALIGNMENT: usize = PAGE_BYTES;

/// The room for the state.
pub(crate) const STATE_BYTES: usize = PAGE_BYTES;

const _: () = assert!(FRAME_PAYLOAD_BYTES.is_multiple_of(ALIGNMENT), "frames hold whole words of the ring");
const _: () = assert!(RECORD_HEAD_BYTES.is_multiple_of(ALIGNMENT), "the head of a record never wraps");

/// A size that rings cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rings of {0} bytes cannot be: a power of two from 4 KB to 64 MB is needed")]
pub struct RingBytesError(pub usize);

/// The sizes of a link. Both ends of a link have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkLayout {
    ring_bytes: usize,
}

impl Default for LinkLayout {
    /// 256 KB in each direction.
    fn default() -> Self {
        Self { ring_bytes: 256 << 10 }
    }
}

impl LinkLayout {
    /// A link with rings of this size, one in each direction.
    ///
    /// # Errors
    /// The size is no power of two from 4 KB to 64 MB.
    pub fn new(ring_bytes: usize) -> Result<Self, RingBytesError> {
        match RING_BYTES.contains(&ring_bytes) && ring_bytes.is_power_of_two() {
            true => Ok(Self { ring_bytes }),
            false => Err(RingBytesError(ring_bytes)),
        }
    }

    /// The size of each ring.
    pub fn ring_bytes(&self) -> usize {
        self.ring_bytes
    }

    /// How much shared memory a link takes: whole pages.
    pub fn bytes(&self) -> usize {
        self.incoming_at() + self.ring_bytes
    }

    /// The longest record. Two of them fit into a ring, so one that waits always gets its room.
    pub fn record_bytes(&self) -> usize {
        FRAME_PAYLOAD_BYTES.min(self.ring_bytes / 2) - RECORD_HEAD_BYTES
    }

    /// The most bytes of records in one frame.
    pub(crate) fn frame_payload_bytes(&self) -> usize {
        FRAME_PAYLOAD_BYTES.min(self.ring_bytes)
    }

    /// The most bytes of records before a rest that is sent with them, the front of its record among them.
    pub(crate) fn front_bytes(&self) -> usize {
        FRONT_BYTES.min(self.ring_bytes / 4)
    }

    /// The longest frame and the frame of a front before it, in whole pages.
    pub(crate) fn frame_room(&self) -> usize {
        let payloads = self.front_bytes() + self.frame_payload_bytes();
        (2 * (HEADER_BYTES + TAG_BYTES) + payloads).next_multiple_of(PAGE_BYTES)
    }

    /// The room for what has come: a frame in part, and another one behind it.
    pub(crate) fn stage_bytes(&self) -> usize {
        2 * self.frame_room()
    }

    pub(crate) fn frame_at(&self) -> usize {
        STATE_BYTES
    }

    pub(crate) fn stage_at(&self) -> usize {
        self.frame_at() + self.frame_room()
    }

    /// Where the other end writes its signal, if it writes into this memory: behind the link's own.
    pub fn signal_at(&self) -> usize {
        self.bytes()
    }

    /// Where the outgoing ring begins: at a page.
    pub fn outgoing_at(&self) -> usize {
        self.stage_at() + self.stage_bytes()
    }

    /// Where the incoming ring begins: at a page, and with it the link's memory ends.
    pub fn incoming_at(&self) -> usize {
        self.outgoing_at() + self.ring_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_that_are_documented_and_others_are_refused() {
        let layout = LinkLayout::default();
        assert_eq!(layout.ring_bytes(), 256 << 10);
        assert!(layout.record_bytes() > (64 << 10) + 512);
        assert!(layout.bytes().is_multiple_of(PAGE_BYTES) && layout.bytes() < 1 << 20);
        for refused in [0, 2048, 100_000, 128 << 20, usize::MAX] {
            assert_eq!(LinkLayout::new(refused), Err(RingBytesError(refused)));
        }
        for ring_bytes in [4 << 10, 64 << 10, 64 << 20] {
            let layout = LinkLayout::new(ring_bytes).unwrap();
            assert!(2 * (layout.record_bytes() + RECORD_HEAD_BYTES) <= ring_bytes);
            assert!(layout.frame_payload_bytes() <= ring_bytes);
        }
    }
}

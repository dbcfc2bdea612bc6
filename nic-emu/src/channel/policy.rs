//! Which channel moves which bytes: every threshold of the channels, in one place (design §4, "Channels").
//!
//! The defaults are measured; `cargo bench -p nic-emu --bench channel` prints the figures they come from.

use crate::transfer::{CLAIM_BYTES, SLOT_BYTES, WINDOW_BYTES, WINDOW_SLOTS};

/// How a message is cut for the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of a chunk: what the sender fills and the receiver drains at once.
    pub chunk_bytes: usize,
    /// Slots in use.
    pub slots: usize,
}

/// The thresholds of the channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether both ends may move a message through the window at the same time. Not where ranks share cores: there the
    /// two ends take turns, and every full or empty window costs a context switch.
    pub pipeline: bool,
    /// Looks at the window before an end that found nothing to do in it returns to its caller.
    pub patience: u32,
    /// Bytes of a claim by cross-memory attach: one system call.
    pub attach_bytes: u64,
    /// Bytes that one call moves before it returns to its caller.
    pub step_bytes: u64,
    /// Calls in a row with nothing to do after which an end looks whether its peer still lives.
    pub idle_calls: u32,
}

impl Policy {
    /// The measured defaults for a node with this many ranks on this many cores (0 when that is not known).
    pub fn measured(local_ranks: u32, cores: u32) -> Self {
        Self {
            pipeline: cores == 0 || local_ranks <= cores,
            patience: 64,
            attach_bytes: 256 << 10,
            step_bytes: 1 << 20,
            idle_calls: 1 << 14,
        }
    }

    /// How a message of this size is cut for the window.
    #[inline]
    pub fn cut(&self, message_bytes: u64) -> Cut {
        let chunk_bytes = match message_bytes {
            0..=65_536 => 8 << 10,
            65_537..=524_288 => 32 << 10,
            _ => SLOT_BYTES,
        };
        Cut { chunk_bytes, slots: WINDOW_SLOTS }
    }
}

const _: () = {
    assert!(SLOT_BYTES * WINDOW_SLOTS <= WINDOW_BYTES, "all slots of the longest chunk fit in a window");
    assert!(SLOT_BYTES as u64 <= CLAIM_BYTES, "a slot is filled with one claim");
};

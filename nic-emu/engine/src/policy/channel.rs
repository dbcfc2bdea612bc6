//! Which channel moves which bytes: every threshold of the channels, in one place (design §4, "Channels").
//!
//! The defaults are measured; `cargo bench -p nic-emu --bench channel` prints the figures. On two cores of an
//! AMD EPYC (Zen 4, an L2 of 1 MB each), one way, best of 15 batches:
//!
//! | bytes | window of 256 KB | 1 MB | 2 MB | 4 MB | attach, both ends | attach, one end |
//! |---|---|---|---|---|---|---|
//! | 16 KB | 2.2 µs | 1.5 µs | 1.04 µs | 1.04 µs | 2.4 µs | 3.1 µs |
//! | 64 KB | 8.0 µs | 4.4 µs | 2.7 µs | 2.8 µs | 4.3 µs | 6.7 µs |
//! | 1 MB | 100 µs | 33 µs | 33 µs | 35 µs | 43 µs | 87 µs |
//! | 4 MB | 455 µs | 140 µs | 138 µs | 157 µs | 190 µs | |
//!
//! Why (the same with `-- lines`): a core reads lines that another one has written at some 44 GB/s, writes to
//! lines that the other one's L2 still holds at 9 GB/s, and to lines that no L2 holds at 43 GB/s. So the
//! sender must not come back to a line before the receiver's L2 has dropped it, which is after some two times
//! its size.
//!
//! That was with both cores at one L3. On the same machine at other times (a virtual one, which its host
//! moves about) cores read each other's lines at 18 GB/s and write them at 2.5 GB/s; 64 KB through the window
//! then take 31 µs and more, by attach of both ends 4.6 µs as before. So which one is used is learnt while
//! messages go (`pace`).

use crate::memory::NicMemory;
use crate::memory::slab::{SLAB_BYTES, SLABS};
use crate::memory::transfer::{CLAIM_BYTES, SLOT_BYTES, WINDOW_DATA_BYTES};

/// The smallest chunk of a message for the window, and the unit of cutting for cross-memory attach: a page.
const CHUNK_BYTES: u64 = 4 << 10;

/// Messages of a size class before the first trial of the channel that is not in use: the first ones pay for
/// pages that are touched for the first time.
pub(crate) const FIRST_TRIAL_MESSAGES: u32 = 32;
/// Messages of a trial, and before it of what is in use, that are compared. The window is slow for the first
/// ones of a trial, as its lines are in no cache.
pub(crate) const TRIAL_MESSAGES: u32 = 8;
/// Messages from one trial to the next: one in a hundred goes by what is slower.
pub(crate) const ROUND_MESSAGES: u32 = 1024;

/// Bytes of a copy into NIC memory that is timed, at least: shorter ones say more of the clock, the store
/// buffer and the wait for streaming stores to be out than of the pace of the stores.
pub(crate) const TIMED_BYTES: usize = 4 << 10;
/// Bytes of a trial of stores through the caches, at most.
pub(crate) const TRIAL_BYTES: usize = 8 << 10;
/// Copies past the caches of which the first bytes of one go through them, to time that: two microseconds in
/// 32 messages.
pub(crate) const THROUGH_CACHES_TRIAL_COPIES: u32 = 32;
/// Bytes that are stored through the caches before streaming is attempted for the first time: once round a
/// rank's slabs, as pages that are touched for the first time tell nothing.
pub(crate) const FIRST_ATTEMPT_BYTES: usize = SLABS * SLAB_BYTES;
/// The last bytes of an attempt to stream, by which it is judged.
pub(crate) const ATTEMPT_JUDGED_BYTES: usize = 256 << 10;
/// Bytes that an attempt streams: once round the slabs and the ones by which it is judged. Between near cores
/// that costs some 0.1 ms.
pub(crate) const ATTEMPT_BYTES: usize = SLABS * SLAB_BYTES + ATTEMPT_JUDGED_BYTES;

/// Copies through the caches after which a quarter of what was learnt of streaming is forgotten.
pub(crate) const FORGETTING_COPIES: u32 = 256;

/// Ticks by which a reader takes 64 KB later from memory than from a near cache: some 3 µs.
pub(crate) const FROM_MEMORY_TICKS: u64 = 7_000;

/// Ticks in which 64 KB are stored through the caches, below which messages that could be read in their
/// sender's memory, of 12 to 256 KB, go through slabs. Where it takes 4,000 to 6,000 (2.6 GHz), those of 128
/// and 256 KB take 10 and 18 µs so, and 6.2 and 9.8 by attach; on a machine whose slabs move 54 GB/s,
/// presumably in at most 3,500, 2.7 and 5.3, and 5.8 and 9.5 (`storm run -n 2 microbench latency --sizes
/// 128K,256K`).
pub(crate) const QUICK_TICKS: u64 = 3_500;

/// Of messages that do not go through slabs for that, one in so many does.
pub(crate) const QUICK_TRIAL_MESSAGES: u32 = 64;

/// Whether to attempt to stream, by what 64 KB took either way.
#[inline]
pub(crate) fn is_worth_streaming(through_caches: u64, past_them: u64) -> bool {
    through_caches > 2 * past_them && through_caches > past_them + FROM_MEMORY_TICKS
}

/// Whether to go on streaming, which has to be faster for more than the sender.
#[inline]
pub(crate) fn stays_streaming(through_caches: u64, past_them: u64) -> bool {
    2 * through_caches > 3 * past_them && through_caches > past_them + FROM_MEMORY_TICKS
}

/// Classes of message sizes whose paces are learnt apart.
pub(crate) const SIZE_CLASSES: usize = 3;

/// The class of a message: attach costs by the call in the first, by the byte in the last.
#[inline]
pub(crate) fn size_class(message_bytes: u64) -> usize {
    match message_bytes {
        0..=32_768 => 0,
        32_769..=262_144 => 1,
        _ => 2,
    }
}

/// Whether one channel is faster than the one in use, by what messages took: by an eighth at least.
#[inline]
pub(crate) fn is_faster(tried_ticks: u32, used_ticks: u32) -> bool {
    9 * tried_ticks as u64 <= 8 * used_ticks as u64
}

/// The thresholds of the channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether both ends may move a message through the window at the same time. Not where ranks share cores:
    /// there the two ends take turns, and every full or empty window costs a context switch.
    pub pipeline: bool,
    /// Bytes of a sender's window that are in use, at most [`WINDOW_DATA_BYTES`]: the distance at which it
    /// comes back to a line.
    pub window_bytes: usize,
    /// Whether it is learnt by timing messages which of window and attach is faster; if not, the window is
    /// used.
    pub learn: bool,
    /// Looks at the window before an end that found nothing to do in it returns to its caller.
    pub patience: u32,
    /// Bytes of a claim by cross-memory attach at most: one system call, some 20 µs.
    pub attach_bytes: u64,
    /// Bytes of a message that its sender leaves to a receiver that waits, where the sender waits for a
    /// message itself, at most. Each then takes what it receives: exchanges of 128 and 256 KB take 19 and 33
    /// µs so, and 23 and 43 where both ends move halves of all messages; of 1 MB 350 and 200 (`storm run -n 2
    /// microbench exchange --sizes 128K,256K,1M`, an Intel Xeon).
    pub left_bytes: u64,
    /// Bytes that one call moves before it returns to its caller: 80 µs by the slowest channel.
    pub step_bytes: u64,
    /// Calls in a row with nothing to do after which an end looks whether its peer still lives.
    pub idle_calls: u32,
}

impl Policy {
    /// The measured defaults for a node with this many ranks on this many cores (0 when that is not known).
    pub fn measured(local_ranks: u32, cores: u32) -> Self {
        Self {
            pipeline: cores == 0 || local_ranks <= cores,
            window_bytes: large_window().unwrap_or(SMALL_WINDOW),
            learn: true,
            patience: 64,
            attach_bytes: 256 << 10,
            left_bytes: 256 << 10,
            step_bytes: 1 << 20,
            idle_calls: 1 << 14,
        }
    }

    /// The measured defaults for this node.
    pub fn for_node(memory: &NicMemory) -> Self {
        Self::measured(memory.layout().local_ranks, memory.header().cores.get())
    }

    /// Bytes of the next chunk for the window, of a message of which `claimed` bytes are claimed and `left`
    /// are not. Short ones at first, so that the receiver starts early, and at last, so that it ends early;
    /// long ones between, as each costs a line between the cores.
    #[inline]
    pub fn chunk_bytes(&self, claimed: u64, left: u64) -> u64 {
        let wanted = (claimed / 2).min(left / 4);
        (wanted - wanted % CHUNK_BYTES).clamp(CHUNK_BYTES, SLOT_BYTES as u64)
    }

    /// Bytes of a claim by cross-memory attach: a half for each end of short messages, if both ends wait.
    #[inline]
    pub(crate) fn attach_chunk_bytes(&self, message_bytes: u64, both: bool) -> u64 {
        let wanted = if both { message_bytes.div_ceil(2) } else { message_bytes };
        wanted.next_multiple_of(CHUNK_BYTES).min(self.attach_bytes)
    }
}

/// Bytes of a window that stays in the L2.
const SMALL_WINDOW: usize = 256 << 10;

/// Whether this machine's cores are slow to take written lines from each other (AMD, whose L3 takes what an
/// L2 drops).
pub fn has_slow_lines() -> bool {
    large_window().is_some()
}

/// Twice the L2 cache on processors whose cores are slow to take written lines from each other.
fn large_window() -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;
        let vendor = __cpuid(0);
        let l2_bytes = match __cpuid(0x8000_0000).eax {
            0x8000_0006.. => (__cpuid(0x8000_0006).ecx >> 16) as usize * 1024,
            _ => 0,
        };
        // "AuthenticAMD" and "HygonGenuine", by their first four letters.
        if matches!(&vendor.ebx.to_le_bytes(), b"Auth" | b"Hygo") && l2_bytes > 0 {
            return Some((2 * l2_bytes).clamp(SMALL_WINDOW, WINDOW_DATA_BYTES));
        }
    }
    None
}

const _: () = {
    assert!(SLOT_BYTES as u64 <= CLAIM_BYTES, "a slot is filled with one claim");
    assert!(CHUNK_BYTES <= SLOT_BYTES as u64, "the smallest chunk fits in a slot");
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_chunk_is_never_empty_and_fits_in_a_slot(claimed in any::<u64>(), left in any::<u64>()) {
            let bytes = Policy::measured(2, 2).chunk_bytes(claimed, left);
            prop_assert!((CHUNK_BYTES..=SLOT_BYTES as u64).contains(&bytes));
        }
    }

    #[test]
    fn shared_cores_do_not_pipeline() {
        assert!(Policy::measured(2, 2).pipeline && Policy::measured(64, 0).pipeline);
        assert!(!Policy::measured(3, 2).pipeline);
    }

    #[test]
    fn the_window_in_use_is_within_its_memory() {
        assert!((SLOT_BYTES..=WINDOW_DATA_BYTES).contains(&Policy::measured(2, 2).window_bytes));
    }
}

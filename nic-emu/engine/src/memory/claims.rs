//! Claims: how a rank takes a message out of its sender's ring itself, without a slice.
//!
//! A rank that waits for a message of one source, and has nothing older that could take it, looks for the
//! message where it was posted. It claims what it finds, and the processor passes over claimed messages when
//! it comes to them. Messages of a sender are labelled with their number in the sender's ring, and a rank
//! claims those that are for it in order: all up to its claim are taken.
//!
//! Invariant: a message is claimed, or taken by the processor, and never both. The claim is published before
//! its rank looks at the run token, with a full fence between; the processor has the token before it looks at
//! claims. So a rank that finds the token free has its message. If it does not, it takes the token itself,
//! and finds the message either still in the ring, where no processor passes it any more without seeing the
//! claim; or passed over, of which the processor keeps a record; or taken, and then it retracts the claim.
//!
//! A sender that keeps its messages does so as the processor. It leaves those alone that are claimed; and one
//! that it has kept no processor passes over, so that a claim which comes too late is retracted.

use crate::memory::sync::{AtomicU64, Ordering, fence};
use bcs_core::LocalRank;

/// Ranks of a node that others take messages from in this way: those with the lowest numbers.
pub const CLAIMED_SENDERS: usize = if cfg!(loom) { 1 } else { 512 };

/// The claims of a rank, by sender.
#[repr(C)]
#[cfg_attr(not(loom), repr(align(4096)))]
pub struct Claims {
    /// The label of the last message that was claimed; only the rank writes it.
    claimed: [AtomicU64; CLAIMED_SENDERS],
    /// The label of the last message that a processor passed over; processor only.
    passed: [AtomicU64; CLAIMED_SENDERS],
}

impl Claims {
    /// The label of the last message of this sender that was claimed; 0 for none.
    #[inline]
    pub fn claimed(&self, sender: LocalRank) -> u64 {
        self.claimed.get(sender.index()).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// The rank claims the message with this label. Whether the claim holds it has to find out now.
    #[inline]
    pub fn claim(&self, sender: LocalRank, label: u64) {
        if let Some(word) = self.claimed.get(sender.index()) {
            word.store(label, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
    }

    /// The rank, which is the processor, says that its claim does not hold: `claimed` is what it was before.
    pub fn retract(&self, sender: LocalRank, claimed: u64) {
        if let Some(word) = self.claimed.get(sender.index()) {
            word.store(claimed, Ordering::Relaxed);
        }
    }

    /// Whether a message is claimed: the processor passes over it then, and keeps a record of that. Asked
    /// of [`LocalRank::ELSEWHERE`] about messages from other nodes, which nobody claims.
    #[inline(always)]
    pub fn is_passed_over(&self, sender: LocalRank, label: u64) -> bool {
        let claimed = self.is_claimed(sender, label);
        if claimed {
            self.passed[sender.index()].store(label, Ordering::Relaxed);
        }
        claimed
    }

    /// Whether a message is claimed: for the processor.
    #[inline(always)]
    pub fn is_claimed(&self, sender: LocalRank, label: u64) -> bool {
        // Sequentially consistent, as is the exchange by which the processor took the token.
        let claimed = self.claimed.get(sender.index()).map_or(0, |claimed| claimed.load(Ordering::SeqCst));
        (1..=claimed).contains(&label)
    }

    /// Whether a processor has passed over this message of a sender.
    pub fn was_passed_over(&self, sender: LocalRank, label: u64) -> bool {
        self.passed.get(sender.index()).is_some_and(|word| word.load(Ordering::Relaxed) >= label)
    }
}

/// Without claims; in NIC memory, zeroed pages are that.
#[cfg(loom)]
impl Default for Claims {
    fn default() -> Self {
        let none = || std::array::from_fn(|_| AtomicU64::new(0));
        Self { claimed: none(), passed: none() }
    }
}

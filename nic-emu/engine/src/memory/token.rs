//! The run token: whoever holds it is the NIC processor (design §4, "Who is the processor").
//!
//! One word in NIC memory: 0 when nobody runs the NIC, else the holder's number. A rank that blocks takes it
//! with one compare-exchange, runs a slice and lets go; nobody ever waits for it while holding something
//! else. Everything that only the processor touches (queues, pools, the taken counters) is ordered by it:
//! what one holder wrote, the next one sees.

use crate::memory::sync::{AtomicU64, Ordering};
use bcs_core::LocalRank;

/// Who holds the token: a rank of this node, or the program launcher's NIC thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder(u64);

impl Holder {
    /// The program launcher's NIC thread.
    pub const NIC_THREAD: Holder = Holder(u32::MAX as u64);

    /// This rank.
    pub const fn rank(local_rank: LocalRank) -> Self {
        Self(local_rank.0 as u64 + 1)
    }
}

/// The token word, in NIC memory: a free token at first, which is zeros.
#[derive(Default)]
#[repr(transparent)]
pub struct RunToken(AtomicU64);

impl RunToken {
    /// True when nobody holds it, and what its last holder wrote is seen. That it is worth trying is a hint,
    /// as it may be gone a moment later; a rank that has published a claim relies on the rest
    /// ([`crate::memory::claims`]).
    #[inline]
    pub fn looks_free(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    /// Takes the token if it is free.
    #[inline]
    pub fn try_take(&self, holder: Holder) -> bool {
        let taken = self.0.compare_exchange(0, holder.0, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        // Loom takes sequentially consistent accesses for weaker ones, but not fences.
        #[cfg(loom)]
        crate::memory::sync::fence(Ordering::SeqCst);
        taken
    }

    /// Gives the token back. What the holder wrote is seen by the next one.
    #[inline]
    pub fn release(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Gives the token back and orders everything before it against what the caller reads next: for a holder
    /// that must not miss a rank going to sleep.
    #[inline]
    pub fn release_and_fence(&self) {
        self.0.swap(0, Ordering::SeqCst);
    }

    /// Frees the token of a holder that died: only if it is still the holder.
    pub fn revoke(&self, holder: Holder) -> bool {
        self.0.compare_exchange(holder.0, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_one_holds_the_token_and_only_its_holder_can_be_revoked() {
        let token = RunToken::default();
        assert!(token.looks_free());
        assert!(token.try_take(Holder::rank(LocalRank(3))));
        assert!(!token.try_take(Holder::rank(LocalRank(4))));
        assert!(!token.revoke(Holder::NIC_THREAD));
        assert!(token.revoke(Holder::rank(LocalRank(3))));
        assert!(token.try_take(Holder::NIC_THREAD));
        assert!(!token.looks_free());
        token.release();
        assert!(token.looks_free());
    }
}

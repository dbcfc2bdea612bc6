//! The NIC processor: whoever holds the run token runs a slice (design §4, "Who is the processor").
//!
//! The steps are always the same: is there work, is the token free, run a slice, give the token back, wake
//! whom it completed something for. Waking is a system call and so the driver's business: it is handed the
//! ranks.

use crate::memory::sync::{Ordering, fence};
use crate::memory::token::Holder;
use crate::memory::{Corrupt, NicMemory};
use crate::policy::Pacing;
use crate::threads::buffer_sender::BufferSender;
use crate::threads::completer::Touched;
use crate::threads::strobe_sender::StrobeSender;

/// What came of lending a core. Large, but it never leaves the stack frame of who lent: boxing it would
/// allocate a slice.
#[allow(clippy::large_enum_variant)]
pub enum Lent {
    /// Nothing to do, or somebody else does it.
    Nothing,
    /// With fixed slices: the NIC rested, and its next slice has been set; the NIC thread is to be woken for
    /// it.
    BeatSet,
    /// A slice was run; these ranks may have to be woken.
    Slice(Touched),
}

/// The token is held: it is given back when this is dropped, ordered before a look at who sleeps (`waiting`).
#[must_use = "the token is given back when this is dropped"]
pub struct Held<'m> {
    memory: &'m NicMemory,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.memory.token().release_and_fence();
    }
}

/// A process's view of the NIC processor.
#[derive(Clone, Copy)]
pub struct Processor<'m> {
    memory: &'m NicMemory,
    holder: Holder,
}

impl<'m> Processor<'m> {
    /// The processor as this holder runs it.
    pub fn new(memory: &'m NicMemory, holder: Holder) -> Self {
        Self { memory, holder }
    }

    /// Lends the caller's core for one slice, if one is due, there is something to do, and nobody else does
    /// it.
    #[inline]
    pub fn lend(&self, now_ns: impl Fn() -> u64) -> Result<Lent, Corrupt> {
        let pacing = Pacing::of(self.memory);
        let wanted = if pacing.starts_on_work() {
            BufferSender::has_work(self.memory) && !BufferSender::is_stalled(self.memory)
        } else {
            StrobeSender::is_wanted(self.memory, &now_ns)
        };
        let token = self.memory.token();
        if !wanted || !token.looks_free() || !token.try_take(self.holder) {
            return Ok(Lent::Nothing);
        }
        self.run(pacing, now_ns)
    }

    /// The same for a rank that has just posted and has nothing else to do: there is work, so it goes for the
    /// token at once.
    #[inline(always)]
    pub fn lend_after_posting(&self, now_ns: impl Fn() -> u64) -> Result<Lent, Corrupt> {
        let pacing = Pacing::of(self.memory);
        if !pacing.starts_on_work() || !self.memory.token().try_take(self.holder) {
            return self.lend(now_ns);
        }
        self.run(pacing, now_ns)
    }

    /// Runs a slice; the token is taken.
    #[inline]
    fn run(&self, pacing: Pacing, now_ns: impl Fn() -> u64) -> Result<Lent, Corrupt> {
        // Another holder may have run the slice that was due between looking and taking.
        if !pacing.starts_on_work() && !StrobeSender::is_due(self.memory, &now_ns) {
            let set = StrobeSender::end_rest(self.memory, &now_ns);
            // Orders the beat against the look at whether the NIC thread sleeps.
            self.memory.token().release_and_fence();
            return Ok(if set { Lent::BeatSet } else { Lent::Nothing });
        }
        let slice = StrobeSender::run(self.memory, now_ns);
        let Ok(slice) = slice else {
            self.memory.token().release();
            return slice.map(|_| Lent::Nothing);
        };
        if slice.touched.is_empty() {
            self.memory.token().release();
        } else {
            // Orders the completions against the look at who sleeps: see `waiting`.
            self.memory.token().release_and_fence();
        }
        Ok(Lent::Slice(slice.touched))
    }

    /// Takes the token if it is free, for what only the processor may do beside slices; none when somebody
    /// else has it.
    pub fn try_hold(&self) -> Option<Held<'m>> {
        let token = self.memory.token();
        // Made only if the token is taken: dropping it gives the token back.
        (token.looks_free() && token.try_take(self.holder)).then(|| Held { memory: self.memory })
    }

    /// Takes the token, waiting for it if need be, and calls `with`: for what only the processor may look at
    /// (probes, reports). `pause` is called while somebody else holds it; when it answers false, waiting is
    /// given up.
    pub fn with_token<R>(
        &self,
        mut pause: impl FnMut() -> bool,
        with: impl FnOnce(&NicMemory) -> R,
    ) -> Option<R> {
        while !self.memory.token().try_take(self.holder) {
            if !pause() {
                return None;
            }
        }
        let result = with(self.memory);
        self.memory.token().release();
        Some(result)
    }

    /// True when some rank sleeps, seen after everything that the caller has published.
    #[inline]
    pub fn somebody_sleeps(&self) -> bool {
        fence(Ordering::SeqCst);
        self.memory.header().attention.sleepers.load(Ordering::Relaxed) != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use bcs_core::LocalRank;

    #[test]
    fn a_token_that_somebody_has_stays_with_them_when_another_one_tries() {
        let memory = NicMemory::of_ranks(2);
        let [first, second] = [0, 1].map(|rank| Processor::new(&memory, Holder::rank(LocalRank(rank))));
        let held = first.try_hold();
        assert!(held.is_some() && second.try_hold().is_none());
        assert!(!memory.token().looks_free());
        drop(held);
        assert!(memory.token().looks_free());
    }
}

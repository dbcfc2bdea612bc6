//! Meeting: what a rank does between its arrival at a collective and its release.
//!
//! Who is not the last to arrive can change nothing by running a slice: it would take descriptors that a
//! later slice has to add to. So a rank that has arrived looks whether what is posted may complete the
//! collective. If so it runs a slice at once; if not it is patient, looks at its own request alone (a line
//! that nobody writes before the end), and leaves the NIC's lines to the last one. Patience is short: then it
//! waits as for anything else ([`Port::wait_step`]).

use super::{Port, PortError, Release};
use crate::memory::doorbell::{HeadsWord, RingKind};
use crate::memory::numbers::RequestId;
use crate::memory::prefetch;
use crate::memory::sync::{Ordering, fence};
use crate::policy;
use bcs_core::LocalRank;

/// What has to be posted before a collective can let a member go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// As many members as this.
    Members(u32),
    /// This rank of the node.
    Rank(LocalRank),
}

impl Port {
    /// Fetches what an arrival writes: lines that other ranks wrote last.
    #[inline]
    pub(super) fn approach(&self) {
        prefetch::to_write(self.doorbell());
        prefetch::to_write(self.memory.control());
    }

    /// Whether a slice that runs now may complete a collective that awaits this.
    #[inline]
    fn may_complete(&self, awaits: Awaits) -> bool {
        let memory = &self.memory;
        if memory.control().gathering.get() != 0 {
            return true;
        }
        let posted = |(doorbell, taken): (&HeadsWord, &HeadsWord)| {
            doorbell.peek().ahead_of(taken.peek(), RingKind::Collective) != 0
        };
        let mut words = memory.doorbells().zip(memory.taken());
        match awaits {
            Awaits::Members(members) => words.filter(|&words| posted(words)).count() >= members as usize,
            Awaits::Rank(rank) => words.nth(rank.index()).is_some_and(posted),
        }
    }

    /// After an arrival that the rank does not wait for: runs a slice if others wait for just this. False
    /// when one is wanted and somebody else holds the token, with a slice that may have begun before the
    /// arrival.
    #[inline]
    pub fn pass(&mut self, awaits: Awaits) -> Result<bool, PortError> {
        if !self.pacing.starts_on_work() {
            return Ok(true);
        }
        // The arrival before the look: of members that arrive at the same time, one at least sees all.
        fence(Ordering::SeqCst);
        if !self.may_complete(awaits) {
            return Ok(true);
        }
        self.lend_after_posting()
    }

    /// After an arrival at a collective that completes while the rank computes: runs a slice if this was the
    /// last member to come. Where somebody else is at it for long, the NIC thread has to look again.
    pub fn leave_to_nic(&mut self, request: Option<RequestId>, awaits: Awaits) -> Result<(), PortError> {
        if !self.pacing.starts_on_work() {
            return self.nudge(true);
        }
        for _ in 0..policy::MEETING_TRIES {
            if self.pass(awaits)? {
                return Ok(());
            }
            for _ in 0..policy::MEETING_LOOKS_A_SLICE {
                if request.is_some_and(|request| self.slot(request).is_ok_and(|slot| !slot.is_pending())) {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
        }
        self.nudge(true)
    }

    /// After an arrival: waits a little for the release. None when it has not come: then wait as for anything
    /// else. `shared` says that other threads of the process wait for the port.
    #[inline]
    pub fn meet(
        &mut self,
        request: RequestId,
        awaits: Awaits,
        shared: bool,
    ) -> Result<Option<Release>, PortError> {
        let passed = self.pass(awaits)?;
        self.be_patient(request, awaits, passed, shared)?;
        self.test_collective(request)
    }

    /// The part of [`Self::meet`] that waits; `passed` is what [`Self::pass`] has answered.
    #[inline]
    pub fn be_patient(
        &mut self,
        request: RequestId,
        awaits: Awaits,
        passed: bool,
        shared: bool,
    ) -> Result<(), PortError> {
        if self.is_hasty || shared || !self.moving.is_empty() {
            return Ok(());
        }
        let slot = self.memory.request(self.local_rank, request)?;
        let started = &self.status().transfers_started;
        let crowded = self.waiting.shares_cores();
        let between = if passed { policy::MEETING_LOOKS_A_SLICE } else { policy::MEETING_LOOKS_A_RETRY };
        for look in 1..=self.waiting.meeting_looks {
            if !slot.is_pending() {
                break;
            }
            if crowded {
                rustix::thread::sched_yield();
            } else {
                std::hint::spin_loop();
            }
            if (crowded || look % between == 0) && slot.is_pending() {
                if self.may_complete(awaits) {
                    self.lend()?;
                }
                if started.load(Ordering::Relaxed) != self.transfers_seen {
                    break;
                }
            }
        }
        Ok(())
    }
}

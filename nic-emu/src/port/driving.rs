//! Driving: a rank that waits drives the links to other nodes, between two looks at what it waits for
//! ([`crate::global::Waiter`]). What it cannot do itself it wakes the NIC thread for, unless nobody waits for
//! it.

use super::error::PortError;
use super::outstanding::Purpose;
use super::rank_port::Port;
use crate::global::Own;
use crate::memory::token::Holder;
use crate::policy::DRIVING_NS;

impl Port {
    /// Whether this rank drives the links when it waits: not in a crowd, where it sleeps soon; nor with a
    /// collective under way, which is the NIC thread's: that would leave the links to this rank until it
    /// knows of the collective, and to a rank that does not get a processor.
    #[inline]
    pub(super) fn drives(&self) -> bool {
        self.links.as_ref().is_some_and(|driving| driving.away_until_ns == 0)
            && self.memory.header().remote.thread_drives.get() == 0
            && self.outstanding.collectives() == 0
            && self.crowd.as_ref().is_some_and(|crowd| !crowd.stays_crowded())
    }

    /// Says that this rank drives the links, also before it has something to do: the NIC thread leaves them
    /// to it for a while.
    #[inline]
    pub(super) fn say_that_it_drives(&self) {
        if self.drives() {
            self.memory.header().remote.driven_ns.set((self.clock)());
        }
    }

    /// This rank is about to sleep, or leaves something to the NIC thread, which has the links from now on.
    pub(super) fn hand_over_links(&self) {
        let driven_ns = &self.memory.header().remote.driven_ns;
        if self.links.is_some() && driven_ns.get() != 0 {
            driven_ns.set(0);
            self.wake_nic_thread();
        }
    }

    /// Whether a rank has driven the links lately, so that the NIC thread looks soon whether it still does.
    pub(super) fn is_driven(&self) -> bool {
        let driven_ns = self.memory.header().remote.driven_ns.get();
        self.drives() && (self.clock)() < driven_ns.saturating_add(DRIVING_NS)
    }

    /// Sends what is for other nodes and takes what has come from them, if it is for this rank to do that,
    /// and nobody else is the processor. True if something has moved.
    pub(super) fn drive_links(&mut self) -> Result<bool, PortError> {
        let Some(driving) = &mut self.links else { return Ok(false) };
        if driving.away_until_ns != 0 && (self.clock)() >= driving.away_until_ns {
            driving.away_until_ns = 0;
        }
        if !self.drives() {
            return Ok(false);
        }
        self.say_that_it_drives();
        let Some(driving) = &mut self.links else { return Ok(false) };
        let token = self.memory.token();
        if !token.looks_free() || !token.try_take(Holder::rank(self.local_rank)) {
            return Ok(false);
        }
        let awaited = self.memory.header().remote.awaited.get();
        let outstanding = &self.outstanding;
        let own = Own {
            rank: self.local_rank,
            sent_from: &|request, _| outstanding.buffer_of(Purpose::Send, request),
            received_in: &|request, _| outstanding.buffer_of(Purpose::Receive, request),
        };
        let passed = driving.waiter.pass(&self.memory, &mut driving.links, &own);
        // Orders completions against the look at who sleeps: see `waiting`.
        token.release_and_fence();
        let passed = passed?;
        if passed.left.in_the_way {
            driving.leave((self.clock)());
            self.memory.header().remote.driven_ns.set(0);
        }
        self.wake(&passed.touched);
        if passed.left.in_the_way || passed.left.for_thread || awaited != self.awaited.replace(awaited) {
            self.wake_nic_thread();
        }
        Ok(passed.moved)
    }
}

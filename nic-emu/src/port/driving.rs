//! Driving: a rank that waits drives the links to other nodes, between two looks at what it waits for
//! ([`crate::global::Waiter`]). What it cannot do itself it wakes the NIC thread for.

use super::error::PortError;
use super::rank_port::Port;
use crate::global::Waiter;
use crate::host::shared_links::SharedLinks;
use crate::memory::token::Holder;
use crate::policy::DRIVING_NS;

/// The links, and who drives them.
pub struct Driving {
    links: SharedLinks,
    waiter: Waiter,
}

impl Driving {
    /// Drives these.
    pub fn new(links: SharedLinks) -> Self {
        Self { links, waiter: Waiter::default() }
    }
}

impl Port {
    /// Says that this rank drives the links, also before it has something to do: the NIC thread leaves them
    /// to it for a while. Who sleeps as soon as others want its core does not say so.
    #[inline]
    pub(super) fn say_that_it_drives(&self) {
        if self.links.is_some() && self.crowd.as_ref().is_some_and(|crowd| !crowd.stays_crowded()) {
            self.memory.header().remote.driven_ns.set((self.clock)());
        }
    }

    /// This rank is about to sleep: the NIC thread has the links from now on.
    pub(super) fn hand_over_links(&self) {
        let driven_ns = &self.memory.header().remote.driven_ns;
        if self.links.is_some() && driven_ns.get() != 0 {
            driven_ns.set(0);
            self.wake_nic_thread();
        }
    }

    /// Whether the NIC thread leaves the links to ranks, and so looks soon whether they still drive them.
    pub(super) fn is_driven(&self) -> bool {
        let driven_ns = self.memory.header().remote.driven_ns.get();
        self.links.is_some() && (self.clock)() < driven_ns.saturating_add(DRIVING_NS)
    }

    /// Sends what is for other nodes and takes what has come from them, if this rank can and nobody else is
    /// the processor. True if something has moved.
    pub(super) fn drive_links(&mut self) -> Result<bool, PortError> {
        self.say_that_it_drives();
        let Some(driving) = &mut self.links else { return Ok(false) };
        let token = self.memory.token();
        if !token.looks_free() || !token.try_take(Holder::rank(self.local_rank)) {
            return Ok(false);
        }
        let passed = driving.waiter.pass(&self.memory, &mut driving.links);
        let arrived = self.memory.header().remote.arrived.get();
        // Orders completions against the look at who sleeps: see `waiting`.
        token.release_and_fence();
        let passed = passed?;
        self.wake(&passed.touched);
        if passed.left || arrived != self.arrived.replace(arrived) {
            self.wake_nic_thread();
        }
        Ok(passed.moved)
    }
}

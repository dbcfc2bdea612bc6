//! Messages that come before their receives, as their sender and their receiver see them
//! ([`crate::memory::unexpected`]).
//!
//! A sender without a free slab takes what waits for a receive out of its slabs and goes on. A message that
//! stays in memory all the same, as nothing could be taken, as it is one of several slabs, or as its receiver
//! was to read it there, is kept when its sender has waited for it for a while: so no standard send of at
//! most [`crate::memory::slab::BUFFERED_BYTES`] waits for its receive while the receiver's pool has room.

use super::error::PortError;
use super::keeper::{Keeper, Kept, Wanted};
use super::rank_port::Port;
use super::stream::Stream;
use crate::channel::{self, Buffer};
use crate::host::waiting;
use crate::memory::descriptor::Payload;
use crate::memory::numbers::{RequestId, SlabId};
use crate::memory::unexpected::{ForWhom, UnexpectedPool};
use crate::policy::{KEEPING_LOOKS, STREAM_PATIENCE_NS};
use crate::port::outstanding::Purpose;
use crate::threads::completer::Completer;

/// Sends for which a rank does not look again what could be taken out of its slabs, after it has looked in
/// vain.
const SENDS: u32 = 16;

/// Slabs that a rank empties when it has waited for some in vain; twice as many each time that it has so
/// again, as often as this.
const AT_ONCE: u32 = 32;
const MOST_IN_VAIN: u32 = 4;

/// Spins between two looks of a rank without a slab for some that came back.
const SPINS: u32 = 32;

/// Times that a rank without a slab tries to become the processor before the message goes without one.
const TRIES: u32 = 100;

impl Port {
    /// A free run for a message, after messages without a receive were taken out of theirs; none when that
    /// helps nothing.
    #[cold]
    pub(super) fn take_slabs_again(&mut self, bytes: usize) -> Result<Option<SlabId>, PortError> {
        if self.keeping.pausing > 0 {
            self.keeping.pausing -= 1;
            return Ok(None);
        }
        if let Some(slabs) = self.wait_for_slabs(bytes)? {
            self.keeping.in_vain = 0;
            return Ok(Some(slabs));
        }
        // What waits in the ring for a receive that is posted is matched by a slice, and not kept.
        self.lend()?;
        let out = self.slabs.out(&self.block().returned);
        let some = match self.leaves_streams() {
            true => out.min(AT_ONCE << self.keeping.in_vain),
            false => out,
        };
        self.keeping.in_vain = (self.keeping.in_vain + 1).min(MOST_IN_VAIN);
        let kept = self.keep_soon(Wanted::Slabs(some))?;
        if kept.is_some_and(|kept| kept.moved == 0) && some < out {
            // The receivers of these have no room; others may have some.
            self.keep_soon(Wanted::Slabs(out))?;
        }
        let slabs = self.slabs.take(bytes, &self.memory.rank(self.local_rank)?.returned);
        if slabs.is_none() {
            self.keeping.pausing = SENDS;
        }
        Ok(slabs)
    }

    /// Keeps as soon as this rank can be the processor; none if it cannot.
    fn keep_soon(&mut self, wanted: Wanted) -> Result<Option<Kept>, PortError> {
        for _ in 0..TRIES {
            let kept = self.keep(wanted)?;
            if kept.is_some() {
                return Ok(kept);
            }
            rustix::thread::sched_yield();
        }
        Ok(None)
    }

    /// Where ranks have a core each: waits a little for slabs to come back. Receivers that are at work give
    /// them back sooner than this rank could copy messages out of them.
    fn wait_for_slabs(&mut self, bytes: usize) -> Result<Option<SlabId>, PortError> {
        if !self.leaves_streams() {
            return Ok(None);
        }
        let mut stream = Stream::begin(self, STREAM_PATIENCE_NS);
        loop {
            let slabs = self.slabs.take(bytes, &self.memory.rank(self.local_rank)?.returned);
            if slabs.is_some() || !stream.goes_on(self) {
                return Ok(slabs);
            }
            // Not often: what it looks at is written by receivers that are at work.
            (0..SPINS).for_each(|_| std::hint::spin_loop());
        }
    }

    /// A rank that waits looks whether sends of its have waited long, and keeps them.
    #[inline]
    pub(super) fn keep_when_waiting(&mut self) -> Result<(), PortError> {
        if self.keeping.in_memory == 0 {
            return Ok(());
        }
        self.keep_now_and_then()
    }

    #[cold]
    fn keep_now_and_then(&mut self) -> Result<(), PortError> {
        if self.keeping.is_settled(&self.memory) {
            return Ok(());
        }
        self.keeping.looks += 1;
        if self.keeping.looks >= KEEPING_LOOKS || self.keeping.refused.is_some() {
            self.keeping.looks = 0;
            // Read first: room that comes during the attempt is news after it.
            let news = self.memory.header().room.came();
            if let Some(kept) = self.keep(Wanted::Memory(self.keeping.in_memory))? {
                self.keeping.in_memory = kept.left;
                self.keeping.refused = (kept.moved == 0 && kept.left > 0).then_some(news);
            }
        }
        Ok(())
    }

    /// Moves messages of this rank into the pools of their receivers, as the processor; none when somebody
    /// else is the processor.
    pub(super) fn keep(&mut self, wanted: Wanted) -> Result<Option<Kept>, PortError> {
        let memory = self.memory.clone();
        let Some(processor) = self.processor().try_hold() else { return Ok(None) };
        let mut completer = Completer::new(&memory, self.pacing);
        let outstanding = &self.outstanding;
        let kept = Keeper {
            memory: &memory,
            completer: &mut completer,
            sender: self.local_rank,
            wanted,
            is_ours: &|send| match send.payload {
                Payload::Memory(address) => {
                    outstanding.purpose(send.request) == Some(Purpose::Send)
                        && outstanding.buffer(send.request) == Some(Buffer { address, bytes: send.bytes })
                }
                _ => true,
            },
        }
        .run();
        drop(processor);
        self.wake(&completer.touched);
        Ok(Some(kept?))
    }

    /// Copies a message out of this rank's pool, and gives its block back.
    pub(super) fn take_from_pool(
        &mut self,
        request: RequestId,
        block: u64,
        bytes: u64,
    ) -> Result<(), PortError> {
        let pool = UnexpectedPool::of(&self.memory, self.local_rank)?;
        let from = pool.bytes(block, bytes)?;
        if let Some((address, room)) = self.outstanding.place(request) {
            // SAFETY: `post_receive`'s caller vouches for the buffer until now; the block holds the message,
            // which nobody changes before it is given back.
            unsafe { channel::copy(from.as_ptr(), address as *mut u8, bytes.min(room) as usize) };
        }
        if let Some(whose) = pool.give_back(block)? {
            self.tell_of_room(whose);
        }
        Ok(())
    }

    /// Wakes who found no room in this rank's pool.
    #[cold]
    fn tell_of_room(&self, whose: ForWhom) {
        match whose {
            ForWhom::Rank(local_rank) => waiting::wake(&self.memory, local_rank),
            ForWhom::Driver => self.wake_nic_thread(),
            ForWhom::Several => {
                self.memory.local_ranks().for_each(|rank| waiting::wake(&self.memory, rank));
                self.wake_nic_thread();
            }
        }
    }

    /// Counts a look of a rank that waits, for who looks for a deadlock: unless there is something left that
    /// it has not tried.
    #[inline]
    pub fn count_look(&self) {
        if self.keeping.is_settled(&self.memory) {
            self.status().polls.add(1);
        }
    }
}

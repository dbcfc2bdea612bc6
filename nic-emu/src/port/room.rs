//! Room: what a rank has to have before it can post, and how it waits for it.
//!
//! | room | who gives it back | when |
//! |---|---|---|
//! | a cell of a ring | the processor | a slice has taken the descriptor: it has found the entry, transfer or instance that this needs; or its own rank has passed over it, because its receiver has claimed it |
//! | a slab for a contribution, reserved or not | the last member to depart | it has read what it needs ([`crate::memory::departure`]) |
//! | an instance | who departs, then the processor | before it looks for one |
//! | a queue entry | the processor | the message has met its receive; entries for posted receives are kept free (`memory::queue`) |
//! | a transfer | its two ends, then the processor | both have seen that their requests are complete: a rank that waits sees to that, whatever it waits for |
//! | a cell of an edge | its reader | it has read it |
//! | bytes of a receiver's pool for what comes early | the receiver | it has received some of that ([`crate::memory::unexpected`]) |
//!
//! Slabs for messages, bytes of a pool and request slots are not waited for before a call posts: a message
//! without a slab stays where it is, goes into its receiver's pool while its sender waits for its request
//! (`super::keeping`), and too many requests are an error.
//!
//! Invariant: there is one loop that waits for long, [`Port::wait_step`]. So a rank that waits for room runs
//! slices, moves bytes, sees the end of the job, and is known as one that waits, in a call, for this room.

use super::{Collective, Port, PortError};
use crate::memory::SlabId;
use crate::memory::TRANSFERS;
use crate::memory::descriptor::INLINE_BYTES;
use crate::memory::doorbell::RingKind;
use crate::memory::request::{Delivery, SlotState};
use crate::memory::slab::SLABS;
use crate::memory::status::{Room, WaitingFor};

/// Transfers in use from which on ranks that wait give theirs back before the program asks for the requests.
const FEW_TRANSFERS: u32 = (TRANSFERS - TRANSFERS / 4) as u32;

impl Port {
    /// The room that a descriptor for this ring lacks: none when there is a free cell.
    #[inline(always)]
    pub fn lacks_cell(&mut self, ring: RingKind) -> Option<Room> {
        if self.is_full(ring) { self.look_for_cell(ring) } else { None }
    }

    /// Whether there are free cells for so many receives, those included that are held.
    #[inline]
    pub fn has_cells_for_receives(&mut self, count: usize) -> bool {
        let count = count + self.held.len();
        let has_cells = |port: &Self| {
            let posted = port.heads.ahead_of(port.taken, RingKind::Receive);
            posted as usize + count <= port.block().ring(RingKind::Receive).capacity() as usize
        };
        has_cells(self) || {
            self.read_taken();
            has_cells(self)
        }
    }

    /// Whether a ring has no free cell, by the taken word as last read.
    #[inline(always)]
    fn is_full(&self, ring: RingKind) -> bool {
        self.heads.ahead_of(self.taken, ring) >= self.block().ring(ring).capacity()
    }

    /// Reads how far the processor has taken what this rank has posted.
    pub(super) fn read_taken(&mut self) {
        self.taken = self.memory.taken()[self.local_rank.index()].read();
    }

    #[cold]
    fn look_for_cell(&mut self, ring: RingKind) -> Option<Room> {
        self.read_taken();
        if ring == RingKind::Send && self.is_full(ring) {
            self.pass_over_claimed();
            self.read_taken();
        }
        self.is_full(ring).then_some(match ring {
            RingKind::Send => Room::SendRing,
            RingKind::Receive => Room::ReceiveRing,
            RingKind::Collective => Room::CollectiveRing,
        })
    }

    /// The room that this member's arrival at a collective lacks, with a contribution of so many bytes, at
    /// most a slab.
    #[inline]
    pub fn lacks_for_collective(&mut self, collective: &Collective, bytes: usize) -> Option<Room> {
        if let Some(room) = self.lacks_cell(RingKind::Collective) {
            return Some(room);
        }
        let needs_slab = collective.contributes() && bytes > INLINE_BYTES;
        let lacks_slab = needs_slab && !self.slabs.has_first(&self.block().returned);
        lacks_slab.then_some(Room::Slab)
    }

    /// Reserves a slab for contributions to one kind of collective, one after the other; none where as many
    /// are reserved as may be, or none is free.
    pub fn reserve_slab(&mut self) -> Option<SlabId> {
        let block = self.memory.rank(self.local_rank).ok()?;
        self.slabs.reserve(&block.returned)
    }

    /// Ends that.
    pub fn release_slab(&mut self, slab: SlabId) {
        self.slabs.release(slab);
    }

    /// Whether nobody reads a reserved slab any more.
    #[inline]
    pub fn has_idle(&mut self, slab: SlabId) -> bool {
        let block = self.memory.rank(self.local_rank);
        block.is_ok_and(|block| self.slabs.is_idle(slab, &block.returned))
    }

    /// Whether most of this rank's slabs are free.
    pub fn has_many_slabs(&self) -> bool {
        (self.slabs.out(&self.block().returned) as usize) < SLABS / 2
    }

    /// Waits until nothing is lacking. Who has a wait of its own that does more asks `lacks` there before it
    /// posts.
    #[inline(always)]
    pub(super) fn make_room(
        &mut self,
        what: impl FnOnce() -> WaitingFor,
        lacks: impl Fn(&mut Self) -> Option<Room>,
    ) -> Result<(), PortError> {
        match lacks(self) {
            None => Ok(()),
            Some(room) => self.wait_for_room(room, &what(), lacks),
        }
    }

    /// Room of one kind may be there and of another still be lacking: that is another wait.
    #[cold]
    fn wait_for_room(
        &mut self,
        room: Room,
        what: &WaitingFor,
        lacks: impl Fn(&mut Self) -> Option<Room>,
    ) -> Result<(), PortError> {
        let mut lacking = Some(room);
        while let Some(room) = lacking {
            lacking = self.wait(&WaitingFor { room, ..*what }, |port| {
                let lacking = lacks(port);
                Ok((lacking != Some(room)).then_some(lacking))
            })?;
        }
        Ok(())
    }

    /// Waits until a ring has a free cell.
    #[inline(always)]
    pub(super) fn reserve(&mut self, ring: RingKind) -> Result<(), PortError> {
        self.make_room(|| WaitingFor::SOMETHING, |port| port.lacks_cell(ring))
    }

    /// Where transfers are few: leaves those of this rank whose bytes are in place, though the program has
    /// not asked for their requests. Called by a rank that waits: otherwise pairs that it waits for may wait
    /// for these.
    #[inline]
    pub(super) fn give_back_transfers(&mut self) -> Result<(), PortError> {
        if self.memory.header().pools.transfers.used() < FEW_TRANSFERS { Ok(()) } else { self.leave_all() }
    }

    #[cold]
    fn leave_all(&mut self) -> Result<(), PortError> {
        for request in self.outstanding.requests() {
            let slot = self.slot(request)?;
            if slot.state() == SlotState::Done
                && matches!(slot.completion().1, Delivery::ByTransfer(_))
                && !self.outstanding.has_landed(request)
            {
                self.look(request)?;
            }
        }
        Ok(())
    }
}

//! Completing requests: the one place where a rank is told that it may go on.
//!
//! With elastic slices a completion is published at once. With fixed slices it is held back and published at
//! the start of the next slice: ranks resume at slice boundaries (paper, §3.1, step 5). Ranks that may sleep
//! are remembered, so that the driver wakes them after it gave the token back.

use crate::memory::descriptor::SendWords;
use smallvec::SmallVec;

use crate::memory::queue::{self, LINKS};
use crate::memory::request::{Delivery, DeliveryKind, RequestSlot, SlotState};
use crate::memory::{CommRank, Corrupt, ENTRIES, LocalRank, NicMemory, RequestId, SlabId};
use crate::policy::Pacing;

/// Ranks that are remembered; with more, anybody may be meant.
const TOUCHED: usize = 16;

/// Local ranks that a slice completed something for: the driver wakes those of them that sleep.
#[derive(Default)]
pub struct Touched {
    ranks: SmallVec<[LocalRank; TOUCHED]>,
    more: bool,
}

impl Touched {
    /// Something was completed for this rank.
    #[inline]
    pub(crate) fn add(&mut self, local_rank: LocalRank) {
        if self.ranks.last() == Some(&local_rank) {
            return;
        }
        match self.ranks.len() {
            TOUCHED => self.more = true,
            _ => self.ranks.push(local_rank),
        }
    }

    /// True when nobody was touched.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// The ranks, perhaps with repetitions; none when there were too many to remember: then anybody may be
    /// meant.
    pub fn ranks(&self) -> Option<&[LocalRank]> {
        (!self.more).then_some(&self.ranks)
    }
}

/// A request: its rank, and its slot.
pub type RankRequest = (LocalRank, RequestId);

/// What a receive is told of its message: source, tag, and the word of the length.
pub type Status = (CommRank, i32, u64);

/// Publishes completions for the processor.
pub struct Completer<'m> {
    pub(crate) memory: &'m NicMemory,
    pacing: Pacing,
    /// Whom to wake.
    pub touched: Touched,
}

impl<'m> Completer<'m> {
    /// A completer for slices of this pacing.
    #[inline]
    pub fn new(memory: &'m NicMemory, pacing: Pacing) -> Self {
        Self { memory, pacing, touched: Touched::default() }
    }

    #[inline]
    fn slot(&self, (local_rank, request): RankRequest) -> Result<&'m RequestSlot, Corrupt> {
        self.memory.request(local_rank, request)
    }

    /// Completes the receive of a message that came in its descriptor, whose words these are.
    #[inline]
    pub(crate) fn complete_inline(&mut self, to: RankRequest, send: SendWords<'_>) -> Result<(), Corrupt> {
        if self.pacing.holds_completions() {
            let kind = self.slot(to)?.write_inline(send);
            return self.publish(to, SlotState::Done, kind);
        }
        self.slot(to)?.complete_inline(send);
        self.touched.add(to.0);
        Ok(())
    }

    /// The same of a message that lies in slabs of this rank, of which this is the first.
    #[inline]
    pub fn complete_in_slabs(
        &mut self,
        to: RankRequest,
        send: SendWords<'_>,
        owner: LocalRank,
        slab: SlabId,
    ) -> Result<(), Corrupt> {
        let slot = self.slot(to)?;
        slot.write_status_words(send);
        let kind = slot.write_delivery(&Delivery::InSlab { owner, slab });
        self.publish(to, SlotState::Done, kind)
    }

    /// Completes a receive: its status, and where the bytes are.
    #[inline]
    pub fn complete(&mut self, to: RankRequest, status: Status, delivery: &Delivery) -> Result<(), Corrupt> {
        let slot = self.slot(to)?;
        slot.write_status(status.0, status.1, status.2);
        let kind = slot.write_delivery(delivery);
        self.publish(to, SlotState::Done, kind)
    }

    /// Completes a member's part of a collective, with its result.
    #[inline]
    pub(crate) fn complete_collective(&mut self, to: RankRequest, result: &Delivery) -> Result<(), Corrupt> {
        let kind = self.slot(to)?.write_delivery(result);
        self.publish(to, SlotState::Done, kind)
    }

    /// Completes a request that was taken back.
    pub fn complete_cancelled(&mut self, to: RankRequest) -> Result<(), Corrupt> {
        self.slot(to)?.write_status(CommRank(0), 0, 0);
        self.publish(to, SlotState::Cancelled, DeliveryKind::NONE)
    }

    /// Points a request at its transfer, instance or breach. A transfer is not held back: with fixed slices
    /// the bytes move in the slice in which the message was matched.
    #[inline]
    pub fn refer(&mut self, to: RankRequest, reference: u32, state: SlotState) -> Result<(), Corrupt> {
        self.slot(to)?.write_reference(reference);
        match state {
            SlotState::Released => self.publish(to, state, DeliveryKind::NONE),
            _ => self.publish_now(to, state, DeliveryKind::NONE),
        }
    }

    /// Completes a request whose bytes a transfer moved in the slice before: at once, also with fixed slices.
    pub fn complete_moved(&mut self, to: RankRequest, transfer: u32) -> Result<(), Corrupt> {
        let kind = self.slot(to)?.write_delivery(&Delivery::ByTransfer(transfer));
        self.publish_now(to, SlotState::Done, kind)
    }

    /// Publishes a slot whose words are written, now or at the next slice.
    #[inline]
    fn publish(&mut self, to: RankRequest, state: SlotState, kind: DeliveryKind) -> Result<(), Corrupt> {
        if self.pacing.holds_completions() {
            self.hold_back(to, state, kind)
        } else {
            self.publish_now(to, state, kind)
        }
    }

    #[inline]
    fn publish_now(&mut self, to: RankRequest, state: SlotState, kind: DeliveryKind) -> Result<(), Corrupt> {
        self.slot(to)?.publish(state, kind);
        self.touched.add(to.0);
        Ok(())
    }

    #[cold]
    fn hold_back(&mut self, to: RankRequest, state: SlotState, kind: DeliveryKind) -> Result<(), Corrupt> {
        let note = [to.0.0 as u64 | (to.1.0 as u64) << 32, state as u64, kind.0, 0, 0, 0, 0, 0];
        if !self.memory.header().slice.held.push_within(self.memory, &note, ENTRIES)? {
            // Nothing to note it in: resuming a slice early is better than never.
            return self.publish_now(to, state, kind);
        }
        Ok(())
    }

    /// Publishes everything that was held back: the start of a fixed slice.
    pub fn publish_held(&mut self) -> Result<u32, Corrupt> {
        let mut walk = self.memory.header().slice.held.take_all();
        let mut published = 0;
        while let Some(entry) = walk.next_entry()? {
            let words = self.memory.entry(entry)?.read();
            walk.follow(words[LINKS] as u32);
            let state = match words[1] {
                s if s == SlotState::Released as u64 => SlotState::Released,
                s if s == SlotState::Cancelled as u64 => SlotState::Cancelled,
                _ => SlotState::Done,
            };
            let to = (LocalRank(words[0] as u32), RequestId((words[0] >> 32) as u32));
            self.publish_now(to, state, DeliveryKind(words[2] & !(u32::MAX as u64)))?;
            queue::give_back(self.memory, entry)?;
            published += 1;
        }
        Ok(published)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn many_completions_of_few_ranks_are_told_by_name() {
        let mut touched = Touched::default();
        assert_eq!((touched.is_empty(), touched.ranks()), (true, Some(&[][..])));
        for rank in 0..TOUCHED as u32 {
            (0..100).for_each(|_| touched.add(LocalRank(rank)));
        }
        let ranks: Vec<_> = (0..TOUCHED as u32).map(LocalRank).collect();
        assert_eq!(touched.ranks(), Some(&ranks[..]));
        touched.add(LocalRank(0));
        assert_eq!((touched.is_empty(), touched.ranks()), (false, None), "anybody may be meant");
    }
}

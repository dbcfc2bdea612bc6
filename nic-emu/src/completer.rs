//! Completing requests: the one place where a rank is told that it may go on.
//!
//! With elastic slices a completion is published at once. With fixed slices it is held back and published at the start of the next
//! slice: ranks resume at slice boundaries (paper, §3.1, step 5). Ranks that may sleep are remembered, so that the
//! driver wakes them after it gave the token back.

use arrayvec::ArrayVec;

use crate::memory::{Corrupt, ENTRIES, NicMemory};
use crate::pool::NONE;
use crate::request::{Delivery, SlotState};

/// Local ranks that a slice completed something for: the driver wakes those of them that sleep.
#[derive(Default)]
pub struct Touched {
    ranks: ArrayVec<u32, 64>,
    more: bool,
}

impl Touched {
    #[inline]
    fn add(&mut self, local_index: u32) {
        self.more |= self.ranks.try_push(local_index).is_err();
    }

    /// True when nobody was touched.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// The ranks, perhaps with repetitions; none when there were too many to remember: then anybody may be meant.
    pub fn ranks(&self) -> Option<&[u32]> {
        (!self.more).then_some(&self.ranks)
    }
}

/// Publishes completions for the processor.
pub struct Completer<'m> {
    memory: &'m NicMemory,
    hold: bool,
    /// Whom to wake.
    pub touched: Touched,
}

impl<'m> Completer<'m> {
    /// A completer; `hold` with fixed slices.
    #[inline]
    pub fn new(memory: &'m NicMemory, hold: bool) -> Self {
        Self { memory, hold, touched: Touched::default() }
    }

    /// Completes a receive: status, and where the bytes are.
    #[inline]
    pub fn complete(
        &mut self,
        local_index: u32,
        request: u32,
        (source, tag, bytes): (u32, i32, u64),
        delivery: &Delivery,
    ) -> Result<(), Corrupt> {
        let slot = self.memory.request(local_index, request)?;
        slot.write_status(source, tag, bytes);
        slot.write_delivery(delivery);
        self.publish(local_index, request, SlotState::Done)
    }

    /// Points a request at its transfer or instance. Not held back: with fixed slices the bytes move in the slice in
    /// which the message was matched.
    #[inline]
    pub fn refer(&mut self, local_index: u32, request: u32, reference: u32, state: SlotState) -> Result<(), Corrupt> {
        let slot = self.memory.request(local_index, request)?;
        slot.write_reference(reference);
        match state {
            SlotState::Released => self.publish(local_index, request, state),
            _ => self.publish_now(local_index, request, state),
        }
    }

    /// Publishes a slot whose words are written, now or at the next slice.
    #[inline]
    pub fn publish(&mut self, local_index: u32, request: u32, state: SlotState) -> Result<(), Corrupt> {
        if self.hold { self.hold_back(local_index, request, state) } else { self.publish_now(local_index, request, state) }
    }

    /// Publishes a complete slot at once, also with fixed slices: for what moved in the slice before.
    pub fn publish_unheld(&mut self, local_index: u32, request: u32) -> Result<(), Corrupt> {
        self.publish_now(local_index, request, SlotState::Done)
    }

    #[inline]
    fn publish_now(&mut self, local_index: u32, request: u32, state: SlotState) -> Result<(), Corrupt> {
        self.memory.request(local_index, request)?.publish(state);
        self.touched.add(local_index);
        Ok(())
    }

    fn hold_back(&mut self, local_index: u32, request: u32, state: SlotState) -> Result<(), Corrupt> {
        let header = self.memory.header();
        let free_link = |entry| Ok(self.memory.entry(entry)?.word(7) as u32);
        let Some(entry) = header.pools.entries.take(ENTRIES, free_link)? else {
            // Nothing to note it in: resuming a slice early is better than never.
            return self.publish_now(local_index, request, state);
        };
        let note = local_index as u64 | (request as u64) << 32;
        self.memory.entry(entry)?.write(&[note, state as u64, 0, 0, 0, 0, 0, 0]);
        let last = header.slice.held_last.get();
        if last == NONE {
            header.slice.held_first.set(entry + 1);
        } else {
            self.memory.entry(last - 1)?.set_word(7, entry as u64 + 1);
        }
        header.slice.held_last.set(entry + 1);
        Ok(())
    }

    /// Publishes everything that was held back: the start of a fixed slice.
    pub fn publish_held(&mut self) -> Result<u32, Corrupt> {
        let header = self.memory.header();
        let mut at = header.slice.held_first.get();
        header.slice.held_first.set(NONE);
        header.slice.held_last.set(NONE);
        let mut published = 0;
        while at != NONE {
            let cell = self.memory.entry(at - 1)?;
            let words = cell.read();
            let state = match words[1] {
                s if s == SlotState::Released as u64 => SlotState::Released,
                s if s == SlotState::Cancelled as u64 => SlotState::Cancelled,
                _ => SlotState::Done,
            };
            self.publish_now(words[0] as u32, (words[0] >> 32) as u32, state)?;
            header.pools.entries.give_back(at - 1, |link| {
                self.memory.entry(at - 1)?.set_word(7, link as u64);
                Ok(())
            })?;
            at = words[7] as u32;
            published += 1;
        }
        Ok(published)
    }
}

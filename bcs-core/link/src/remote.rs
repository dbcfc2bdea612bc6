//! Rings that no socket moves: whoever owns the link writes its outgoing ring into the other end's incoming
//! ring, by remote writes of a network card.
//!
//! ```text
//!  outgoing   sending.tail   written to the other end   appending.head    incoming   taking.tail   receiving.head
//!                  │ kept until the other end │ not written yet │                        │ records        │
//!                  ▼ has taken it             ▼                 ▼                        ▼                ▼
//!             ─────█████████████████████████████████████████████─────               ─────██████████████████─────
//! ```
//!
//! Both rings are as large, so a position names the same place in both, and the sender keeps what it has
//! written until it is no longer needed. Such a link has no frames, no seal and no greeting; its owner alone
//! moves it, while others append and take as ever.

use super::end::LinkEnd;
use super::fault::{FaultKind, LinkFault};
use super::state::{PHASE_FREE, PHASE_REMOTE};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

impl LinkEnd {
    /// Opens the link for an owner who moves its rings itself. A link is opened once.
    ///
    /// # Errors
    /// It has been opened before, or has ended.
    pub fn open_remote(&mut self) -> Result<(), LinkFault> {
        let shared = self.shared_state();
        shared.check()?;
        let general = &shared.state().general;
        match general.phase.compare_exchange(PHASE_FREE, PHASE_REMOTE, Release, Relaxed) {
            Ok(_) => Ok(()),
            Err(phase) => Err(shared.fail(FaultKind::Memory, phase.into())),
        }
    }

    /// The position up to which records were appended.
    #[inline]
    pub fn appended_to(&self) -> u64 {
        self.shared_state().state().appending.head.load(Acquire)
    }

    /// What lies before this position in the outgoing ring is not needed any more.
    ///
    /// # Errors
    /// Shared memory is damaged: there is no such position among what was appended.
    #[inline]
    pub fn free_to(&self, position: u64) -> Result<(), LinkFault> {
        let shared = self.shared_state();
        let sending = &shared.state().sending;
        shared.distance(sending.tail.load(Relaxed), position)?;
        shared.distance(position, self.appended_to())?;
        sending.tail.store(position, Release);
        Ok(())
    }

    /// The incoming ring is filled up to this position: who takes records takes them up to there.
    ///
    /// # Errors
    /// That is behind what was published before, or more than a ring holds: the other end does not keep to
    /// its credit.
    #[inline]
    pub fn publish_to(&self, position: u64) -> Result<(), LinkFault> {
        let shared = self.shared_state();
        let head = &shared.state().receiving.head;
        let bytes = position.wrapping_sub(self.taken_to());
        let is_ahead = position.wrapping_sub(head.load(Relaxed)) <= shared.layout.ring_bytes() as u64;
        if bytes > shared.layout.ring_bytes() as u64 || !is_ahead || !position.is_multiple_of(8) {
            return Err(shared.fail(FaultKind::Flooded, bytes));
        }
        head.store(position, Release);
        Ok(())
    }

    /// The position up to which records were taken.
    #[inline]
    pub fn taken_to(&self) -> u64 {
        self.shared_state().state().taking.tail.load(Acquire)
    }
}

#[cfg(test)]
mod tests {
    use crate::{FaultKind, LinkEnd, LinkLayout};
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    /// Two ends, and a card that copies from one ring to the other.
    fn with_ends(work: impl FnOnce(&mut [LinkEnd; 2], &mut dyn FnMut(u64, u64))) {
        let layout = LinkLayout::new(4 << 10).unwrap();
        let room = Layout::from_size_align(layout.bytes(), 4096).unwrap();
        // SAFETY: the room is not empty.
        let memory = [0, 1].map(|_| NonNull::new(unsafe { alloc_zeroed(room) }).unwrap());
        // SAFETY: the memory is of this size, zeros, and given back after the ends.
        let mut ends = memory.map(|memory| unsafe { LinkEnd::attach(memory, layout) });
        ends.iter_mut().for_each(|end| end.open_remote().unwrap());
        let mut copy = |from: u64, to: u64| {
            for position in from..to {
                let at = position as usize % layout.ring_bytes();
                // SAFETY: both places lie in the rings, of which nothing is used now.
                unsafe {
                    let byte = memory[0].add(layout.outgoing_at() + at).read();
                    memory[1].add(layout.incoming_at() + at).write(byte);
                }
            }
        };
        work(&mut ends, &mut copy);
        // SAFETY: it was allocated so.
        memory.iter().for_each(|memory| unsafe { dealloc(memory.as_ptr(), room) });
    }

    #[test]
    fn records_that_a_card_has_copied_are_taken_and_room_comes_back_when_it_is_freed() {
        with_ends(|[from, to], copy| {
            let mut copied = 0;
            for round in 0..50_u8 {
                while from.append(&[&[round; 100], &[round; 7]]).unwrap() {}
                let appended = from.appended_to();
                assert!(appended - copied > 3 << 10);
                copy(copied, appended);
                assert!(!to.has_records());
                to.publish_to(appended).unwrap();
                let mut taken = 0;
                while let Some(mut taker) = to.taker() {
                    let mut record = Vec::new();
                    taker.next(|found| found.append_to(0, &mut record)).unwrap().unwrap();
                    assert_eq!(record, [round; 107]);
                    taken += 1;
                }
                assert!(taken > 30 && to.taken_to() == appended);
                assert!(!from.append(&[&[round; 107]]).unwrap());
                from.free_to(appended).unwrap();
                copied = appended;
            }
        });
    }

    #[test]
    fn positions_that_cannot_be_end_the_link() {
        let wrong: [fn(&mut [LinkEnd; 2]) -> FaultKind; 5] = [
            |[_, to]| to.publish_to(8 << 10).unwrap_err().kind,
            |[_, to]| to.publish_to(12).unwrap_err().kind,
            |[_, to]| {
                to.publish_to(64).unwrap();
                to.publish_to(56).unwrap_err().kind
            },
            |[from, _]| from.free_to(8).unwrap_err().kind,
            |[from, _]| from.open_remote().unwrap_err().kind,
        ];
        let kinds = [
            FaultKind::Flooded,
            FaultKind::Flooded,
            FaultKind::Flooded,
            FaultKind::Memory,
            FaultKind::Memory,
        ];
        for (wrong, kind) in wrong.into_iter().zip(kinds) {
            with_ends(|ends, _| {
                assert_eq!(wrong(ends), kind);
                assert!(ends.iter().any(|end| end.fault().is_some_and(|fault| fault.kind == kind)));
            });
        }
    }
}

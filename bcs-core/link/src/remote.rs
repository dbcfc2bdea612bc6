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
//! writes to the other end, while others append and take as ever. What has come any process sees, where the
//! other end writes straight into the ring: a [signal](SignalWords) in memory says how far.

use super::end::LinkEnd;
use super::fault::{FaultKind, LinkFault};
use super::signal::{PROVEN_BYTES, SignalWords, digest};
use super::state::{PHASE_FREE, PHASE_REMOTE};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

impl LinkEnd {
    /// Opens the link for an owner who moves its rings itself. A link is opened once. `is_signalled` says
    /// that the other end writes straight into the incoming ring, so that whoever looks at the signal may
    /// publish what has come; otherwise the owner alone does.
    ///
    /// # Errors
    /// It has been opened before, or has ended.
    pub fn open_remote(&mut self, is_signalled: bool) -> Result<(), LinkFault> {
        let shared = self.shared_state();
        shared.check()?;
        let state = shared.state();
        match state.general.phase.compare_exchange(PHASE_FREE, PHASE_REMOTE, Release, Relaxed) {
            Ok(_) => {
                state.general.signalled.store(is_signalled.into(), Relaxed);
                // Its owner has greeted the other end in its own way.
                state.receiving.greeted.store(1, Release);
                Ok(())
            }
            Err(phase) => Err(shared.fail(FaultKind::Memory, phase.into())),
        }
    }

    /// The end that knows where the other one writes its signal.
    ///
    /// # Safety
    /// The signal can be read as long as the end is used, and is written by the other end of this link alone.
    pub unsafe fn with_signal(mut self, signal: NonNull<SignalWords>) -> Self {
        self.signal = Some(signal);
        self
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

    /// All up to this position is on its way to the other end.
    #[inline]
    pub fn note_written(&self, position: u64) {
        self.shared_state().state().sending.written.store(position, Release);
    }

    /// Whether something was appended that the owner has not sent on its way.
    #[inline]
    pub fn has_unwritten(&self) -> bool {
        self.shared_state().state().sending.written.load(Acquire) != self.appended_to()
    }

    /// The position up to which the outgoing ring is free.
    #[inline]
    pub fn freed_to(&self) -> u64 {
        self.shared_state().state().sending.tail.load(Acquire)
    }

    /// Publishes what has come, as far as the other end's signal says. True when something has; what another
    /// process looks at just now is left to it.
    ///
    /// # Errors
    /// The link has ended, or the signal is none that the other end can give.
    #[inline]
    pub fn publish_signalled(&self) -> Result<bool, LinkFault> {
        let shared = self.shared_state();
        let state = shared.state();
        let Some(signal) = self.signal else { return Ok(false) };
        // SAFETY: it can be read as long as this end is used.
        let signal = unsafe { signal.as_ref() };
        let is_new = |position| position != state.receiving.head.load(Acquire);
        if state.general.signalled.load(Relaxed) == 0 || !is_new(signal.peek()) {
            return Ok(false);
        }
        shared.check()?;
        let Some(_held) = shared.try_hold(&state.receiving.lock, self.process()) else { return Ok(false) };
        // Whoever has had the lock meanwhile may have published more than was seen above.
        match signal.read_with(|from, to| self.digest_of(from, to)).filter(|position| is_new(*position)) {
            Some(position) => self.publish_to(position).map(|()| true),
            None => Ok(false),
        }
    }

    /// What follows from the bytes of the incoming ring between two positions; none if a signal cannot be for
    /// them.
    fn digest_of(&self, from: u64, to: u64) -> Option<u64> {
        let shared = self.shared_state();
        let bytes = to.wrapping_sub(from);
        let most = PROVEN_BYTES.min(shared.layout.ring_bytes() as u64);
        let ring = shared.incoming();
        let is_one_piece = bytes <= most && bytes <= ring.piece_bytes(from) as u64;
        if !is_one_piece || !(from | to).is_multiple_of(8) {
            return None;
        }
        // SAFETY: so many bytes lie in the ring, which begins at a page, from a multiple of 8 on.
        Some(unsafe { digest(NonNull::new(ring.at(from))?, bytes as usize) })
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
    use crate::{FaultKind, LinkEnd, LinkLayout, SignalWords};
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
        ends.iter_mut().for_each(|end| end.open_remote(true).unwrap());
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

    /// Runs with an end that has a signal, and the signal.
    fn with_signal(work: impl FnOnce(LinkEnd, &SignalWords)) {
        let layout = LinkLayout::new(4 << 10).unwrap();
        let room = Layout::from_size_align(layout.bytes(), 4096).unwrap();
        let signal = Box::new(SignalWords::default());
        // SAFETY: the room is not empty.
        let memory = NonNull::new(unsafe { alloc_zeroed(room) }).unwrap();
        // SAFETY: both are there until the end is gone.
        let end = unsafe { LinkEnd::attach(memory, layout).with_signal(NonNull::from(&*signal)) };
        work(end, &signal);
        // SAFETY: it was allocated so.
        unsafe { dealloc(memory.as_ptr(), room) };
    }

    #[test]
    fn whoever_sees_the_signal_publishes_what_has_come_once() {
        with_signal(|mut end, signal| {
            signal.write(64);
            assert_eq!(end.publish_signalled(), Ok(false), "the link is not open");
            end.open_remote(true).unwrap();
            assert!(end.is_up());
            assert_eq!(end.publish_signalled(), Ok(true));
            assert_eq!((end.received_to(), end.publish_signalled()), (64, Ok(false)));
            signal.write(4 << 10);
            assert_eq!((end.publish_signalled(), end.received_to()), (Ok(true), 4 << 10));
            signal.write((4 << 10) + 8);
            assert_eq!(end.publish_signalled().unwrap_err().kind, FaultKind::Flooded, "nothing was taken");
            assert!(end.publish_signalled().is_err(), "the link has ended");
        });
        with_signal(|mut end, signal| {
            end.open_remote(false).unwrap();
            signal.write(64);
            assert_eq!((end.publish_signalled(), end.received_to()), (Ok(false), 0), "the owner publishes");
        });
    }

    #[test]
    fn a_signal_that_comes_with_its_bytes_is_published_when_they_have_come() {
        with_signal(|mut end, signal| {
            end.open_remote(true).unwrap();
            let ring = end.shared_state().incoming();
            let zeros = end.digest_of(0, 64).unwrap();
            // SAFETY: the end has the ring, and nothing else uses it.
            let write = |byte: u8| unsafe { ring.write(0, [byte; 64].as_ptr(), 64) };
            write(7);
            let sevens = end.digest_of(0, 64).unwrap();
            assert_ne!(zeros, sevens);
            write(0);
            signal.write_with(64, 0, sevens);
            assert_eq!((end.publish_signalled(), end.received_to()), (Ok(false), 0));
            write(7);
            assert_eq!((end.publish_signalled(), end.received_to()), (Ok(true), 64));
            // What no signal can be for is not looked at.
            for (from, to) in [(64, 0), (0, 8 << 10), (60, 124), (64, (4 << 10) + 64)] {
                assert_eq!(end.digest_of(from, to), None);
                signal.write_with(to, from, 0);
                assert_eq!((end.publish_signalled(), end.received_to()), (Ok(false), 64));
            }
        });
    }

    #[test]
    fn what_is_appended_is_unwritten_until_its_owner_has_sent_it() {
        with_ends(|[from, _], _| {
            assert!(!from.has_unwritten());
            from.append(&[&[1; 16]]).unwrap();
            assert!(from.has_unwritten());
            from.note_written(from.appended_to());
            assert!(!from.has_unwritten());
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
            |[from, _]| from.open_remote(true).unwrap_err().kind,
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

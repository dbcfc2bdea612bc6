//! How a sender writes NIC memory that another core reads: through its caches, or past them.
//!
//! Between cores of one L3 storing through the caches is four times as fast, as the reader takes the lines
//! from there. Between cores that are far from each other it is four times as slow: every line that the
//! reader has held must be taken from it first, one round trip each, while streaming stores do not ask for
//! the line. Which one it is changes while a job runs, where the host of a virtual machine moves its cores
//! about. So each rank times what it does and, now and then, what it does not do. Nobody else needs to know:
//! a reader reads either.

use super::copy;
use crate::policy::channel::{
    ATTEMPT_BYTES, ATTEMPT_JUDGED_BYTES, FIRST_ATTEMPT_BYTES, FORGETTING_COPIES, FROM_MEMORY_TICKS,
    QUICK_TICKS, QUICK_TRIAL_MESSAGES, THROUGH_CACHES_TRIAL_COPIES,
};
use crate::policy::channel::{TIMED_BYTES, TRIAL_BYTES, is_worth_streaming, stays_streaming};

/// What a rank has learnt of its stores.
#[derive(Debug, Default)]
pub struct Stores {
    streaming: bool,
    /// Copies that were long enough to be timed.
    copies: u32,
    /// Long messages that were not stored, since one was tried.
    passed_by: u32,
    /// Bytes of these copies before streaming was tried for the first time.
    before: usize,
    /// Bytes that are still to be streamed before it is judged; 0 when no attempt is under way.
    attempt: usize,
    /// Ticks in which 64 KB are stored through the caches, and past them; 0 when not known.
    ticks: [u64; 2],
}

impl Stores {
    /// Whether it copies past the caches now, where each chunk that is published costs a wait until its
    /// stores are out.
    #[inline]
    pub fn are_streaming(&self) -> bool {
        self.streaming
    }

    /// Whether it copies past the caches as what has been found to be faster, and not to find out.
    #[inline]
    pub fn are_settled_on_streaming(&self) -> bool {
        self.streaming && self.attempt == 0
    }

    /// Whether a message is stored that could be read: where that is so quick that two copies take less time
    /// than a system call and one copy, as far as is known. Past the caches it is. Where it is not, one in
    /// some is, so that a change is noticed.
    #[inline]
    pub fn take_long_message(&mut self) -> bool {
        if self.are_quick() {
            return true;
        }
        self.passed_by = (self.passed_by + 1) % QUICK_TRIAL_MESSAGES;
        self.passed_by == 0
    }

    /// Whether two copies through NIC memory take less time than a system call and one copy, as far as is
    /// known.
    #[inline]
    pub fn are_quick(&self) -> bool {
        self.streaming || self.ticks[0] < QUICK_TICKS
    }

    /// Whether it knows how fast copies past the caches are.
    #[inline]
    pub fn have_tried_streaming(&self) -> bool {
        self.ticks[1] != 0 && self.attempt == 0
    }

    /// Copies into NIC memory for another core. Whatever is published after that with a release store is seen
    /// with the bytes. `ticks` is the processor's counter; 0 where there is none that a program may read:
    /// then nothing is learnt, and stores go through the caches.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `bytes` bytes, and they do not overlap.
    #[inline]
    pub unsafe fn copy_in(&mut self, from: *const u8, to: *mut u8, bytes: usize, ticks: impl Fn() -> u64) {
        if bytes < TIMED_BYTES {
            // SAFETY: the caller's promise.
            return unsafe { store(self.streaming, from, to, bytes) };
        }
        let trial = self.is_trial();
        // A trial costs little even where it is slow: the rest goes the way that is known to be faster.
        let first = if trial { bytes.min(TRIAL_BYTES) } else { bytes };
        let streaming = self.streaming && !trial;
        let started = ticks();
        // SAFETY: the caller's promise; the two parts are those of the whole.
        unsafe { store(streaming, from, to, first) };
        let taken = ticks().saturating_sub(started);
        let (from, to) = (from.wrapping_add(first), to.wrapping_add(first));
        // SAFETY: as above.
        unsafe { store(self.streaming, from, to, bytes - first) };
        self.note(streaming, taken, first);
    }

    /// Whether the next copy goes through the caches although others do not.
    #[inline]
    fn is_trial(&mut self) -> bool {
        self.copies = self.copies.wrapping_add(1);
        self.streaming && self.attempt == 0 && self.copies.is_multiple_of(THROUGH_CACHES_TRIAL_COPIES)
    }

    /// Moves an estimate towards a sample: half of the way down, as nothing makes a copy faster than it can
    /// be; upwards by a quarter at most, as much makes it slower once. Then decides.
    #[inline]
    fn note(&mut self, streaming: bool, ticks: u64, bytes: usize) {
        if ticks == 0 {
            return;
        }
        let sample = ((ticks << 16) / bytes as u64).max(1);
        let estimate = &mut self.ticks[streaming as usize];
        *estimate = match *estimate {
            0 => sample,
            old if sample < old => (old + sample) / 2,
            old => old + (sample - old).min(old) / 4,
        };
        let [through_caches, past_them] = self.ticks;
        if self.streaming {
            self.attempt = self.attempt.saturating_sub(bytes);
            if self.attempt > ATTEMPT_JUDGED_BYTES {
                self.ticks[1] = 0;
            } else if self.attempt == 0 {
                self.streaming = stays_streaming(through_caches, past_them);
            }
        } else if past_them == 0 {
            self.before += bytes;
            self.streaming = self.before >= FIRST_ATTEMPT_BYTES;
            self.attempt = ATTEMPT_BYTES;
        } else if is_worth_streaming(through_caches, past_them) {
            self.streaming = true;
            self.attempt = ATTEMPT_BYTES;
        } else if self.copies.is_multiple_of(FORGETTING_COPIES) && past_them > FROM_MEMORY_TICKS {
            // An attempt may have met a bad moment. No further than what can be: near cores would attempt it
            // for ever.
            self.ticks[1] -= past_them / 4;
        }
    }
}

/// # Safety
/// As [`Stores::copy_in`].
#[inline]
unsafe fn store(streaming: bool, from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { if streaming { copy::stream_in(from, to, bytes) } else { copy::copy(from, to, bytes) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What so many copies of 8 KB learn where 64 KB take this long; answers how many of them streamed.
    fn learn(stores: &mut Stores, copies: u32, through_caches: u64, past_them: u64) -> u32 {
        let mut streamed = 0;
        for _ in 0..copies {
            let streaming = !stores.is_trial() && stores.streaming;
            streamed += streaming as u32;
            // Lines that were stored through the caches before are slow to stream.
            let slow = if stores.attempt > ATTEMPT_BYTES / 2 { through_caches } else { 0 };
            let ticks = if streaming { past_them + slow } else { through_caches };
            stores.note(streaming, ticks / 8, 8 << 10);
        }
        streamed
    }

    #[test]
    fn the_faster_stores_are_found_and_found_again_when_the_machine_changes() {
        let mut stores = Stores::default();
        assert!(learn(&mut stores, 10_000, 5_000, 14_000) < 700);
        assert!(learn(&mut stores, 10_000, 50_000, 8_000) > 9_500);
        assert!(learn(&mut stores, 10_000, 5_000, 14_000) < 700);
        assert!(!stores.are_streaming());
        // Of messages of 4 KB: the sender alone would stream.
        assert!(learn(&mut stores, 10_000, 8_600, 2_500) < 700);
    }

    #[test]
    fn an_attempt_at_a_bad_moment_is_repeated() {
        let mut stores = Stores::default();
        learn(&mut stores, 600, 50_000, 60_000);
        assert!(!stores.are_streaming());
        assert!(learn(&mut stores, 10_000, 50_000, 8_000) > 5_000);
    }

    #[test]
    fn a_core_that_is_taken_away_now_and_then_changes_nothing() {
        let mut stores = Stores::default();
        learn(&mut stores, 2_000, 5_000, 14_000);
        for _ in 0..50 {
            stores.note(false, 50_000_000, 8 << 10);
            learn(&mut stores, 20, 5_000, 14_000);
            assert!(!stores.are_streaming());
        }
    }

    #[test]
    fn without_a_counter_stores_go_through_the_caches() {
        let mut stores = Stores::default();
        learn(&mut stores, 1_000, 0, 0);
        assert!(!stores.are_streaming());
    }

    #[test]
    fn bytes_arrive_whatever_is_being_tried() {
        let mut stores = Stores::default();
        let from: Vec<u8> = (0..70_000u32).map(|i| (i * 7 + i / 251) as u8).collect();
        for round in 0..640_usize {
            stores.streaming = round % 3 == 0;
            let bytes = if round % 2 == 0 { round * 31 % 70_000 } else { round % 10_000 };
            let mut to = vec![0xaau8; bytes + 64];
            // SAFETY: both are long enough.
            unsafe { stores.copy_in(from.as_ptr(), to.as_mut_ptr(), bytes, || round as u64) };
            assert!(to[..bytes] == from[..bytes] && to[bytes..] == [0xaa; 64]);
        }
    }
}

//! How a sender writes NIC memory that another core reads: through its caches, or past them.
//!
//! Between cores of one L3 storing through the caches is four times as fast, as the reader takes the lines from there. Between cores
//! that are far from each other it is four times as slow: every line that the reader has held must be taken from it first,
//! one round trip each, while streaming stores do not ask for the line. Which one it is changes while a job runs, where the
//! host of a virtual machine moves its cores about. So each rank times what it does and, now and then, what it does not do. Nobody
//! else needs to know: a reader reads either.

use super::copy;
use super::pace::ticks;
use super::policy::{ALWAYS_TIMED_BYTES, TIMED_BYTES, streams_instead};
use super::policy::{STREAMING_TRIAL_COPIES, THROUGH_CACHES_TRIAL_COPIES};

/// What a rank has learnt of its stores.
#[derive(Debug, Default)]
pub struct Stores {
    streaming: bool,
    copies: u32,
    /// Ticks in which 64 KB are stored through the caches, and past them; 0 when not known.
    ticks: [u64; 2],
}

impl Stores {
    /// Whether it copies past the caches now, where each chunk that is published costs a wait until its stores are out.
    #[inline]
    pub fn are_streaming(&self) -> bool {
        self.streaming
    }

    /// Copies into NIC memory for another core. Whatever is published after that with a release store is seen with the bytes.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `bytes` bytes, and they do not overlap.
    #[inline]
    pub unsafe fn copy_in(&mut self, from: *const u8, to: *mut u8, bytes: usize) {
        self.copies = self.copies.wrapping_add(1);
        if bytes < TIMED_BYTES || bytes < ALWAYS_TIMED_BYTES && !self.copies.is_multiple_of(4) {
            // SAFETY: the caller's promise.
            return unsafe {
                if self.streaming { copy::stream_in(from, to, bytes) } else { copy::copy_in(from, to, bytes) }
            };
        }
        let trial = self.copies.is_multiple_of(if self.streaming {
            THROUGH_CACHES_TRIAL_COPIES
        } else {
            STREAMING_TRIAL_COPIES
        });
        // A trial costs little even where it is slow: the rest goes the way that is known to be faster.
        let first = if trial { TIMED_BYTES } else { bytes };
        // SAFETY: the caller's promise; the two parts are those of the whole.
        unsafe {
            self.timed(self.streaming != trial, from, to, first);
            if first < bytes {
                self.timed(self.streaming, from.add(first), to.add(first), bytes - first);
            }
        }
        if trial {
            self.streaming = streams_instead(self.ticks[0], self.ticks[1], self.streaming);
        }
    }

    /// # Safety
    /// As [`Self::copy_in`].
    #[inline]
    unsafe fn timed(&mut self, streaming: bool, from: *const u8, to: *mut u8, bytes: usize) {
        let started = ticks();
        // SAFETY: the caller's promise.
        unsafe { if streaming { copy::stream_in(from, to, bytes) } else { copy::copy_in(from, to, bytes) } }
        self.note(streaming, ticks().saturating_sub(started), bytes);
    }

    /// Moves an estimate towards a sample: half of the way down, as nothing makes a copy faster than it can be; upwards by a
    /// quarter at most, as much makes it slower once.
    #[inline]
    fn note(&mut self, streaming: bool, ticks: u64, bytes: usize) {
        if ticks == 0 || bytes < TIMED_BYTES {
            return;
        }
        let sample = ((ticks << 16) / bytes as u64).max(1);
        let estimate = &mut self.ticks[streaming as usize];
        *estimate = match *estimate {
            0 => sample,
            old if sample < old => (old + sample) / 2,
            old => old + (sample - old).min(old) / 4,
        };
        if !streaming && !self.streaming && self.ticks[1] != 0 {
            self.streaming = streams_instead(self.ticks[0], self.ticks[1], false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What so many copies of 8 KB learn where 64 KB take this long; answers how many of them streamed.
    fn learn(stores: &mut Stores, copies: u32, through_caches: u64, past_them: u64) -> u32 {
        let mut streamed = 0;
        for _ in 0..copies {
            stores.copies += 1;
            let period = if stores.streaming { THROUGH_CACHES_TRIAL_COPIES } else { STREAMING_TRIAL_COPIES };
            let trial = stores.copies.is_multiple_of(period);
            let streaming = stores.streaming != trial;
            streamed += streaming as u32;
            let ticks = if streaming { past_them } else { through_caches };
            stores.note(streaming, ticks / 8, 8 << 10);
            if trial {
                stores.streaming = streams_instead(stores.ticks[0], stores.ticks[1], stores.streaming);
            }
        }
        streamed
    }

    #[test]
    fn the_faster_stores_are_found_and_found_again_when_the_machine_changes() {
        let mut stores = Stores::default();
        assert!(learn(&mut stores, 10_000, 5_000, 14_000) < 100);
        assert!(learn(&mut stores, 10_000, 80_000, 15_000) > 9_500);
        assert!(learn(&mut stores, 10_000, 5_000, 14_000) < 1_000);
        assert!(!stores.streaming);
    }

    #[test]
    fn a_core_that_is_taken_away_now_and_then_changes_nothing() {
        let mut stores = Stores::default();
        learn(&mut stores, 2_000, 5_000, 14_000);
        for _ in 0..50 {
            stores.note(false, 50_000_000, 8 << 10);
            learn(&mut stores, 20, 5_000, 14_000);
            assert!(!stores.streaming);
        }
    }

    #[test]
    fn bytes_arrive_whatever_is_being_tried() {
        let mut stores = Stores::default();
        let from: Vec<u8> = (0..70_000u32).map(|i| (i * 7 + i / 251) as u8).collect();
        for round in 0..2 * STREAMING_TRIAL_COPIES as usize {
            let bytes = if round % 2 == 0 { round * 31 % 70_000 } else { round % 10_000 };
            let mut to = vec![0xaau8; bytes + 64];
            // SAFETY: both are long enough.
            unsafe { stores.copy_in(from.as_ptr(), to.as_mut_ptr(), bytes) };
            assert!(to[..bytes] == from[..bytes] && to[bytes..] == [0xaa; 64]);
        }
    }
}

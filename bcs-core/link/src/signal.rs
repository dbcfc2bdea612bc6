//! A signal: a position that one node writes into another's memory, and that every process there sees without
//! a call.
//!
//! ```text
//!  0          8        16        24
//!  ┌──────────┬────────┬─────────┐
//!  │ position │ proven │ witness │   one remote write of 24 bytes, at a multiple of 64
//!  └──────────┴────────┴─────────┘
//! ```
//!
//! No provider promises that the bytes of one write appear at once, or in which order; a provider over a
//! stream of bytes may well stop in the middle of a word. So the position comes with a witness that follows
//! from all of its bits: a mixture of an old signal and a new one has none. Zeros are no signal.
//!
//! A signal may travel in one write with the last bytes that it is for. Whether they have come before it
//! nobody promises either, so the witness follows from them, too: from those between the positions `proven`
//! and `position`. Who finds another witness looks again. Of a signal by itself both positions are one, and
//! what it is for has come when it is seen, by the order in which it was written.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The bytes of a signal.
pub const SIGNAL_BYTES: usize = 24;

/// Signals stand so far apart: each has a cache line of its own.
pub const SIGNAL_STRIDE: usize = 64;

/// The most bytes that a signal proves: who looks at it reads all of them, each time. Not measured.
pub const PROVEN_BYTES: u64 = 32 << 10;

/// What words mean to each other: multiplication spreads each bit over those above it, rotation over the
/// others. Of two values of one argument, with the other one as it is, the results are not the same.
fn mixed(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
}

/// What follows from bytes, in whole words: from each of them.
///
/// # Safety
/// So many bytes can be read there, and they begin at a multiple of 8. Others may write them meanwhile.
pub unsafe fn digest(from: NonNull<u8>, bytes: usize) -> u64 {
    let mut lanes = LANES;
    let words = from.cast::<u64>();
    for index in 0..bytes / 8 {
        // SAFETY: the caller's promise.
        let word = unsafe { words.add(index).read_volatile() };
        // Lanes, so that one word need not wait for the one before.
        lanes[index % LANES.len()] = mixed(lanes[index % LANES.len()], word);
    }
    lanes.into_iter().fold(bytes as u64, mixed)
}

const LANES: [u64; 4] =
    [0xd1b5_4a32_d192_ed03, 0x8cb9_2ba7_2f3d_8dd7, 0xaef1_7502_b3d1_6c35, 0xe703_7ed1_a0b4_28db];

fn witness(position: u64, proven: u64, digest: u64) -> u64 {
    const MASK: u64 = 0xb5c5_1d0f_a9d3_6e21;
    [position, proven, digest].into_iter().fold(MASK, mixed) ^ MASK.rotate_left(17)
}

/// Where a signal lies.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct SignalWords {
    position: AtomicU64,
    proven: AtomicU64,
    witness: AtomicU64,
}

impl SignalWords {
    /// Writes a signal, to be sent from here, behind what it is for.
    pub fn write(&self, position: u64) {
        self.write_with(position, position, 0);
    }

    /// Writes a signal that is sent with the bytes from `proven` on, from which this [`digest`] follows.
    pub fn write_with(&self, position: u64, proven: u64, digest: u64) {
        self.position.store(position, Ordering::Relaxed);
        self.proven.store(proven, Ordering::Relaxed);
        self.witness.store(witness(position, proven, digest), Ordering::Release);
    }

    /// What stands where the position does, whether or not it has come whole.
    #[inline]
    pub fn peek(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }

    /// The position, if all of it has come. What was written before the signal can be read behind this.
    #[inline]
    pub fn read(&self) -> Option<u64> {
        self.read_with(|_, _| None)
    }

    /// [`SignalWords::read`] of a signal that may have come with the last bytes that it is for. `digest` says
    /// what follows from the bytes between two positions; none if there can be none.
    #[inline]
    pub fn read_with(&self, digest: impl FnOnce(u64, u64) -> Option<u64>) -> Option<u64> {
        let position = self.position.load(Ordering::Acquire);
        let proven = self.proven.load(Ordering::Acquire);
        let found = self.witness.load(Ordering::Acquire);
        let digest = if proven == position { 0 } else { digest(proven, position)? };
        if witness(position, proven, digest) != found {
            return None;
        }
        fence(Ordering::Acquire);
        Some(position)
    }
}

const _: () = assert!(size_of::<SignalWords>() == SIGNAL_STRIDE && SIGNAL_BYTES <= SIGNAL_STRIDE);

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(words: [u64; 3]) -> [u8; SIGNAL_BYTES] {
        let mut bytes = [0; SIGNAL_BYTES];
        for (bytes, word) in bytes.chunks_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn read(bytes: [u8; SIGNAL_BYTES], digest: u64) -> Option<u64> {
        let [position, proven, witness] = [0, 8, 16]
            .map(|at| AtomicU64::new(u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))));
        SignalWords { position, proven, witness }.read_with(|_, _| Some(digest))
    }

    #[test]
    fn zeros_are_no_signal_and_what_is_written_is_read() {
        let words = SignalWords::default();
        assert_eq!(words.read(), None);
        for position in [0, 8, 1 << 40, u64::MAX] {
            words.write(position);
            assert_eq!((words.read(), words.peek()), (Some(position), position));
        }
    }

    #[test]
    fn no_mixture_of_two_signals_is_one() {
        let mut random = fastrand::Rng::with_seed(1);
        for is_proven in [false, true] {
            for _ in 0..15 {
                let old = random.u64(..1 << 15) * 8;
                let new = old + random.u64(1..64) * 8;
                let of = |position: u64| match is_proven {
                    true => [
                        position,
                        position - position.min(64),
                        witness(position, position - position.min(64), 7),
                    ],
                    false => [position, position, witness(position, position, 0)],
                };
                let (before, after) = (bytes_of(of(old)), bytes_of(of(new)));
                let differing: Vec<usize> =
                    (0..SIGNAL_BYTES).filter(|at| before[*at] != after[*at]).collect();
                for mixture in 1..(1_u32 << differing.len()) - 1 {
                    let mut mixed = before;
                    for (bit, at) in differing.iter().enumerate() {
                        if mixture >> bit & 1 != 0 {
                            mixed[*at] = after[*at];
                        }
                    }
                    assert_eq!(read(mixed, 7), None, "{old} and {new}: {mixture:#x}");
                }
                assert_eq!(read(after, 7), Some(new));
            }
        }
    }

    #[test]
    fn a_signal_is_none_before_all_that_it_proves_has_come() {
        let mut random = fastrand::Rng::with_seed(2);
        for words in [1, 2, 3, 4, 5, 16, 1000] {
            let sent: Vec<u64> = (0..words).map(|_| random.u64(..)).collect();
            let digest_of = |words: &[u64]| {
                let from = NonNull::from(words).cast();
                // SAFETY: so many bytes are there.
                unsafe { digest(from, size_of_val(words)) }
            };
            let (signal, position) = (SignalWords::default(), 8 * words as u64);
            signal.write_with(position, 0, digest_of(&sent));
            let mut come = vec![0; words];
            for at in 0..words {
                assert_eq!(signal.read_with(|_, _| Some(digest_of(&come))), None, "{at} of {words}");
                // The bytes of a word come one by one, too.
                come[at] = sent[at] & 0xffff;
                assert_eq!(signal.read_with(|_, _| Some(digest_of(&come))), None, "{at} of {words}");
                come[at] = sent[at];
            }
            assert_eq!(signal.read_with(|_, _| Some(digest_of(&come))), Some(position));
            assert_eq!(signal.read(), None, "it proves bytes, and nobody has looked at them");
            come.swap(0, words - 1);
            let is_same = come == sent;
            assert_eq!(signal.read_with(|_, _| Some(digest_of(&come))).is_some(), is_same);
        }
    }
}

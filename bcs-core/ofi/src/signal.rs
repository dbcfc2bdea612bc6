//! A signal: a position that one node writes into another's memory, and that the other one sees without a
//! call.
//!
//! ```text
//!  0          8           16
//!  ┌──────────┬───────────┐
//!  │ position │ witness   │   one remote write of 16 bytes, at a multiple of 64
//!  └──────────┴───────────┘
//! ```
//!
//! No provider promises that the bytes of one write appear at once, or in which order; a provider over a
//! stream of bytes may well stop in the middle of a word. So the position comes with a witness that follows
//! from all of its bits: a mixture of an old signal and a new one has none. Zeros are no signal.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The bytes of a signal.
pub(crate) const SIGNAL_BYTES: usize = 16;

/// Signals stand so far apart: each has a cache line of its own.
pub(crate) const SIGNAL_STRIDE: usize = 64;

/// What shows that a position came whole: multiplication spreads each bit over those above it, rotation over
/// the others.
fn witness(position: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    const MASK: u64 = 0xb5c5_1d0f_a9d3_6e21;
    (position ^ MASK).wrapping_mul(FACTOR).rotate_left(32).wrapping_mul(FACTOR) ^ MASK.rotate_left(17)
}

/// Where a signal lies.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct SignalWords {
    position: AtomicU64,
    witness: AtomicU64,
}

impl SignalWords {
    /// Writes a signal, to be sent from here.
    pub fn write(&self, position: u64) {
        self.position.store(position, Ordering::Relaxed);
        self.witness.store(witness(position), Ordering::Release);
    }

    /// The position, if all of it has come. What was written before the signal can be read behind this.
    #[inline]
    pub fn read(&self) -> Option<u64> {
        let position = self.position.load(Ordering::Acquire);
        let found = self.witness.load(Ordering::Acquire);
        if witness(position) != found {
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

    fn words() -> SignalWords {
        SignalWords { position: AtomicU64::new(0), witness: AtomicU64::new(0) }
    }

    fn bytes_of(position: u64) -> [u8; SIGNAL_BYTES] {
        let mut bytes = [0; SIGNAL_BYTES];
        bytes[..8].copy_from_slice(&position.to_le_bytes());
        bytes[8..].copy_from_slice(&witness(position).to_le_bytes());
        bytes
    }

    #[test]
    fn zeros_are_no_signal_and_what_is_written_is_read() {
        let words = words();
        assert_eq!(words.read(), None);
        for position in [0, 8, 1 << 40, u64::MAX] {
            words.write(position);
            assert_eq!(words.read(), Some(position));
        }
    }

    #[test]
    fn no_mixture_of_two_signals_is_one() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..30 {
            let old = random.u64(..1 << 24) * 8;
            let new = old + random.u64(1..64) * 8;
            let (before, after) = (bytes_of(old), bytes_of(new));
            for mixture in 0..1_u32 << SIGNAL_BYTES {
                let byte = |at: usize| if mixture >> at & 1 == 0 { before[at] } else { after[at] };
                let mixed: [u8; SIGNAL_BYTES] = std::array::from_fn(byte);
                if mixed == before || mixed == after {
                    continue;
                }
                let [position, found] =
                    [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|byte| mixed[at + byte])));
                assert_ne!(witness(position), found, "{old} and {new}: {mixture:#x}");
            }
        }
    }
}

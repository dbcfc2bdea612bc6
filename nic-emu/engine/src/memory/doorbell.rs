//! Doorbells: how a rank tells the NIC that it posted (design §4, "its cost follows the work, not the
//! ranks").
//!
//! A rank has three rings (send, receive, collective). Their heads are packed in one word, the rank's
//! doorbell, which the rank alone writes, with a plain release store: writing it publishes the entries and
//! rings the bell in one. The processor keeps the word it last saw, the taken word; a rank has work exactly
//! while the two differ. There is nothing to clear, so nothing can be lost between clearing and looking.

use crate::memory::sync::{AtomicU64, Ordering};

/// Bits of a ring's counter within a doorbell word: three fit in 64 bits.
pub(crate) const COUNTER_BITS: u32 = 21;
const MASK: u64 = (1 << COUNTER_BITS) - 1;

/// Which of a rank's rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RingKind {
    /// Send descriptors, to the Buffer Sender.
    Send = 0,
    /// Receive descriptors, to the Buffer Receiver.
    Receive = 1,
    /// Collective descriptors, to the Buffer Sender for the Collective and the Reduce Helper.
    Collective = 2,
}

/// Three ring counters in a word. Each counts entries modulo 2^21; a ring holds far fewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heads(pub u64);

impl Heads {
    /// The counter of one ring.
    #[inline]
    pub const fn get(self, ring: RingKind) -> u32 {
        ((self.0 >> (ring as u32 * COUNTER_BITS)) & MASK) as u32
    }

    /// The same with one ring's counter advanced by one.
    #[inline]
    pub const fn advanced(self, ring: RingKind) -> Self {
        self.advanced_by(ring, 1)
    }

    /// The same with one ring's counter advanced.
    #[inline]
    pub(crate) const fn advanced_by(self, ring: RingKind, entries: u32) -> Self {
        let shift = ring as u32 * COUNTER_BITS;
        let next = ((self.0 >> shift) + entries as u64) & MASK;
        Self((self.0 & !(MASK << shift)) | (next << shift))
    }

    /// Entries from one counter to another one.
    #[inline]
    pub const fn distance(from: u32, to: u32) -> u32 {
        to.wrapping_sub(from) & MASK as u32
    }

    /// The counter after this one.
    #[inline]
    pub const fn after(counter: u32) -> u32 {
        counter.wrapping_add(1) & MASK as u32
    }

    /// The counter behind the entry with this label ([`crate::memory::ring::LABEL`]).
    #[inline]
    pub const fn of_label(label: u64) -> u32 {
        (label & MASK) as u32
    }

    /// Entries of one ring between `taken` and this word.
    #[inline]
    pub const fn ahead_of(self, taken: Heads, ring: RingKind) -> u32 {
        Self::distance(taken.get(ring), self.get(ring))
    }
}

/// A word of packed heads in NIC memory: a doorbell (written by its rank), or a taken word (written by the
/// processor). Zeros at first.
#[derive(Default)]
#[repr(transparent)]
pub struct HeadsWord(AtomicU64);

impl HeadsWord {
    /// Reads the word; entries published with it are seen.
    #[inline]
    pub fn read(&self) -> Heads {
        Heads(self.0.load(Ordering::Acquire))
    }

    /// Reads the word as a hint only.
    #[inline]
    pub fn peek(&self) -> Heads {
        Heads(self.0.load(Ordering::Relaxed))
    }

    /// Publishes all entries up to these heads (or, for a taken word, hands their cells back).
    #[inline]
    pub fn publish(&self, heads: Heads) {
        self.0.store(heads.0, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counters_advance_independently_and_wrap(steps in proptest::collection::vec(0u32..3, 0..300), start in any::<u64>()) {
            let start = Heads(start & ((1 << 63) - 1));
            let mut heads = start;
            let mut counted = [0u32; 3];
            for step in steps {
                let ring = [RingKind::Send, RingKind::Receive, RingKind::Collective][step as usize];
                heads = heads.advanced(ring);
                counted[step as usize] += 1;
            }
            for (i, ring) in [RingKind::Send, RingKind::Receive, RingKind::Collective].into_iter().enumerate() {
                prop_assert_eq!(heads.ahead_of(start, ring), counted[i]);
            }
        }
    }
}

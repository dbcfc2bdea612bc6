//! A distribution with buckets of equal relative width, written by one thread while others may look.
//!
//! The buckets are those of `hdrhistogram` (a test holds them equal), which the reading side uses for
//! quantiles. `hdrhistogram` itself records through `&mut`, and the recorder of a thread is read by the
//! thread that dumps (see [`super::ProcessRecorder`]); hence atomic counters here, which cost no more than
//! plain ones with one writer.
//!
//! All of `u64` is covered, so no value is out of range. Memory is zero pages until a bucket is touched: a
//! distribution of latencies between 1 µs and 1 s touches some 10 KB at two digits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How fine a distribution is: the number of significant decimal digits, 1 to 4.
///
/// Address space of one distribution: 8 KB, 59 KB, 450 KB, 6.7 MB; of that, touched buckets only are memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution(u8);

impl Resolution {
    /// Two digits: values within 1 %.
    pub const DEFAULT: Self = Self(2);

    /// `digits` significant digits; `None` outside of 1..=4.
    pub const fn new(digits: u8) -> Option<Self> {
        if matches!(digits, 1..=4) { Some(Self(digits)) } else { None }
    }

    /// The number of significant digits.
    pub const fn digits(self) -> u8 {
        self.0
    }

    /// log2 of half the linear buckets: values below `2 << bits` have a bucket of their own, and every
    /// doubling from there on is cut into `1 << bits`.
    const fn half_bits(self) -> u32 {
        (2 * 10u64.pow(self.0 as u32)).next_power_of_two().ilog2() - 1
    }
}

impl Default for Resolution {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A bucket that holds something: `count` values from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value that falls here.
    pub low: u64,
    /// The largest value that falls here.
    pub high: u64,
    /// How many did.
    pub count: u64,
}

/// Counts of values by bucket. One thread records; any thread may read, at any time.
#[derive(Debug)]
pub struct Distribution {
    resolution: Resolution,
    half_bits: u32,
    counts: Box<[AtomicU64]>,
}

impl Distribution {
    /// An empty distribution. Allocates, here and never again.
    pub fn new(resolution: Resolution) -> Self {
        let half_bits = resolution.half_bits();
        let buckets = (65 - half_bits as usize) << half_bits;
        // Zeroed by the allocator, so that large arrays are untouched pages.
        let zeroed: Box<[u64]> = vec![0u64; buckets].into_boxed_slice();
        // SAFETY: AtomicU64 has the size, alignment and validity of u64, so the allocation and its contents
        // are a valid boxed slice of as many AtomicU64; ownership moves from one box into the other.
        let counts = unsafe { Box::from_raw(Box::into_raw(zeroed) as *mut [AtomicU64]) };
        Self { resolution, half_bits, counts }
    }

    /// The resolution it was made with.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// Counts `value`.
    #[inline]
    pub fn record(&self, value: u64) {
        let doublings = (value | 1).ilog2().saturating_sub(self.half_bits);
        let index = ((doublings as usize) << self.half_bits) + (value >> doublings) as usize;
        let count = &self.counts[index];
        count.store(count.load(Relaxed) + 1, Relaxed);
    }

    /// Adds the counts of `other`, which has the same resolution.
    pub fn add(&self, other: &Self) {
        debug_assert_eq!(self.resolution, other.resolution);
        for (mine, theirs) in self.counts.iter().zip(&other.counts) {
            let theirs = theirs.load(Relaxed);
            if theirs != 0 {
                mine.store(mine.load(Relaxed) + theirs, Relaxed);
            }
        }
    }

    /// The buckets that hold something, in rising order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter().enumerate().filter_map(|(index, count)| {
            let count = count.load(Relaxed);
            (count != 0).then(|| {
                let doublings = (index >> self.half_bits).saturating_sub(1);
                let low = ((index - (doublings << self.half_bits)) as u64) << doublings;
                Bucket { low, high: low + ((1u64 << doublings) - 1), count }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = u64> {
        (0u32..64, any::<u64>()).prop_map(|(shift, v)| v >> shift)
    }

    proptest! {
        #[test]
        fn every_value_is_counted_in_the_bucket_that_hdrhistogram_gives_it(
            digits in 1u8..=4, values in prop::collection::vec(value(), 1..40)
        ) {
            let resolution = Resolution::new(digits).unwrap();
            let ours = Distribution::new(resolution);
            let theirs = Histogram::<u64>::new_with_bounds(1, u64::MAX, digits).unwrap();
            for &v in &values {
                ours.record(v);
                let bucket = ours.buckets().find(|b| b.low <= v && v <= b.high).expect("a bucket holds the value");
                prop_assert_eq!(bucket.low, theirs.lowest_equivalent(v));
                // hdrhistogram computes the end of the topmost bucket with saturation, one short.
                if bucket.high != u64::MAX {
                    prop_assert_eq!(bucket.high, theirs.highest_equivalent(v));
                }
            }
            prop_assert_eq!(ours.buckets().map(|b| b.count).sum::<u64>(), values.len() as u64);
        }
    }

    #[test]
    fn the_largest_and_the_smallest_value_have_a_bucket_at_every_resolution() {
        for digits in 1..=4 {
            let d = Distribution::new(Resolution::new(digits).unwrap());
            d.record(0);
            d.record(u64::MAX);
            let buckets: Vec<_> = d.buckets().collect();
            assert_eq!((buckets[0].low, buckets[0].high), (0, 0));
            assert_eq!(buckets[1].high, u64::MAX);
        }
        assert_eq!(Resolution::new(0), None);
        assert_eq!(Resolution::new(5), None);
    }
}

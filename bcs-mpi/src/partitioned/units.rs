//! Units: how the partitions of a send go as messages.
//!
//! A unit is some partitions of the sender that lie side by side; it goes as one message, as soon as all of
//! them are ready. Small partitions travel together, up to [`UNIT_BYTES`]; a large one is a unit of its own.
//! There are [`MOST_UNITS`] at most, so that both ends have room to post all of them at once. The receiver's
//! partitions may end anywhere in a unit: one has arrived when all units that hold bytes of it have.

use std::ops::{Range, RangeInclusive};

/// Bytes from which on a partition travels alone.
const UNIT_BYTES: u64 = 16 << 10;

/// Units of an operation at most: a quarter of a ring.
pub const MOST_UNITS: u64 = 128;

/// How the bytes of a message are cut. What has no bytes is one unit without any, which tells that all
/// partitions are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Bytes in all.
    pub bytes: u64,
    /// Bytes of each unit but the last one, which may have fewer.
    pub unit_bytes: u64,
}

/// The units of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The units.
    pub units: Units,
    partitions: u64,
    /// Partitions in each unit but the last one.
    per_unit: u64,
}

impl Cut {
    /// How so many partitions, of so many bytes each, go.
    pub fn of(partitions: u64, partition_bytes: u64) -> Self {
        let bytes = partitions * partition_bytes;
        let per_unit = match bytes {
            0 => partitions.max(1),
            _ => UNIT_BYTES.div_ceil(partition_bytes).max(partitions.div_ceil(MOST_UNITS)).min(partitions),
        };
        Self { units: Units { bytes, unit_bytes: per_unit * partition_bytes }, partitions, per_unit }
    }

    /// The unit that a partition is part of.
    pub fn unit_of(&self, partition: u64) -> usize {
        (partition / self.per_unit) as usize
    }

    /// The partitions of a unit.
    pub fn partitions(&self, unit: usize) -> Range<u64> {
        let start = unit as u64 * self.per_unit;
        start..(start + self.per_unit).min(self.partitions)
    }
}

impl Units {
    /// How many there are.
    pub fn count(&self) -> usize {
        if self.bytes == 0 || self.unit_bytes == 0 {
            1
        } else {
            self.bytes.div_ceil(self.unit_bytes) as usize
        }
    }

    /// The bytes of a unit.
    pub fn range(&self, unit: usize) -> Range<u64> {
        let start = (unit as u64).saturating_mul(self.unit_bytes).min(self.bytes);
        start..start.saturating_add(self.unit_bytes).min(self.bytes)
    }

    /// The units that hold bytes of this range; of one that has no bytes here, the unit beside it.
    pub fn covering(&self, bytes: Range<u64>) -> RangeInclusive<usize> {
        let last = self.count() - 1;
        let unit = |byte: u64| byte.checked_div(self.unit_bytes).map_or(0, |unit| (unit as usize).min(last));
        unit(bytes.start)..=unit(bytes.end.saturating_sub(1).max(bytes.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_partitions_travel_together_and_large_ones_alone() {
        let units = |partitions, bytes| Cut::of(partitions, bytes).units;
        assert_eq!((units(16, 64 << 10).count(), units(16, 64 << 10).unit_bytes), (16, 64 << 10));
        assert_eq!((units(1000, 8).count(), units(1000, 8).unit_bytes), (1, 8000));
        assert_eq!((units(64, 1 << 10).count(), units(64, 1 << 10).unit_bytes), (4, 16 << 10));
        assert_eq!(units(8, UNIT_BYTES - 1).count(), 4);
        assert_eq!(units(8, UNIT_BYTES).count(), 8);
        assert_eq!(units(128, UNIT_BYTES).count(), 128);
        assert_eq!(units(129, UNIT_BYTES).count(), 65);
        assert_eq!(units(1, 1 << 40).count(), 1);
        for nothing in [units(0, 8), units(5, 0), units(0, 0)] {
            assert_eq!((nothing.count(), nothing.range(0), nothing.covering(0..0)), (1, 0..0, 0..=0));
        }
    }

    proptest! {
        #[test]
        fn every_partition_is_in_one_unit_which_has_its_bytes(
            (partitions, each) in (0u64..3000, 0u64..100_000),
        ) {
            let cut = Cut::of(partitions, each);
            prop_assert!(cut.units.count() as u64 <= MOST_UNITS);
            let mut next = 0;
            for unit in 0..cut.units.count() {
                let of_unit = cut.partitions(unit);
                prop_assert_eq!(of_unit.start, next);
                next = of_unit.end;
                prop_assert_eq!(cut.units.range(unit), of_unit.start * each..of_unit.end * each);
                for partition in of_unit {
                    prop_assert_eq!(cut.unit_of(partition), unit);
                }
            }
            prop_assert_eq!(next, partitions);
        }

        #[test]
        fn a_partition_of_the_receiver_is_there_with_the_units_that_hold_its_bytes(
            (there, here) in (1u64..400, 1u64..400), each in 1u64..300,
        ) {
            // As many bytes at both ends, in another number of partitions.
            let (cut, partition_bytes) = (Cut::of(there, here * each), there * each);
            for partition in 0..here {
                let bytes = partition * partition_bytes..(partition + 1) * partition_bytes;
                let covering = cut.units.covering(bytes.clone());
                for unit in 0..cut.units.count() {
                    let of_unit = cut.units.range(unit);
                    let holds = of_unit.start < bytes.end && bytes.start < of_unit.end;
                    prop_assert_eq!(covering.contains(&unit), holds, "unit {} of {:?}", unit, cut);
                }
            }
        }

        #[test]
        fn whatever_a_notice_says_no_unit_is_outside(
            (bytes, unit_bytes) in (any::<u64>(), any::<u64>()), (start, end) in (any::<u64>(), any::<u64>()),
        ) {
            let units = Units { bytes, unit_bytes };
            let covering = units.covering(start..end);
            prop_assert!(*covering.end() < units.count() && covering.start() < &units.count());
            prop_assert!(units.range(units.count() - 1).end <= bytes);
        }
    }
}

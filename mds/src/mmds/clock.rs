//! The clock's unit: recorders count ticks, files hold nanoseconds.

/// How many nanoseconds a tick of the caller's monotonic clock lasts, as a fraction.
///
/// The library passes raw ticks (the time stamp counter, say) while the job runs, because a conversion per
/// call would cost more than the rest of the recorder; only the dump converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    ticks: u64,
    nanoseconds: u64,
}

impl Clock {
    /// A clock that ticks once a nanosecond (`CLOCK_MONOTONIC`).
    pub const fn nanoseconds() -> Self {
        Self { ticks: 1, nanoseconds: 1 }
    }

    /// A clock of `ticks_per_second` ticks a second. A rate of 0 is no clock: it counts as one tick a second.
    pub const fn from_frequency(ticks_per_second: u64) -> Self {
        Self::calibrated(ticks_per_second, 1_000_000_000)
    }

    /// A clock that was seen to tick `ticks` times in `nanoseconds`: the result of a calibration against
    /// `CLOCK_MONOTONIC`. Zero in either counts as 1.
    pub const fn calibrated(ticks: u64, nanoseconds: u64) -> Self {
        Self {
            ticks: if ticks == 0 { 1 } else { ticks },
            nanoseconds: if nanoseconds == 0 { 1 } else { nanoseconds },
        }
    }

    /// The length of `ticks` ticks in nanoseconds, rounded down; saturates at `u64::MAX` (584 years).
    pub const fn to_nanoseconds(self, ticks: u64) -> u64 {
        let exact = ticks as u128 * self.nanoseconds as u128 / self.ticks as u128;
        if exact > u64::MAX as u128 { u64::MAX } else { exact as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibrated_clock_converts_ticks_without_overflow() {
        assert_eq!(Clock::nanoseconds().to_nanoseconds(u64::MAX), u64::MAX);
        assert_eq!(Clock::from_frequency(2_500_000_000).to_nanoseconds(5), 2);
        assert_eq!(
            Clock::from_frequency(2_500_000_000).to_nanoseconds(2_500_000_000 * 3600),
            3_600_000_000_000
        );
        assert_eq!(Clock::calibrated(0, 7).to_nanoseconds(3), 21);
        assert_eq!(Clock::calibrated(1, u64::MAX).to_nanoseconds(2), u64::MAX);
    }
}

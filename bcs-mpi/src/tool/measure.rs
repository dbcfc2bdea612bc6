//! What a handle for a performance variable has measured: of what grows, how much since its starts; of a
//! most, the most since its start.

/// What a handle has measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Nothing: the variable is what it is.
    Nothing,
    /// Growth.
    Growth {
        /// What has come before the last start, or was written.
        before: u64,
        /// What the variable was at the last start; none while it is stopped.
        since: Option<u64>,
    },
    /// A most.
    Most {
        /// The most that is known to the handle.
        known: u64,
        /// Whether it is started.
        runs: bool,
    },
}

impl Measure {
    /// Its value, where the variable is `now`.
    pub(super) fn value(self, now: u64) -> u64 {
        match self {
            Self::Nothing => now,
            Self::Growth { before, since } => {
                before.wrapping_add(since.map_or(0, |since| now.wrapping_sub(since)))
            }
            Self::Most { known, runs } => {
                if runs {
                    known.max(now)
                } else {
                    known
                }
            }
        }
    }

    /// Whether it is started.
    pub(super) fn runs(self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Growth { since, .. } => since.is_some(),
            Self::Most { runs, .. } => runs,
        }
    }

    /// Starts it, or goes on: of what grows nothing that came while it was stopped counts.
    pub(super) fn start(&mut self, now: u64) {
        match self {
            Self::Nothing => {}
            Self::Growth { since, .. } => *since = Some(now),
            Self::Most { known, runs } => {
                *known = now;
                *runs = true;
            }
        }
    }

    /// Stops it: its value stays.
    pub(super) fn stop(&mut self, now: u64) {
        let value = self.value(now);
        match self {
            Self::Nothing => {}
            Self::Growth { before, since } => (*before, *since) = (value, None),
            Self::Most { known, runs } => (*known, *runs) = (value, false),
        }
    }

    /// Sets its value.
    pub(super) fn set(&mut self, value: u64, now: u64) {
        match self {
            Self::Nothing => {}
            Self::Growth { before, since } => {
                *before = value;
                *since = since.map(|_| now);
            }
            Self::Most { known, .. } => *known = value,
        }
    }

    /// Takes over the most so far, before it is watched anew.
    pub(super) fn take_over(&mut self, now: u64) {
        if let Self::Most { known, runs: true } = self {
            *known = now.max(*known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_counts_while_it_runs_from_what_was_set() {
        let mut growth = Measure::Growth { before: 0, since: None };
        assert_eq!(growth.value(100), 0);
        growth.start(100);
        assert_eq!(growth.value(130), 30);
        growth.stop(140);
        assert_eq!((growth.value(900), growth.runs()), (40, false));
        growth.start(1000);
        assert_eq!(growth.value(1005), 45);
        growth.set(7, 1005);
        assert_eq!(growth.value(1006), 8);
        growth.set(0, 1006);
        assert_eq!(growth.value(1006), 0);
    }

    #[test]
    fn a_most_is_that_since_its_start_whoever_else_starts_to_watch() {
        let mut most = Measure::Most { known: 0, runs: false };
        most.start(10);
        assert_eq!(most.value(50), 50);
        // Another handle starts: the variable falls to what is in use.
        most.take_over(50);
        assert_eq!(most.value(20), 50);
        most.stop(60);
        assert_eq!(most.value(99), 60);
    }
}

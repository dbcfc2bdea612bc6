//! The recorder of one thread's MPI calls (paper, §5.1.1, figure 5.1).
//!
//! Invariant: the intervals of computation and of communication alternate and touch, so their sum is the time
//! from start to stop, to the nanosecond, whatever times the caller passes: `mark` is the end of the last
//! interval, every interval begins at `mark` and moves it, and a time before `mark` (a counter that differs
//! between cores) counts as `mark`.
//!
//! One thread writes, with plain loads and stores (relaxed atomics); the thread that dumps reads. No
//! allocation after construction, no lock, no clock.

use super::distribution::Distribution;
use super::primitive::Primitive;
use super::totals::CallTotals;
use crate::config::MmdsConfig;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A call that has been entered and not left. Give it to [`Recorder::leave`].
#[must_use = "a call that is entered is left again, or the calls after it count as parts of it"]
#[derive(Debug)]
pub struct Entry {
    started: u64,
    primitive: Primitive,
    outermost: bool,
}

/// Count, extremes and sum of a value; a cache line of its own, so that a call touches one.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Tally {
    pub(super) count: AtomicU64,
    pub(super) min: AtomicU64,
    pub(super) max: AtomicU64,
    pub(super) total: AtomicU64,
    pub(super) bytes: AtomicU64,
}

impl Tally {
    fn new() -> Self {
        Self {
            count: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
            total: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    #[inline]
    fn record(&self, ns: u64) {
        self.count.store(self.count.load(Relaxed) + 1, Relaxed);
        self.total.store(self.total.load(Relaxed).wrapping_add(ns), Relaxed);
        if ns < self.min.load(Relaxed) {
            self.min.store(ns, Relaxed);
        }
        if ns > self.max.load(Relaxed) {
            self.max.store(ns, Relaxed);
        }
    }

    /// Its sums.
    pub(super) fn totals(&self) -> CallTotals {
        CallTotals {
            count: self.count.load(Relaxed),
            total_ns: self.total.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
        }
    }

    fn add(&self, other: &Self) {
        self.count.store(self.count.load(Relaxed) + other.count.load(Relaxed), Relaxed);
        self.total.store(self.total.load(Relaxed).wrapping_add(other.total.load(Relaxed)), Relaxed);
        self.bytes.store(self.bytes.load(Relaxed).wrapping_add(other.bytes.load(Relaxed)), Relaxed);
        self.min.store(self.min.load(Relaxed).min(other.min.load(Relaxed)), Relaxed);
        self.max.store(self.max.load(Relaxed).max(other.max.load(Relaxed)), Relaxed);
    }
}

/// What one thread's MPI calls cost. Made by [`super::ProcessRecorder`].
///
/// Call [`enter`](Self::enter) and [`leave`](Self::leave) in pairs, well nested, from one thread at a time.
/// (A second thread corrupts no memory, but its calls would count as parts of the first one's: in
/// `MPI_THREAD_MULTIPLE` every thread has a recorder of its own.)
#[derive(Debug)]
pub struct Recorder {
    /// How many calls are entered and not left.
    depth: AtomicU64,
    /// The outermost call that is entered and not left: its start and its primitive.
    open_since: AtomicU64,
    open_primitive: AtomicU64,
    start: u64,
    mark: AtomicU64,
    stopped: AtomicU64,
    pub(super) computation: Tally,
    pub(super) communication: Tally,
    pub(super) computation_distribution: Distribution,
    pub(super) communication_distribution: Distribution,
    pub(super) calls: [Tally; Primitive::COUNT],
    pub(super) latency: [Option<Distribution>; Primitive::COUNT],
    pub(super) size: [Option<Distribution>; Primitive::COUNT],
}

impl Recorder {
    pub(super) fn new(config: &MmdsConfig, now: u64) -> Self {
        let when = |wanted: bool, resolution| wanted.then(|| Distribution::new(resolution));
        Self {
            depth: AtomicU64::new(0),
            open_since: AtomicU64::new(0),
            open_primitive: AtomicU64::new(0),
            start: now,
            mark: AtomicU64::new(now),
            stopped: AtomicU64::new(0),
            computation: Tally::new(),
            communication: Tally::new(),
            computation_distribution: Distribution::new(config.latency_resolution),
            communication_distribution: Distribution::new(config.latency_resolution),
            calls: std::array::from_fn(|_| Tally::new()),
            latency: std::array::from_fn(|i| {
                when(config.latency.contains(&Primitive::ALL[i]), config.latency_resolution)
            }),
            size: std::array::from_fn(|i| {
                let p = Primitive::ALL[i];
                when(p.is_sized() && config.size.contains(&p), config.size_resolution)
            }),
        }
    }

    /// The program calls `primitive` at `now`.
    ///
    /// A call inside a call (a primitive that is made of others) is part of the outer one and not counted.
    #[inline]
    pub fn enter(&self, primitive: Primitive, now: u64) -> Entry {
        let depth = self.depth.load(Relaxed);
        self.depth.store(depth + 1, Relaxed);
        let outermost = depth == 0;
        if outermost {
            self.open_since.store(now, Relaxed);
            self.open_primitive.store(primitive.index() as u64, Relaxed);
        }
        Entry { started: now, primitive, outermost }
    }

    /// The call of `entry` returns at `now`, having moved `bytes` (ignored where
    /// [`Primitive::is_sized`] says no).
    #[inline]
    pub fn leave(&self, entry: Entry, now: u64, bytes: u64) {
        self.depth.store(self.depth.load(Relaxed).saturating_sub(1), Relaxed);
        if !entry.outermost {
            return;
        }
        let ns = now.saturating_sub(entry.started);
        let index = entry.primitive.index();
        let call = &self.calls[index];
        call.record(ns);
        if let Some(latency) = &self.latency[index] {
            latency.record(ns);
        }
        if entry.primitive.is_sized() {
            call.bytes.store(call.bytes.load(Relaxed).wrapping_add(bytes), Relaxed);
            if let Some(size) = &self.size[index] {
                size.record(bytes);
            }
        }
        if entry.primitive.is_blocking() && self.stopped.load(Relaxed) == 0 {
            self.end_computation(entry.started);
            self.end_communication(now);
        }
    }

    /// Recording ends at `now`: what remains since the last interval is computation, or communication if
    /// a blocking call is under way (a job that is aborted). The second and later calls do nothing.
    pub fn stop(&self, now: u64) {
        if self.stopped.load(Relaxed) != 0 {
            return;
        }
        if self.depth.load(Relaxed) > 0 && self.open_call().is_blocking() {
            self.end_computation(self.open_since.load(Relaxed));
            self.end_communication(now);
        } else {
            self.end_computation(now);
        }
        self.stopped.store(1, Relaxed);
    }

    /// The call that was under way when recording stopped, if any.
    pub fn unfinished(&self) -> Option<Primitive> {
        (self.depth.load(Relaxed) > 0).then(|| self.open_call())
    }

    /// Ticks from start to the end of the last interval; after [`stop`](Self::stop), the thread's run time.
    pub fn elapsed(&self) -> u64 {
        self.mark.load(Relaxed) - self.start
    }

    /// Adds the figures of a thread that has ended. Its time adds up like its intervals, so run time is then
    /// the sum over threads.
    pub(super) fn add(&self, other: &Self) {
        self.mark.store(self.mark.load(Relaxed) + other.elapsed(), Relaxed);
        self.computation.add(&other.computation);
        self.communication.add(&other.communication);
        self.computation_distribution.add(&other.computation_distribution);
        self.communication_distribution.add(&other.communication_distribution);
        for (mine, theirs) in self.calls.iter().zip(&other.calls) {
            mine.add(theirs);
        }
        let pairs = self.latency.iter().zip(&other.latency).chain(self.size.iter().zip(&other.size));
        for (mine, theirs) in pairs {
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                mine.add(theirs);
            }
        }
    }

    fn open_call(&self) -> Primitive {
        Primitive::ALL[self.open_primitive.load(Relaxed) as usize]
    }

    /// Computation lasted from `mark` to `now`. No time is no interval: two blocking calls in a row, within
    /// one nanosecond, have no computation between them.
    #[inline]
    fn end_computation(&self, now: u64) {
        let mark = self.mark.load(Relaxed);
        if now > mark {
            self.computation.record(now - mark);
            self.computation_distribution.record(now - mark);
            self.mark.store(now, Relaxed);
        }
    }

    /// Communication lasted from `mark` to `now`.
    #[inline]
    fn end_communication(&self, now: u64) {
        let mark = self.mark.load(Relaxed);
        let ns = now.saturating_sub(mark);
        self.communication.record(ns);
        self.communication_distribution.record(ns);
        self.mark.store(mark + ns, Relaxed);
    }
}

//! Events: how a completed transfer is seen, and the only way it is (paper, §2, Test-Event).
//!
//! An event counts: every transfer that names it adds one signal, and Test-Event takes all signals that are
//! there. Invariant: a signal is taken exactly once, whoever tests. Counters are atomics, so that they may
//! lie in memory that several processes map (a NIC whose run token travels between processes).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of an event in a node's event table. As with addresses, the same number names the same event
/// on every node.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
#[repr(transparent)]
pub struct EventId(pub u32);

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}", self.0)
    }
}

/// A node's events: one counter of untaken signals each.
#[derive(Debug)]
pub enum EventTable {
    /// Counters of this process.
    Owned(Box<[AtomicU32]>),
    /// Counters in mapped memory, shared with other processes.
    Mapped(&'static [AtomicU32]),
}

impl EventTable {
    /// A table of `count` events, none signalled.
    pub fn new(count: u32) -> Self {
        Self::Owned((0..count).map(|_| AtomicU32::new(0)).collect())
    }

    /// A table over counters in mapped memory.
    ///
    /// # Safety
    /// `counters` must point to `count` counters, aligned and initialised (zeroed memory is), that stay
    /// mapped for as long as the table or anything made from it lives, and are only accessed atomically.
    pub unsafe fn from_raw(counters: *const AtomicU32, count: u32) -> Self {
        // SAFETY: the caller vouches for the pointer, the count, the alignment and the lifetime.
        Self::Mapped(unsafe { std::slice::from_raw_parts(counters, count as usize) })
    }

    /// The number of events in the table.
    pub fn count(&self) -> u32 {
        self.counters().len() as u32
    }

    /// Adds a signal. False when there is no such event. A counter stands still at `u32::MAX`, where signals
    /// that nobody has taken would otherwise wrap around to "not signalled".
    pub fn signal(&self, event: EventId) -> bool {
        let Some(counter) = self.counters().get(event.0 as usize) else { return false };
        // Release: who takes the signal sees the data that was written before it.
        let _ = counter.fetch_update(Ordering::Release, Ordering::Relaxed, |count| count.checked_add(1));
        true
    }

    /// Takes all signals of the event and says how many there were; `None` when there is no such event.
    pub fn take(&self, event: EventId) -> Option<u32> {
        let counter = self.counters().get(event.0 as usize)?;
        // The plain load keeps a poller from owning the cache line that the signaller must write.
        if counter.load(Ordering::Relaxed) == 0 {
            return Some(0);
        }
        Some(counter.swap(0, Ordering::Acquire))
    }

    fn counters(&self) -> &[AtomicU32] {
        match self {
            Self::Owned(counters) => counters,
            Self::Mapped(counters) => counters,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_is_taken_exactly_once_by_concurrent_testers() {
        let table = EventTable::new(2);
        const SIGNALS: u32 = 10_000;
        let done = std::sync::atomic::AtomicBool::new(false);
        let taken: u32 = std::thread::scope(|scope| {
            let tester = || {
                let mut taken = 0;
                while !done.load(Ordering::Acquire) {
                    taken += table.take(EventId(1)).unwrap();
                    std::thread::yield_now();
                }
                taken
            };
            let testers = [scope.spawn(tester), scope.spawn(tester)];
            (0..SIGNALS).for_each(|_| assert!(table.signal(EventId(1))));
            done.store(true, Ordering::Release);
            testers.into_iter().map(|tester| tester.join().unwrap()).sum()
        });
        assert_eq!(taken + table.take(EventId(1)).unwrap(), SIGNALS);
        assert_eq!(table.take(EventId(0)), Some(0));
    }

    #[test]
    fn an_event_beyond_the_table_is_refused() {
        let table = EventTable::new(1);
        assert!(!table.signal(EventId(1)));
        assert_eq!(table.take(EventId(1)), None);
    }

    #[test]
    fn counters_in_mapped_memory_are_the_same_to_every_table_over_them() {
        let counters: &'static [AtomicU32] = Box::leak((0..2).map(|_| AtomicU32::new(0)).collect());
        // SAFETY: leaked memory outlives everything, and nothing else touches it.
        let (a, b) = unsafe {
            (EventTable::from_raw(counters.as_ptr(), 2), EventTable::from_raw(counters.as_ptr(), 2))
        };
        assert!(a.signal(EventId(1)));
        assert_eq!((b.count(), b.take(EventId(1)), a.take(EventId(1))), (2, Some(1), Some(0)));
    }
}

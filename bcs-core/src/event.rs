//! Events: how a completed transfer is seen, and the only way it is (paper, §2, Test-Event).
//!
//! An event counts: every transfer that names it adds one signal, and Test-Event takes all signals that are
//! there. Invariant: a signal is taken exactly once, whoever tests: counters are atomics.

use rkyv::{Archive, Deserialize, Serialize};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of an event in a node's event table. As with addresses, the same number names the same event
/// on every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Archive, Serialize, Deserialize)]
#[repr(transparent)]
pub struct EventId(pub u32);

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}", self.0)
    }
}

/// A node's events: one counter of untaken signals each.
#[derive(Debug)]
pub struct EventTable(Box<[AtomicU32]>);

impl EventTable {
    /// A table of `count` events, none signalled.
    pub fn new(count: u32) -> Self {
        Self((0..count).map(|_| AtomicU32::new(0)).collect())
    }

    /// The number of events in the table.
    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// Adds a signal. False when there is no such event. A counter stands still at `u32::MAX`, where signals
    /// that nobody has taken would otherwise wrap around to "not signalled".
    pub fn signal(&self, event: EventId) -> bool {
        let Some(counter) = self.0.get(event.0 as usize) else { return false };
        // Release: who takes the signal sees the data that was written before it.
        let _ = counter.fetch_update(Ordering::Release, Ordering::Relaxed, |count| count.checked_add(1));
        true
    }

    /// Takes all signals of the event and says how many there were; `None` when there is no such event.
    pub fn take(&self, event: EventId) -> Option<u32> {
        let counter = self.0.get(event.0 as usize)?;
        // The plain load keeps a poller from owning the cache line that the signaller must write.
        if counter.load(Ordering::Relaxed) == 0 {
            return Some(0);
        }
        Some(counter.swap(0, Ordering::Acquire))
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
}

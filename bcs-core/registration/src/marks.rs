//! Which entries a change of memory has made stale: what the watcher writes and holders read.
//!
//! A mark belongs to each entry of the cache. The holder of the cache's lock says which range an entry has;
//! the watcher says that it is stale. The watcher takes no lock. What it reads of a mark may be half of an
//! old range and half of a new one. A mark that is made stale for no reason costs a registration. No reason
//! is ever missed: an entry has its range before its memory is watched, and events follow from that.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

#[derive(Debug, Default)]
struct Mark {
    start: AtomicUsize,
    /// Zero where there is no entry.
    end: AtomicUsize,
    is_stale: AtomicBool,
    /// What is watched for this entry: all of the mappings in which it lies.
    watched_start: AtomicUsize,
    watched_end: AtomicUsize,
    /// The smallest range that holds all that has been unmapped: nothing there is watched for this entry.
    unmapped_start: AtomicUsize,
    unmapped_end: AtomicUsize,
}

impl Mark {
    fn range(&self) -> Range<usize> {
        let end = self.end.load(Ordering::Acquire);
        self.start.load(Ordering::Relaxed)..end
    }

    fn watched(&self) -> Range<usize> {
        self.watched_start.load(Ordering::Relaxed)..self.watched_end.load(Ordering::Relaxed)
    }
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// The marks of all entries.
#[derive(Debug)]
pub(crate) struct Marks {
    marks: Box<[Mark]>,
    /// No mark from here on has ever been used.
    used: AtomicUsize,
    stale: AtomicUsize,
    invalidations: AtomicU64,
}

impl Marks {
    pub fn new(entries: usize) -> Self {
        let marks = (0..entries).map(|_| Mark::default()).collect();
        Self { marks, used: 0.into(), stale: 0.into(), invalidations: 0.into() }
    }

    fn used(&self) -> &[Mark] {
        &self.marks[..self.used.load(Ordering::Acquire)]
    }

    /// Gives an entry its range, before its memory is watched, and what will be watched for it. Under the
    /// cache's lock.
    pub fn set(&self, entry: usize, range: &Range<usize>, watched: &Range<usize>) {
        let mark = &self.marks[entry];
        self.freshen(entry);
        mark.unmapped_start.store(usize::MAX, Ordering::Relaxed);
        mark.unmapped_end.store(0, Ordering::Relaxed);
        mark.watched_start.store(watched.start, Ordering::Relaxed);
        mark.watched_end.store(watched.end, Ordering::Relaxed);
        mark.start.store(range.start, Ordering::Relaxed);
        mark.end.store(range.end, Ordering::Release);
        self.used.fetch_max(entry + 1, Ordering::AcqRel);
    }

    /// Takes the range from an entry: changes of it do not matter any more. Under the cache's lock.
    pub fn clear(&self, entry: usize) {
        self.marks[entry].watched_end.store(0, Ordering::Relaxed);
        self.marks[entry].end.store(0, Ordering::Release);
        self.freshen(entry);
    }

    /// Makes an entry's mark fresh.
    pub fn freshen(&self, entry: usize) {
        if self.marks[entry].is_stale.swap(false, Ordering::AcqRel) {
            self.stale.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Whether the memory of some entry has changed.
    #[inline]
    pub fn has_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire) != 0
    }

    pub fn is_stale(&self, entry: usize) -> bool {
        self.marks[entry].is_stale.load(Ordering::Acquire)
    }

    /// Those marks that may be stale.
    pub fn used_entries(&self) -> Range<usize> {
        0..self.used.load(Ordering::Acquire)
    }

    pub fn invalidations(&self) -> u64 {
        self.invalidations.load(Ordering::Relaxed)
    }

    /// Makes the entries stale that have memory in a range. Allocates nothing and takes no lock.
    pub fn invalidate(&self, changed: &Range<usize>, is_unmapped: bool) {
        for mark in self.used() {
            let range = mark.range();
            if is_unmapped && overlap(&mark.watched(), changed) {
                mark.unmapped_start.fetch_min(changed.start, Ordering::Relaxed);
                mark.unmapped_end.fetch_max(changed.end, Ordering::Relaxed);
            }
            if !overlap(&range, changed) {
                continue;
            }
            if !mark.is_stale.swap(true, Ordering::AcqRel) {
                self.stale.fetch_add(1, Ordering::AcqRel);
                self.invalidations.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Whether an entry that is not stale has memory in a range. The watcher asks.
    pub fn has_fresh(&self, range: &Range<usize>) -> bool {
        let is_fresh = |mark: &Mark| !mark.is_stale.load(Ordering::Acquire);
        self.used().iter().any(|mark| overlap(&mark.range(), range) && is_fresh(mark))
    }

    /// Whether some of a range is watched for an entry. Under the cache's lock.
    pub fn has_watched(&self, range: &Range<usize>) -> bool {
        self.used().iter().any(|mark| overlap(&mark.watched(), range))
    }

    /// What is watched for an entry and still mapped, as far as is known: before and behind what was
    /// unmapped.
    pub fn still_mapped(&self, entry: usize) -> [Range<usize>; 2] {
        let mark = &self.marks[entry];
        let range = mark.watched();
        let start = mark.unmapped_start.load(Ordering::Relaxed);
        let end = mark.unmapped_end.load(Ordering::Relaxed);
        if start >= end {
            return [range, 0..0];
        }
        [range.start..range.end.min(start), range.start.max(end)..range.end]
    }

    /// Calls with each part of a range that is watched for no entry. Under the cache's lock.
    pub fn for_each_free(&self, range: Range<usize>, mut call: impl FnMut(Range<usize>)) {
        let mut at = range.start;
        while at < range.end {
            // Either entries are at this place, up to the furthest end, or the next one begins later.
            let (mut covered, mut next) = (at, range.end);
            for mark in self.used() {
                let Range { start, end } = mark.watched();
                if end > at && start <= at {
                    covered = covered.max(end);
                } else if end > at {
                    next = next.min(start);
                }
            }
            if covered == at {
                call(at..next);
                covered = next;
            }
            at = covered;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(marks: &Marks, range: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        marks.for_each_free(range, |part| parts.push(part));
        parts
    }

    #[test]
    fn the_free_parts_of_a_range_are_those_that_no_entry_has() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let marks = Marks::new(6);
            let mut has_page = [false; 40];
            for entry in 0..random.usize(..6) {
                let start = random.usize(1..30);
                let range = start..start + random.usize(1..10);
                marks.set(entry, &range, &range);
                let is_gone = random.u8(..4) == 0;
                if is_gone {
                    marks.clear(entry);
                } else {
                    has_page[range].fill(true);
                }
            }
            let range = random.usize(1..20)..random.usize(20..40);
            let mut found = [true; 40];
            for part in free(&marks, range.clone()) {
                assert!(!part.is_empty() && part.start >= range.start && part.end <= range.end);
                found[part].fill(false);
            }
            assert_eq!(found[range.clone()], has_page[range]);
        }
    }

    #[test]
    fn a_change_makes_those_entries_stale_that_have_a_page_in_it_once_each() {
        let marks = Marks::new(4);
        for (entry, range) in [10..20, 20..30, 15..25].iter().enumerate() {
            marks.set(entry, range, &(5..range.end));
        }
        marks.invalidate(&(30..40), true);
        marks.invalidate(&(0..5), true);
        marks.invalidate(&(5..7), false);
        assert!(!marks.has_stale());
        marks.invalidate(&(12..15), true);
        marks.invalidate(&(12..16), false);
        assert_eq!([0, 1, 2, 3].map(|entry| marks.is_stale(entry)), [true, false, true, false]);
        assert_eq!(marks.invalidations(), 2);
        assert_eq!(
            [0, 1, 2].map(|entry| marks.still_mapped(entry)),
            [[5..12, 15..20], [5..12, 15..30], [5..12, 15..25]]
        );
        assert_eq!([16..18, 18..21, 1..9].map(|range| marks.has_fresh(&range)), [false, true, false]);
        assert_eq!([1..9, 30..31].map(|range| marks.has_watched(&range)), [true, false]);
        marks.clear(0);
        marks.set(2, &(1..2), &(1..2));
        assert!(!marks.has_stale());
    }
}

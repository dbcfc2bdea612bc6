//! The entries of a cache: which there are, which one covers a range, which one goes first.
//!
//! An entry is **reserved** while its memory is being registered, and **kept** afterwards. Only kept entries
//! are found. None of them covers another one, so those that are sorted by their starts are sorted by their
//! ends, too: the last one that starts at or before a range is the one to ask.
//!
//! A table has one entry more than its limit allows, in which a registration is tried before room is made.

use crate::limits::Limits;
use std::ops::Range;
use std::sync::Arc;

/// A registration, with the pages that it covers. The cache has it, and all that hold it.
#[derive(Debug)]
pub(crate) struct Entry<Region> {
    pub region: Region,
    pub range: Range<usize>,
}

#[derive(Debug)]
enum State<Region> {
    Free,
    Reserved,
    Kept { entry: Arc<Entry<Region>>, last_use: u64 },
}

#[derive(Debug)]
struct Slot<Region> {
    range: Range<usize>,
    state: State<Region>,
}

/// What has left a table: which entry it was, for its memory to be watched no longer.
#[derive(Debug)]
pub(crate) struct Removed<Region> {
    pub slot: usize,
    /// It is dropped when the table's lock is free again: that may close the registration.
    pub entry: Arc<Entry<Region>>,
}

/// The entries.
#[derive(Debug)]
pub(crate) struct Table<Region> {
    limits: Limits,
    slots: Vec<Slot<Region>>,
    free: Vec<usize>,
    /// Kept entries: start, end and slot, by start.
    found: Vec<(usize, usize, usize)>,
    /// Of kept and reserved entries.
    bytes: usize,
    uses: u64,
}

impl<Region> Table<Region> {
    pub fn new(limits: Limits) -> Self {
        let slots = limits.registrations + 1;
        Self {
            limits,
            slots: (0..slots).map(|_| Slot { range: 0..0, state: State::Free }).collect(),
            free: (0..slots).rev().collect(),
            found: Vec::with_capacity(slots),
            bytes: 0,
            uses: 0,
        }
    }

    /// The kept entry that covers a range.
    pub fn find(&mut self, range: &Range<usize>) -> Option<Arc<Entry<Region>>> {
        let slot = self.covering(range)?;
        self.uses += 1;
        let State::Kept { entry, last_use } = &mut self.slots[slot].state else {
            return None;
        };
        *last_use = self.uses;
        Some(entry.clone())
    }

    fn covering(&self, range: &Range<usize>) -> Option<usize> {
        let behind = self.found.partition_point(|(start, ..)| *start <= range.start);
        let (_, end, slot) = *self.found[..behind].last()?;
        (range.end <= end).then_some(slot)
    }

    /// Reserves a slot for a range, if there can be room: what is held stays.
    pub fn reserve(&mut self, range: &Range<usize>) -> Option<usize> {
        let (mut entries, mut bytes) = (1, range.len());
        for slot in &self.slots {
            if matches!(slot.state, State::Reserved) || slot.is_held() {
                entries += 1;
                bytes = bytes.saturating_add(slot.range.len());
            }
        }
        if entries > self.limits.registrations || bytes > self.limits.bytes {
            return None;
        }
        let slot = self.free.pop()?;
        self.slots[slot] = Slot { range: range.clone(), state: State::Reserved };
        self.bytes += range.len();
        Some(slot)
    }

    /// Gives a reserved slot back.
    pub fn give_back(&mut self, slot: usize) {
        debug_assert!(matches!(self.slots[slot].state, State::Reserved));
        self.release(slot);
    }

    /// Makes one step towards the limits, for a reserved range: removes an entry that nobody holds. One that
    /// the range covers goes first, then the one whose last use is the longest ago. None when there is room,
    /// or all are held.
    pub fn make_room(&mut self, range: &Range<usize>) -> Option<Removed<Region>> {
        let order = |slot: &usize| {
            let Slot { range: old, state: State::Kept { last_use, .. } } = &self.slots[*slot] else {
                return None;
            };
            (!self.slots[*slot].is_held()).then_some((!covers(range, old), *last_use, *slot))
        };
        let (is_beside, _, slot) = self.found.iter().filter_map(|(.., slot)| order(slot)).min()?;
        let entries = self.slots.len() - self.free.len();
        let is_full = entries > self.limits.registrations || self.bytes > self.limits.bytes;
        (is_full || !is_beside).then(|| self.remove(slot))
    }

    /// Keeps what is in a reserved slot, if no kept entry covers it.
    pub fn keep(&mut self, slot: usize, entry: &Arc<Entry<Region>>) -> bool {
        let range = &entry.range;
        if self.covering(range).is_some() {
            return false;
        }
        self.uses += 1;
        self.slots[slot].state = State::Kept { entry: entry.clone(), last_use: self.uses };
        let at = self.found.partition_point(|(start, ..)| *start < range.start);
        self.found.insert(at, (range.start, range.end, slot));
        true
    }

    /// Removes a kept entry that another one covers, which would not be found any more.
    pub fn remove_covered(&mut self, by: usize) -> Option<Removed<Region>> {
        let range = self.slots[by].range.clone();
        let is_covered = |slot: usize| slot != by && covers(&range, &self.slots[slot].range);
        let (.., slot) = *self.found.iter().find(|(.., slot)| is_covered(*slot))?;
        Some(self.remove(slot))
    }

    /// Removes a kept entry. None if nothing is kept there.
    pub fn remove_kept(&mut self, slot: usize) -> Option<Removed<Region>> {
        matches!(self.slots[slot].state, State::Kept { .. }).then(|| self.remove(slot))
    }

    /// Whether a slot is free.
    pub fn is_free(&self, slot: usize) -> bool {
        matches!(self.slots[slot].state, State::Free)
    }

    /// Removes any kept entry.
    pub fn remove_any(&mut self) -> Option<Removed<Region>> {
        let (.., slot) = *self.found.last()?;
        Some(self.remove(slot))
    }

    fn remove(&mut self, slot: usize) -> Removed<Region> {
        self.found.retain(|(.., other)| *other != slot);
        let State::Kept { entry, .. } = self.release(slot) else {
            unreachable!("only kept entries are found");
        };
        Removed { slot, entry }
    }

    fn release(&mut self, slot: usize) -> State<Region> {
        self.bytes -= self.slots[slot].range.len();
        self.free.push(slot);
        std::mem::replace(&mut self.slots[slot].state, State::Free)
    }

    /// How many entries there are, and how many bytes they cover.
    #[cfg(test)]
    pub fn size(&self) -> (usize, usize) {
        (self.slots.len() - self.free.len(), self.bytes)
    }
}

impl<Region> Slot<Region> {
    /// Whether it is kept, and somebody besides the table has it. Only the table gives it to more.
    fn is_held(&self) -> bool {
        matches!(&self.state, State::Kept { entry, .. } if Arc::strong_count(entry) > 1)
    }
}

fn covers(range: &Range<usize>, other: &Range<usize>) -> bool {
    range.start <= other.start && other.end <= range.end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(table: &mut Table<u32>, range: Range<usize>, region: u32) -> Option<Arc<Entry<u32>>> {
        let slot = table.reserve(&range)?;
        while table.make_room(&range).is_some() {}
        let entry = Arc::new(Entry { region, range });
        if table.keep(slot, &entry) {
            // What is held has not made room.
            while table.remove_covered(slot).is_some() {}
        }
        Some(entry)
    }

    /// A list that is searched from its end to its beginning knows the same.
    #[test]
    fn what_is_found_covers_the_range_and_is_what_a_plain_list_finds() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..200 {
            let limits = Limits { registrations: random.usize(1..8), bytes: random.usize(1..100) };
            let mut table = Table::new(limits);
            let mut held = Vec::new();
            for region in 0..60 {
                let start = random.usize(0..40);
                let range = start..start + random.usize(1..20);
                let all: Vec<_> = table.found.iter().map(|(start, end, _)| *start..*end).collect();
                let is_known = all.iter().any(|other| covers(other, &range));
                match table.find(&range) {
                    Some(entry) => {
                        assert!(is_known && covers(&entry.range, &range));
                        held.push(entry);
                    }
                    None => {
                        assert!(!is_known, "{range:?} in {all:?}");
                        held.extend(put(&mut table, range, region));
                    }
                }
                held.retain(|_| random.bool());
                let (entries, bytes) = table.size();
                assert!(entries <= limits.registrations && bytes <= limits.bytes);
                assert!(table.found.is_sorted());
                assert!(table.found.is_sorted_by_key(|(_, end, _)| end));
            }
            held.clear();
            while table.remove_any().is_some() {}
            assert_eq!(table.size(), (0, 0));
        }
    }

    #[test]
    fn the_entry_whose_last_use_is_the_longest_ago_goes_and_those_that_are_held_stay() {
        let mut table = Table::new(Limits { registrations: 3, bytes: 100 });
        let held = put(&mut table, 0..1, 0);
        for region in 1..3 {
            put(&mut table, 10 * region..10 * region + 1, 0);
        }
        assert!(table.find(&(10..11)).is_some());
        put(&mut table, 30..31, 0);
        let is_found = |table: &mut Table<u32>| [0, 10, 20, 30].map(|at| table.find(&(at..at + 1)).is_some());
        assert_eq!(is_found(&mut table), [true, true, false, true]);
        // All of the bytes: all that is not held would have to go, and what is held does not.
        assert!(put(&mut table, 40..140, 0).is_none());
        assert_eq!(is_found(&mut table), [true, true, false, true]);
        put(&mut table, 40..139, 0);
        assert_eq!(is_found(&mut table), [true, false, false, false]);
        drop(held);
        put(&mut table, 200..300, 0);
        assert_eq!(table.size(), (1, 100));
    }
}

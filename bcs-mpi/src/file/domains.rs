//! Who of the members moves which part of a file in a collective access: all of them find that out alike,
//! from what each has said.
//!
//! The bytes from the first to the last that anybody wants are divided among *aggregators*, which are on as
//! many nodes as there are: each has a *domain* of whole blocks of the file system, and reads or writes it
//! buffer by buffer.

use super::direction::Direction;
use crate::object::file::hints::{Choice, FileHints};
use crate::object::file::view::Region;
use crate::progress::Nodes;
use nic_emu::memory::numbers::CommRank;
use std::ops::Range;

/// Aggregators of a node, where the program does not say how many there are: one fills its buffer while
/// another one's is written.
const AGGREGATORS_OF_A_NODE: usize = 2;
/// Members on one node that have blocks of so many bytes move them themselves: that is no more than the
/// exchange would be.
const LONG: u64 = 32 << 10;

/// Where bytes are but one in so many, turns would mostly bring nothing.
const SPARSE: u64 = 4096;

/// What a member says of its part of an access, and of how it wants it to be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// The first byte of the file, and the one after the last.
    pub ends: (u64, u64),
    /// Bytes.
    pub bytes: u64,
    /// Bytes of a block, about.
    pub block: u64,
    /// Bytes of the file, as the member sees it.
    pub file_bytes: u64,
    /// The member's hints: aggregators, 0 where it does not say how many; bytes at a time; what domains have
    /// whole multiples of.
    pub aggregators: u32,
    pub buffer_bytes: u64,
    pub unit: u64,
    /// Whether it wants two phases.
    pub choice: u8,
    /// Its bytes do not ascend, or accesses are atomic: it makes its access itself.
    pub is_by_itself: bool,
}

/// Bytes that an aggregator moves at a time, at most: so long a message may be.
const MOST_BUFFER: u64 = 1 << 30;

/// Bytes of what a member says.
pub(super) const SAID_BYTES: usize = 72;

impl Said {
    /// What a member with these hints says, of a file with these blocks and bytes.
    pub fn of(
        region: &Region,
        (hints, direction): (&FileHints, Direction),
        (block_bytes, file_bytes): (u64, u64),
        is_atomic: bool,
    ) -> Self {
        let choice = if direction == Direction::Read { hints.cb_read } else { hints.cb_write };
        let factor = hints.striping_factor.filter(|_| hints.cb_nodes.is_none());
        Self {
            ends: if region.is_apart { region.ends().unwrap_or_default() } else { region.bounds },
            bytes: region.bytes as u64,
            block: region.cursor_at(0).block().map_or(0, |(_, bytes)| bytes.min(region.bytes) as u64),
            file_bytes,
            aggregators: hints.cb_nodes.or(factor).unwrap_or(0),
            buffer_bytes: hints.cb_buffer_bytes,
            unit: hints.unit(block_bytes),
            choice: choice.code(),
            is_by_itself: is_atomic || !region.is_apart,
        }
    }

    /// As it is sent.
    pub fn encode(&self) -> [u8; SAID_BYTES] {
        let flags =
            u64::from(self.aggregators) << 32 | u64::from(self.choice) << 8 | u64::from(self.is_by_itself);
        let (first, end) = self.ends;
        let words =
            [first, end, self.bytes, self.block, self.file_bytes, self.buffer_bytes, self.unit, flags, 0];
        let mut bytes = [0; SAID_BYTES];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// As it has come. What would be no access becomes one.
    pub fn decode(bytes: &[u8; SAID_BYTES]) -> Self {
        let mut words = [0; SAID_BYTES / 8];
        for (word, from) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*from);
        }
        let [first, end, bytes, block, file_bytes, buffer_bytes, unit, flags, _] = words;
        let most = i64::MAX as u64;
        Self {
            ends: (first.min(most), end.min(most)),
            bytes,
            block,
            file_bytes,
            aggregators: (flags >> 32) as u32,
            buffer_bytes: buffer_bytes.clamp(1, MOST_BUFFER),
            unit: unit.clamp(1, 1 << 40),
            choice: (flags >> 8) as u8,
            is_by_itself: flags & 1 != 0,
        }
    }

    /// The bytes between its ends.
    pub fn reach(&self) -> Range<u64> {
        if self.bytes == 0 { 0..0 } else { self.ends.0..self.ends.1 }
    }
}

/// Who moves what, and how much at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Domains {
    /// The aggregators, each with its part of the file, in ascending order.
    pub of: Vec<(CommRank, Range<u64>)>,
    /// Bytes that each moves at a time.
    buffer_bytes: u64,
}

/// What two ranges have in common.
pub(super) fn common(one: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    let (start, end) = (one.start.max(other.start), one.end.min(other.end));
    start..end.max(start)
}

impl Domains {
    /// The domains of an access of which members have said this; none where each makes its access itself.
    pub fn of(all: &[Said], nodes: &Nodes, direction: Direction) -> Option<Self> {
        let wanted = || all.iter().filter(|said| said.bytes > 0);
        let choices = || all.iter().map(|said| Choice::of_code(said.choice));
        if all.len() < 2
            || all.iter().any(|said| said.is_by_itself)
            || choices().any(|choice| choice == Choice::Disable)
        {
            return None;
        }
        let start = wanted().map(|said| said.ends.0).min()?;
        let mut end = wanted().map(|said| said.ends.1).max()?;
        if direction == Direction::Read {
            end = end.min(Self::file_bytes(all));
        }
        let wants = choices().any(|choice| choice == Choice::Enable);
        let bytes = wanted().fold(0u64, |bytes, said| bytes.saturating_add(said.bytes));
        let is_sparse = (end.saturating_sub(start)) / SPARSE > bytes;
        if start >= end || is_sparse || !(wants || pays(all, nodes)) {
            return None;
        }
        let first = &all[0];
        let aggregators = aggregators(nodes, all.len(), first.aggregators as usize);
        let unit = first.unit;
        let from = start / unit * unit;
        let each = (end - from).div_ceil(aggregators.len() as u64).div_ceil(unit).saturating_mul(unit);
        let domain = |number: usize| {
            let begin = from.saturating_add(each.saturating_mul(number as u64));
            begin.clamp(start, end)..begin.saturating_add(each).clamp(start, end)
        };
        let of = aggregators.into_iter().enumerate().map(|(number, member)| (member, domain(number)));
        let of = of.filter(|(_, domain)| !domain.is_empty()).collect();
        // Whole multiples at a time, too, if the buffer has room for one.
        let buffer_bytes = match first.buffer_bytes / unit {
            0 => first.buffer_bytes,
            units => units * unit,
        };
        Some(Self { of, buffer_bytes })
    }

    /// Bytes of the file: those that all members see.
    pub fn file_bytes(all: &[Said]) -> u64 {
        all.iter().map(|said| said.file_bytes).min().unwrap_or(0)
    }

    /// How many turns it takes.
    pub fn rounds(&self) -> usize {
        let longest = self.of.iter().map(|(_, domain)| domain.end - domain.start).max().unwrap_or(0);
        longest.div_ceil(self.buffer_bytes) as usize
    }

    /// What an aggregator moves in a turn.
    pub fn window(&self, aggregator: usize, round: usize) -> Range<u64> {
        let domain = &self.of[aggregator].1;
        let start = domain.start.saturating_add(self.buffer_bytes.saturating_mul(round as u64));
        start.min(domain.end)..start.saturating_add(self.buffer_bytes).min(domain.end)
    }
}

/// Whether two phases pay: where blocks of members lie between each other's, and are short, or members are on
/// several nodes.
fn pays(all: &[Said], nodes: &Nodes) -> bool {
    let mut reaches: Vec<Range<u64>> =
        all.iter().map(Said::reach).filter(|reach| !reach.is_empty()).collect();
    reaches.sort_by_key(|reach| reach.start);
    let mut end = 0;
    let is_interleaved = reaches.iter().any(|reach| {
        let overlaps = reach.start < end;
        end = end.max(reach.end);
        overlaps
    });
    let blocks = all.iter().filter(|said| said.bytes > 0).map(|said| said.block);
    is_interleaved && (nodes.count() > 1 || blocks.min().unwrap_or(0) < LONG)
}

/// The aggregators: the first members of all nodes, then the second ones.
fn aggregators(nodes: &Nodes, members: usize, wanted: usize) -> Vec<CommRank> {
    let most = match wanted {
        0 => (0..nodes.count()).map(|node| nodes.members(node).len().min(AGGREGATORS_OF_A_NODE)).sum(),
        wanted => wanted.min(members),
    };
    let of_node =
        |place: usize| (0..nodes.count()).filter_map(move |node| nodes.members(node).get(place).copied());
    let mut all: Vec<CommRank> = (0..members).flat_map(of_node).take(most).collect();
    // Domains of a node lie beside each other.
    all.sort_by_key(|member| nodes.place(*member));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(first: u64, bytes: u64, block: u64) -> Said {
        let ends = (first, first + bytes * 4);
        Said { ends, bytes, block, file_bytes: u64::MAX, buffer_bytes: 1000, unit: 64, ..Said::default() }
    }

    #[test]
    fn what_a_member_says_the_others_read() {
        let said = Said {
            ends: (5, 1 << 62),
            bytes: 7,
            block: 3,
            file_bytes: 9,
            aggregators: u32::MAX,
            buffer_bytes: 11,
            unit: 13,
            choice: 2,
            is_by_itself: true,
        };
        assert_eq!(Said::decode(&said.encode()), said);
    }

    #[test]
    fn accesses_that_are_apart_or_long_are_made_by_each_member() {
        let nodes = Nodes::of([0, 0]);
        let plan = |all: &[Said]| Domains::of(all, &nodes, Direction::Write);
        assert!(plan(&[said(0, 100, 8), said(8, 100, 8)]).is_some());
        assert!(plan(&[said(0, 100, 8), said(400, 100, 8)]).is_none());
        assert!(plan(&[said(0, 1 << 20, LONG), said(8, 1 << 20, LONG)]).is_none());
        let enabled = Said { choice: Choice::Enable.code(), ..said(400, 100, 8) };
        assert!(plan(&[said(0, 100, 8), enabled]).is_some());
        let disabled = Said { choice: Choice::Disable.code(), ..said(8, 100, 8) };
        assert!(plan(&[said(0, 100, 8), disabled]).is_none());
        assert!(plan(&[said(0, 100, 8), Said { is_by_itself: true, ..enabled }]).is_none());
        // Some bytes, and some more at the other end of what a file can be.
        assert!(plan(&[Said { ends: (0, 1 << 62), ..enabled }, enabled]).is_none());
    }

    #[test]
    fn aggregators_are_on_all_nodes() {
        let nodes = Nodes::of([0, 0, 0, 1, 2, 2]);
        assert_eq!(aggregators(&nodes, 6, 0), [0, 1, 3, 4, 5].map(CommRank));
        assert_eq!(aggregators(&nodes, 6, 3), [0, 3, 4].map(CommRank));
        assert_eq!(aggregators(&nodes, 6, 99), [0, 1, 2, 3, 4, 5].map(CommRank));
    }

    proptest! {
        #[test]
        fn domains_and_turns_are_all_there_is_once(
            first in 0u64..10_000, bytes in 1u64..20_000, unit in 1u64..5000, buffer in 1u64..9000, wanted in 0u32..6,
            nodes in proptest::collection::vec(0u32..3, 2..7)
        ) {
            let one = Said {
                ends: (first, first + bytes), bytes, buffer_bytes: buffer, unit, aggregators: wanted, choice: 1,
                ..said(0, 1, 1)
            };
            let all = vec![one; nodes.len()];
            let domains = Domains::of(&all, &Nodes::of(nodes), Direction::Read).unwrap();
            let mut at = first;
            for (number, (_, domain)) in domains.of.iter().enumerate() {
                prop_assert_eq!(domain.start, at);
                prop_assert!(number == 0 || domain.start % unit == 0);
                for round in 0..domains.rounds() {
                    let window = domains.window(number, round);
                    prop_assert!(window.is_empty() || window.start == at);
                    prop_assert!(window.end - window.start <= buffer);
                    at = at.max(window.end);
                }
                prop_assert_eq!(at, domain.end);
            }
            prop_assert_eq!(at, first + bytes);
        }
    }
}

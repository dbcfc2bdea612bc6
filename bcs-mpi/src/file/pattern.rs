//! The pattern of an access within a part of the file: what a member tells an aggregator of it.
//!
//! Blocks of equal length and distance are one entry, so that what a vector sees of a file is a few words
//! however long it is.

use crate::error::{MpiError, MpiResult, Problem};
use crate::object::file::view::Region;
use std::ops::Range;

/// Blocks of equal length, equally far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blocks {
    offset: u64,
    bytes: u64,
    stride: u64,
    count: u64,
}

impl Blocks {
    fn end(&self) -> u64 {
        self.offset + (self.count - 1) * self.stride + self.bytes
    }

    /// Takes in another block, if it goes on where these end.
    fn extend(&mut self, next: &Self) -> bool {
        if self.count == 1 && self.offset + self.bytes == next.offset && next.count == 1 {
            self.bytes += next.bytes;
            return true;
        }
        if self.bytes != next.bytes {
            return false;
        }
        let far = next.offset - (self.offset + (self.count - 1) * self.stride);
        let goes_on = (self.count == 1 || far == self.stride)
            && (next.count == 1 || far == next.stride)
            && far >= self.bytes;
        if goes_on {
            (self.stride, self.count) = (far, self.count + next.count);
        }
        goes_on
    }
}

/// Words of an entry, as it is sent.
pub(super) const ENTRY_WORDS: usize = 4;

/// Blocks that ascend.
#[derive(Clone, Debug, Default)]
pub(super) struct Pattern {
    entries: Vec<Blocks>,
    /// The bytes before each entry.
    starts: Vec<u64>,
}

impl Pattern {
    /// What an access has within this part of the file. Its bytes ascend.
    pub fn of(region: &Region, part: Range<u64>) -> Self {
        let (from, to) = (region.bytes_before(part.start), region.bytes_before(part.end));
        let (mut pattern, mut cursor, mut left) = (Self::default(), region.cursor_at(from), to - from);
        while let Some((offset, bytes)) = cursor.block().filter(|_| left > 0) {
            let offset = (region.base() + offset as i64) as u64;
            let (count, stride) = match cursor.regular() {
                Some((count, stride)) if left >= bytes => (count.min(left / bytes), stride as u64),
                _ => (0, 0),
            };
            if count > 1 {
                cursor.pass_regular(count);
                left -= count * bytes;
                pattern.push(Blocks { offset, bytes: bytes as u64, stride, count: count as u64 });
            } else {
                let taken = cursor.take_block(left).map_or(left, |(_, taken)| taken);
                left -= taken;
                pattern.push(Blocks { offset, bytes: taken as u64, stride: 0, count: 1 });
            }
        }
        pattern
    }

    fn push(&mut self, blocks: Blocks) {
        if self.entries.last_mut().is_some_and(|last| last.extend(&blocks)) {
            return;
        }
        self.starts.push(self.bytes());
        self.entries.push(blocks);
    }

    /// All its bytes.
    pub fn bytes(&self) -> u64 {
        match (self.entries.last(), self.starts.last()) {
            (Some(last), Some(start)) => start + last.count * last.bytes,
            _ => 0,
        }
    }

    /// As words: four an entry.
    pub fn encode(&self) -> Vec<u64> {
        self.entries.iter().flat_map(|of| [of.offset, of.bytes, of.stride, of.count]).collect()
    }

    /// What another member has told of this part of the file.
    ///
    /// # Errors
    /// It is no pattern.
    pub fn decode(words: &[u64], part: Range<u64>) -> MpiResult<Self> {
        let (mut pattern, mut end) = (Self::default(), part.start);
        for &[offset, bytes, stride, count] in words.as_chunks::<ENTRY_WORDS>().0 {
            let last = (count.wrapping_sub(1)).checked_mul(stride).and_then(|far| far.checked_add(offset));
            let behind = last.and_then(|last| last.checked_add(bytes));
            let is_one = bytes > 0
                && count > 0
                && (count == 1 || stride >= bytes)
                && offset >= end
                && behind.is_some_and(|behind| behind <= part.end);
            if !is_one {
                let text = "a member has told of an access to a file that cannot be";
                return Err(MpiError::new(Problem::Nic(text.into())));
            }
            end = behind.unwrap_or(end);
            pattern.push(Blocks { offset, bytes, stride, count });
        }
        Ok(pattern)
    }

    /// How many of its bytes lie before this byte of the file.
    pub fn bytes_before(&self, offset: u64) -> u64 {
        let Some(at) = self.entries.partition_point(|of| of.offset < offset).checked_sub(1) else { return 0 };
        let (of, far) = (&self.entries[at], offset - self.entries[at].offset);
        let within = match of.count {
            1 => far.min(of.bytes),
            count if far / of.stride >= count => count * of.bytes,
            _ => far / of.stride * of.bytes + (far % of.stride).min(of.bytes),
        };
        self.starts[at] + within
    }

    /// Calls for each block within this part of the file, cut to it.
    pub fn for_each(&self, part: &Range<u64>, mut each: impl FnMut(u64, u64)) {
        let first = self.entries.partition_point(|of| of.end() <= part.start);
        for of in self.entries[first..].iter().take_while(|of| of.offset < part.end) {
            let skipped = match of.count {
                1 => 0,
                _ => part.start.saturating_sub(of.offset) / of.stride,
            };
            for block in skipped..of.count {
                let offset = of.offset + block * of.stride;
                let (start, end) = (offset.max(part.start), (offset + of.bytes).min(part.end));
                if offset >= part.end {
                    break;
                }
                if start < end {
                    each(start, end - start);
                }
            }
        }
    }

    /// A block's bytes, about, in this part of the file; none where there is none.
    pub fn block_in(&self, part: &Range<u64>) -> Option<u64> {
        let first = self.entries.partition_point(|of| of.end() <= part.start);
        self.entries.get(first).filter(|of| of.offset < part.end).map(|of| of.bytes)
    }
}

/// Which bytes of a part of a file somebody writes or reads: a bit each.
pub(super) struct Coverage {
    part: Range<u64>,
    words: Vec<u64>,
}

impl Coverage {
    /// Nothing of this part.
    pub fn of(part: Range<u64>) -> Self {
        let words = vec![0; (part.end - part.start).div_ceil(64) as usize];
        Self { part, words }
    }

    /// Adds bytes, which lie in the part.
    pub fn add(&mut self, offset: u64, bytes: u64) {
        let (mut bit, end) = (offset - self.part.start, offset - self.part.start + bytes);
        while bit < end {
            let (word, within) = ((bit / 64) as usize, bit % 64);
            let bits = (end - bit).min(64 - within);
            self.words[word] |= (u64::MAX >> (64 - bits)) << within;
            bit += bits;
        }
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The first byte, and the one after the last.
    pub fn ends(&self) -> Option<Range<u64>> {
        let first = self.words.iter().position(|word| *word != 0)?;
        let last = self.words.iter().rposition(|word| *word != 0)?;
        let start = first as u64 * 64 + u64::from(self.words[first].trailing_zeros());
        let end = last as u64 * 64 + 64 - u64::from(self.words[last].leading_zeros());
        Some(self.part.start + start..self.part.start + end)
    }

    /// The first bytes that follow each other, from this byte of the file on.
    pub fn next(&self, from: u64) -> Option<Range<u64>> {
        let find = |from: u64, set: bool| {
            let (first, mut mask) = ((from / 64) as usize, u64::MAX << (from % 64));
            for (number, word) in self.words.iter().enumerate().skip(first) {
                let word = (if set { *word } else { !*word }) & mask;
                if word != 0 {
                    return Some(number as u64 * 64 + u64::from(word.trailing_zeros()));
                }
                mask = u64::MAX;
            }
            None
        };
        let length = self.part.end - self.part.start;
        let start = find(from.max(self.part.start) - self.part.start, true)?;
        let end = find(start, false).unwrap_or(length).min(length);
        Some(self.part.start + start..self.part.start + end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Blocks that ascend and do not touch, and the same as entries.
    fn patterns() -> impl Strategy<Value = (Vec<(u64, u64)>, Pattern)> {
        proptest::collection::vec((1u64..30, 1u64..9, 1u64..20, 1u64..6), 0..20).prop_map(|entries| {
            let (mut at, mut blocks, mut pattern) = (0, Vec::new(), Pattern::default());
            for (hole, bytes, gap, count) in entries {
                at += hole;
                let stride = if count == 1 { 0 } else { bytes + gap };
                pattern.push(Blocks { offset: at, bytes, stride, count });
                blocks.extend((0..count).map(|i| (at + i * (bytes + gap), bytes)));
                at += (count - 1) * (bytes + gap) + bytes;
            }
            (blocks, pattern)
        })
    }

    fn cut(blocks: &[(u64, u64)], part: &Range<u64>) -> Vec<(u64, u64)> {
        let cut = blocks.iter().map(|(at, bytes)| ((*at).max(part.start), (at + bytes).min(part.end)));
        cut.filter(|(start, end)| start < end).map(|(start, end)| (start, end - start)).collect()
    }

    proptest! {
        #[test]
        fn a_pattern_is_its_blocks_wherever_it_is_cut((blocks, pattern) in patterns(), start in 0u64..900, length in 0u64..900) {
            let part = start..start + length;
            let mut seen = Vec::new();
            pattern.for_each(&part, |at, bytes| seen.push((at, bytes)));
            prop_assert_eq!(&seen, &cut(&blocks, &part));
            let before: u64 = cut(&blocks, &(0..start)).iter().map(|block| block.1).sum();
            prop_assert_eq!(pattern.bytes_before(start), before);
            let (words, all) = (pattern.encode(), 0..u64::MAX / 2);
            let again = Pattern::decode(&words, all.clone()).unwrap();
            prop_assert_eq!(again.encode(), words.clone());
            if let Some(end) = blocks.last().map(|(at, bytes)| at + bytes) {
                prop_assert!(Pattern::decode(&words, 0..end - 1).is_err());
                prop_assert!(Pattern::decode(&words, blocks[0].0 + 1..end).is_err());
            }
        }

        #[test]
        fn damage_is_refused_or_lies_in_the_part_in_order(words in proptest::collection::vec(0u64..90, 0..16), end in 0u64..300) {
            let part = 5..end.max(5);
            if let Ok(pattern) = Pattern::decode(&words, part.clone()) {
                let (mut at, mut bytes) = (part.start, 0);
                pattern.for_each(&part, |offset, length| {
                    assert!(offset >= at && offset + length <= part.end);
                    (at, bytes) = (offset + length, bytes + length);
                });
                prop_assert_eq!(bytes, pattern.bytes());
            }
        }

        #[test]
        fn coverage_is_what_was_added((blocks, _) in patterns(), start in 0u64..100) {
            let end = blocks.last().map_or(1, |(at, bytes)| at + bytes) + start + 3;
            let mut coverage = Coverage::of(start..end);
            blocks.iter().for_each(|(at, bytes)| coverage.add(at + start, *bytes));
            prop_assert_eq!(coverage.bytes(), blocks.iter().map(|block| block.1).sum::<u64>());
            let (mut seen, mut from) = (Vec::new(), start);
            while let Some(range) = coverage.next(from) {
                seen.push((range.start - start, range.end - range.start));
                from = range.end;
            }
            prop_assert_eq!(coverage.ends().map(|ends| ends.start), seen.first().map(|first| first.0 + start));
            prop_assert_eq!(coverage.ends().map(|ends| ends.end), seen.last().map(|last| last.0 + last.1 + start));
            prop_assert_eq!(seen, blocks);
        }
    }
}

//! Sets of nodes: the destinations of an Xfer-And-Signal, the nodes of a Compare-And-Write (paper, §2), an
//! allocation of the machine.
//!
//! A set is a bitmap that begins at its first node and ends at its last. Invariant: the first and the last
//! word are not zero (and the empty set has no words at all), so equal sets have equal representations.
//! Sets that span at most 128 nodes allocate nothing.

use crate::ids::NodeId;
use smallvec::SmallVec;
use std::{fmt, ops::Range, str::FromStr};

/// Node numbers are below this: enough for any machine, small enough that a set read from a hostile
/// message or a mistyped range (`0-4000000000`) cannot exhaust memory (a set is at most 128 KiB).
pub const MAX_NODES: u32 = 1 << 20;

const WORD_BITS: u32 = u64::BITS;

/// A set of nodes. See the module for the representation.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeSet {
    /// The number of the first word: node `n` is bit `n % 64` of word `n / 64 - first_word`.
    first_word: u32,
    words: SmallVec<[u64; 2]>,
}

impl NodeSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { first_word: 0, words: SmallVec::new_const() }
    }

    /// The set of one node.
    ///
    /// # Panics
    /// When the node's number is not below [`MAX_NODES`].
    pub fn single(node: NodeId) -> Self {
        let mut set = Self::new();
        set.insert(node);
        set
    }

    /// The nodes with the numbers of a range; an empty range gives the empty set.
    ///
    /// # Panics
    /// When the range goes beyond [`MAX_NODES`].
    pub fn range(nodes: Range<u32>) -> Self {
        if nodes.is_empty() {
            return Self::new();
        }
        assert!(nodes.end <= MAX_NODES, "node numbers end at {MAX_NODES}, the range ends at {}", nodes.end);
        let (first_word, last_word) = (nodes.start / WORD_BITS, (nodes.end - 1) / WORD_BITS);
        let mut words: SmallVec<[u64; 2]> =
            SmallVec::from_elem(u64::MAX, (last_word - first_word + 1) as usize);
        words[0] &= u64::MAX << (nodes.start % WORD_BITS);
        let unused_bits = (last_word + 1) * WORD_BITS - nodes.end;
        if let Some(last) = words.last_mut() {
            *last &= u64::MAX >> unused_bits;
        }
        Self { first_word, words }
    }

    /// All nodes of a machine of `count` nodes: 0 to `count - 1`.
    ///
    /// # Panics
    /// When `count` is above [`MAX_NODES`].
    pub fn all(count: u32) -> Self {
        Self::range(0..count)
    }

    /// The set whose bitmap is `words`, the first of them being word number `first_word`. `None` when a
    /// node of it is not below [`MAX_NODES`].
    pub fn from_words(first_word: u32, words: &[u64]) -> Option<Self> {
        let end = (first_word as u64).checked_add(words.len() as u64)?;
        if end > u64::from(MAX_NODES / WORD_BITS) && !words.is_empty() {
            return None;
        }
        let mut set = Self { first_word, words: SmallVec::from_slice(words) };
        set.normalise();
        Some(set)
    }

    /// The bitmap: the number of its first word, and its words. The inverse of [`NodeSet::from_words`].
    pub fn as_words(&self) -> (u32, &[u64]) {
        (self.first_word, &self.words)
    }

    /// Adds a node. True when it was not in the set before.
    ///
    /// # Panics
    /// When the node's number is not below [`MAX_NODES`].
    pub fn insert(&mut self, node: NodeId) -> bool {
        assert!(node.0 < MAX_NODES, "node numbers end at {MAX_NODES}, this is {node}");
        let (word, bit) = (node.0 / WORD_BITS, 1u64 << (node.0 % WORD_BITS));
        if self.words.is_empty() {
            self.first_word = word;
            self.words.push(bit);
            return true;
        }
        if word < self.first_word {
            self.words.insert_many(0, std::iter::repeat_n(0, (self.first_word - word) as usize));
            self.first_word = word;
        }
        let index = (word - self.first_word) as usize;
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        let fresh = self.words[index] & bit == 0;
        self.words[index] |= bit;
        fresh
    }

    /// Takes a node out. True when it was in the set.
    pub fn remove(&mut self, node: NodeId) -> bool {
        if !self.contains(node) {
            return false;
        }
        let index = (node.0 / WORD_BITS - self.first_word) as usize;
        self.words[index] &= !(1 << (node.0 % WORD_BITS));
        self.normalise();
        true
    }

    /// Whether the node is in the set.
    pub fn contains(&self, node: NodeId) -> bool {
        let word = node.0 / WORD_BITS;
        word >= self.first_word && self.word(word) & (1 << (node.0 % WORD_BITS)) != 0
    }

    /// The number of nodes in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set has no node.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The node, when the set has exactly one.
    pub fn sole(&self) -> Option<NodeId> {
        match self.words.as_slice() {
            [word] if word.is_power_of_two() => self.first(),
            _ => None,
        }
    }

    /// The node with the lowest number.
    pub fn first(&self) -> Option<NodeId> {
        let word = self.words.first()?;
        Some(NodeId(self.first_word * WORD_BITS + word.trailing_zeros()))
    }

    /// The node with the highest number.
    pub fn last(&self) -> Option<NodeId> {
        let word = self.words.last()?;
        let last_word = self.first_word + self.words.len() as u32 - 1;
        Some(NodeId(last_word * WORD_BITS + (WORD_BITS - 1 - word.leading_zeros())))
    }

    /// The nodes in rising order.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            words: &self.words,
            word_number: self.first_word,
            bits: self.words.first().copied().unwrap_or(0),
        }
    }

    /// The longest runs of consecutive nodes, in rising order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        let mut nodes = self.iter().peekable();
        std::iter::from_fn(move || {
            let start = nodes.next()?.0;
            let mut end = start + 1;
            while nodes.next_if(|node| node.0 == end).is_some() {
                end += 1;
            }
            Some(start..end)
        })
    }

    /// The nodes that are in either set.
    pub fn union(&self, other: &Self) -> Self {
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self.clone();
        }
        self.combine(
            other,
            self.first_word.min(other.first_word)..self.end_word().max(other.end_word()),
            |a, b| a | b,
        )
    }

    /// The nodes that are in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(
            other,
            self.first_word.max(other.first_word)..self.end_word().min(other.end_word()),
            |a, b| a & b,
        )
    }

    /// The nodes of this set that are not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, self.first_word..self.end_word(), |a, b| a & !b)
    }

    /// Whether every node of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        (self.first_word..self.end_word()).all(|word| self.word(word) & !other.word(word) == 0)
    }

    /// Whether some node is in both sets.
    pub fn intersects(&self, other: &Self) -> bool {
        let words = self.first_word.max(other.first_word)..self.end_word().min(other.end_word());
        words.into_iter().any(|word| self.word(word) & other.word(word) != 0)
    }

    fn end_word(&self) -> u32 {
        self.first_word + self.words.len() as u32
    }

    fn word(&self, number: u32) -> u64 {
        let index = number.wrapping_sub(self.first_word) as usize;
        self.words.get(index).copied().unwrap_or(0)
    }

    fn combine(&self, other: &Self, words: Range<u32>, operation: impl Fn(u64, u64) -> u64) -> Self {
        let first_word = words.start;
        let words = words.map(|number| operation(self.word(number), other.word(number))).collect();
        let mut set = Self { first_word, words };
        set.normalise();
        set
    }

    /// Restores the invariant: neither the first nor the last word is zero.
    fn normalise(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
        let leading = self.words.iter().take_while(|word| **word == 0).count();
        self.words.drain(..leading);
        self.first_word = if self.words.is_empty() { 0 } else { self.first_word + leading as u32 };
    }
}

/// The nodes of a set in rising order. See [`NodeSet::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    /// The word that `bits` was taken from, and those after it.
    words: &'a [u64],
    word_number: u32,
    /// What is left of the first word.
    bits: u64,
}

impl Iterator for Iter<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        while self.bits == 0 {
            self.words = self.words.get(1..)?;
            self.bits = *self.words.first()?;
            self.word_number += 1;
        }
        let bit = self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some(NodeId(self.word_number * WORD_BITS + bit))
    }
}

impl<'a> IntoIterator for &'a NodeSet {
    type Item = NodeId;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = Self::new();
        set.extend(nodes);
        set
    }
}

impl Extend<NodeId> for NodeSet {
    fn extend<I: IntoIterator<Item = NodeId>>(&mut self, nodes: I) {
        for node in nodes {
            self.insert(node);
        }
    }
}

/// Writes ranges as users read and write them: `0-3,7`; the empty set is the empty string.
impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, range) in self.ranges().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            match range.end - range.start {
                1 => write!(f, "{comma}{}", range.start)?,
                _ => write!(f, "{comma}{}-{}", range.start, range.end - 1)?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

/// Why a text is not a set of nodes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeSetError {
    /// A part between commas is neither a number nor a range.
    #[error("'{0}' is not a node number or a range of them; write a node set as in 0-3,7")]
    NotARange(String),
    /// A range whose end is before its start.
    #[error("the range '{0}' ends before it starts; write the lower node first")]
    Backwards(String),
    /// A number that is too high for a node.
    #[error("node {0} is too high: node numbers are below {MAX_NODES}")]
    TooHigh(u64),
}

/// Reads what [`Display`](fmt::Display) writes; blanks around numbers are allowed, ranges may overlap and
/// come in any order.
impl FromStr for NodeSet {
    type Err = NodeSetError;

    fn from_str(text: &str) -> Result<Self, NodeSetError> {
        let mut set = Self::new();
        if text.trim().is_empty() {
            return Ok(set);
        }
        for part in text.split(',') {
            let part = part.trim();
            let not_a_range = || NodeSetError::NotARange(part.to_owned());
            let number = |text: &str| {
                let text = text.trim();
                let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                let node = if digits { text.parse().unwrap_or(u64::MAX) } else { return Err(not_a_range()) };
                match u32::try_from(node) {
                    Ok(node) if node < MAX_NODES => Ok(node),
                    _ => Err(NodeSetError::TooHigh(node)),
                }
            };
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if last < first {
                return Err(NodeSetError::Backwards(part.to_owned()));
            }
            set = set.union(&Self::range(first..last + 1));
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn nodes() -> impl Strategy<Value = BTreeSet<u32>> {
        prop_oneof![
            proptest::collection::btree_set(0..300u32, 0..60),
            proptest::collection::btree_set(0..MAX_NODES, 0..6),
        ]
    }

    fn set_of(nodes: &BTreeSet<u32>) -> NodeSet {
        nodes.iter().map(|node| NodeId(*node)).collect()
    }

    fn numbers(set: &NodeSet) -> BTreeSet<u32> {
        set.iter().map(|node| node.0).collect()
    }

    proptest! {
        #[test]
        fn set_operations_agree_with_ordered_sets_of_numbers(a in nodes(), b in nodes()) {
            let (x, y) = (set_of(&a), set_of(&b));
            prop_assert_eq!(numbers(&x.union(&y)), &a | &b);
            prop_assert_eq!(numbers(&x.intersection(&y)), &a & &b);
            prop_assert_eq!(numbers(&x.difference(&y)), &a - &b);
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x.intersects(&y), !a.is_disjoint(&b));
            prop_assert_eq!(x.len(), a.len());
            prop_assert_eq!(x.first().map(|node| node.0), a.first().copied());
            prop_assert_eq!(x.last().map(|node| node.0), a.last().copied());
            prop_assert_eq!(x.sole().map(|node| node.0), a.first().copied().filter(|_| a.len() == 1));
            prop_assert_eq!(x == y, a == b);
        }

        #[test]
        fn equal_sets_are_equal_however_they_were_built(a in nodes(), b in nodes()) {
            let mut built = set_of(&b);
            for node in &a { built.insert(NodeId(*node)); }
            for node in b.difference(&a) { prop_assert!(built.remove(NodeId(*node))); }
            prop_assert_eq!(&built, &set_of(&a));
            let (first, words) = built.as_words();
            prop_assert_eq!(NodeSet::from_words(first, words), Some(built.clone()));
        }

        #[test]
        fn a_set_is_read_back_from_what_it_prints(a in nodes()) {
            let set = set_of(&a);
            prop_assert_eq!(set.to_string().parse::<NodeSet>().unwrap(), set);
        }

        #[test]
        fn a_range_holds_its_numbers_and_no_other(start in 0..500u32, count in 0..300u32) {
            prop_assert_eq!(numbers(&NodeSet::range(start..start + count)), (start..start + count).collect());
        }

        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in "[0-9, x-]{0,24}") {
            let _ = text.parse::<NodeSet>();
        }
    }

    #[test]
    fn ranges_are_written_as_users_write_them() {
        let set: NodeSet = [0, 1, 2, 3, 7, 63, 64].into_iter().map(NodeId).collect();
        assert_eq!(set.to_string(), "0-3,7,63-64");
        assert_eq!(" 7, 0-2,1-3 ,63-64".parse::<NodeSet>().unwrap(), set);
    }

    #[test]
    fn wrong_texts_are_refused_with_the_part_that_is_wrong() {
        let refused = |text: &str| text.parse::<NodeSet>().unwrap_err();
        assert_eq!(refused("1,x"), NodeSetError::NotARange("x".into()));
        assert_eq!(refused("1,,2"), NodeSetError::NotARange(String::new()));
        assert_eq!(refused("5-3"), NodeSetError::Backwards("5-3".into()));
        assert_eq!(refused("0-4000000000"), NodeSetError::TooHigh(4_000_000_000));
        assert_eq!(NodeSet::from_words(MAX_NODES / 64, &[1]), None);
        assert_eq!(NodeSet::from_words(u32::MAX, &[1, 1]), None);
    }
}

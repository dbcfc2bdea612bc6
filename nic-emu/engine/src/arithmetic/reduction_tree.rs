//! The order of a reduction over n contributions: a tree over ranks that no placement can change (design, §4
//! "Arithmetic"; paper, §4.4).
//!
//! Ranks are cut into aligned blocks: block (s, k) covers the ranks from s to s + 2^k − 1 that exist, with s
//! a multiple of 2^k. The value of a block of one rank is that rank's contribution; the value of any other is
//! the value of its left half combined with that of its right half, or that of its left half alone where no
//! rank of the right half exists. The result is the value of the smallest block that covers all ranks.
//!
//! Invariant: this definition says nothing of nodes or of time, so whoever combines whatever comes in, in any
//! order of arrival, gets the same bits. A node combines the contributions it has as far as whole
//! blocks go, and hands on a short list of partial results: of a contiguous range of ranks, at most
//! 2 log2 n. The result of a scan at rank r is the result of the tree over the r + 1 contributions up to it.

use std::num::NonZeroU32;

/// An aligned interval of ranks, which is also a node of the tree.
///
/// Only a [`ReductionTree`] makes blocks, always in the canonical form: the largest that holds the same
/// existing ranks. So blocks with the same ranks are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    start: u32,
    log2_size: u32,
}

impl Block {
    /// The first rank.
    #[inline]
    pub const fn start(self) -> u32 {
        self.start
    }

    /// Base-2 logarithm of the number of ranks covered, existing or not; at most 32.
    #[inline]
    pub const fn log2_size(self) -> u32 {
        self.log2_size
    }
}

/// The tree over the contributions of ranks 0 to n − 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionTree {
    ranks: NonZeroU32,
}

impl ReductionTree {
    /// The tree over `ranks` contributions.
    #[inline]
    pub const fn new(ranks: NonZeroU32) -> Self {
        Self { ranks }
    }

    /// The block of all ranks, whose value is the result.
    #[inline]
    pub const fn root(self) -> Block {
        Block { start: 0, log2_size: self.log2_root() }
    }

    /// The block of one rank, whose value is that rank's contribution; none if there is no such rank.
    #[inline]
    pub const fn leaf(self, rank: u32) -> Option<Block> {
        self.block(rank, 0)
    }

    /// The block (`start`, `log2_size`) in canonical form; none if it is not aligned or not in the tree.
    ///
    /// Blocks that come over the network pass here, so that the rest can rely on them.
    #[inline]
    pub const fn block(self, start: u32, log2_size: u32) -> Option<Block> {
        if start >= self.ranks.get() || log2_size > self.log2_root() {
            return None;
        }
        if start as u64 & ((1 << log2_size) - 1) != 0 {
            return None;
        }
        Some(self.canonical(Block { start, log2_size }))
    }

    /// The block whose value is combined with this one's; none for the root.
    #[inline]
    pub const fn partner(self, block: Block) -> Option<Block> {
        if block.log2_size >= self.log2_root() {
            return None;
        }
        // In canonical form a left half has a right half, so the partner exists.
        self.block(block.start ^ (1 << block.log2_size), block.log2_size)
    }

    /// The block of which `left` and `right` are the halves; none if they are not, in this order.
    #[inline]
    pub fn join(self, left: Block, right: Block) -> Option<Block> {
        if left.start > right.start || self.partner(left) != Some(right) {
            return None;
        }
        self.block(left.start, left.log2_size + 1)
    }

    /// All combines, each after those that it needs.
    ///
    /// Each combines the contribution or partial result at one rank's place with that at another's, and
    /// leaves the result at the right one's place: that of the root ends up at the last rank's.
    #[inline]
    pub fn steps(self) -> Steps {
        Steps { tree: self, level: 0, next: 0 }
    }

    const fn canonical(self, mut block: Block) -> Block {
        while block.log2_size < self.log2_root() {
            let half = 1_u64 << block.log2_size;
            let is_right_half = block.start as u64 & half != 0;
            let has_right_half = block.start as u64 + half < self.ranks.get() as u64;
            if is_right_half || has_right_half {
                break;
            }
            block.log2_size += 1;
        }
        block
    }

    const fn log2_root(self) -> u32 {
        u32::BITS - (self.ranks.get() - 1).leading_zeros()
    }
}

/// One combine: what is at place `left` with what is at place `right`, the result to place `right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CombineStep {
    /// Place of the left operand: the last rank that it covers.
    pub left: u32,
    /// Place of the right operand, and of the result: the last rank that they cover.
    pub right: u32,
}

/// Iterator over [`ReductionTree::steps`].
#[derive(Clone, Debug)]
pub struct Steps {
    tree: ReductionTree,
    level: u32,
    /// The first rank of the next pair of halves of this level.
    next: u64,
}

impl Iterator for Steps {
    type Item = CombineStep;

    #[inline]
    fn next(&mut self) -> Option<CombineStep> {
        let ranks = u64::from(self.tree.ranks.get());
        while self.level < self.tree.log2_root() {
            let half = 1_u64 << self.level;
            let right = self.next + half;
            if right < ranks {
                self.next = right + half;
                return Some(CombineStep {
                    left: (right - 1) as u32,
                    right: (self.next.min(ranks) - 1) as u32,
                });
            }
            self.level += 1;
            self.next = 0;
        }
        None
    }
}

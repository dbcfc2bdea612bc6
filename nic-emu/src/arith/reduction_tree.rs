//! The order of a reduction over n contributions: a tree over ranks that no placement can change (design, §4
//! "Arithmetic"; paper, §4.4).
//!
//! Ranks are cut into aligned blocks: block (s, k) covers the ranks from s to s + 2^k − 1 that exist, with s a
//! multiple of 2^k. The value of a block of one rank is that rank's contribution; the value of any other is
//! the value of its left half combined with that of its right half, or that of its left half alone where no
//! rank of the right half exists. The result is the value of the smallest block that covers all ranks.
//!
//! Invariant: this definition says nothing of nodes or of time, so whoever combines whatever comes in, in any
//! order of arrival, gets the same bits. A node combines the contributions it has as far as whole
//! blocks go, and hands on a short list of partial results: of a contiguous range of ranks, at most
//! 2 log2 n. The result of a scan at rank r is the result of the tree over the r + 1 contributions up to it.

use std::num::NonZeroU32;
use std::ops::Range;

/// An aligned interval of ranks, which is also a node of the tree.
///
/// Only a [`ReductionTree`] makes blocks, always in the canonical form: the largest that holds the same
/// existing ranks. So blocks with the same ranks are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
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

    /// How many contributions there are.
    #[inline]
    pub const fn ranks(self) -> NonZeroU32 {
        self.ranks
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

    /// The existing ranks of a block.
    #[inline]
    pub fn ranks_of(self, block: Block) -> Range<u32> {
        let end = u64::from(block.start) + (1 << block.log2_size);
        block.start..end.min(u64::from(self.ranks.get())) as u32
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

    /// The combines that a holder of the contributions of `ranks` can do, and has to do.
    ///
    /// Each combines the contribution or partial result at one rank's place with that at another's, and leaves
    /// the result at the right one's place. A step comes after those that it needs, and steps of one
    /// [`Step::level`] are independent of each other. After the last, [`ReductionTree::partials`] tells
    /// what is where. Ranks that do not exist are ignored.
    #[inline]
    pub fn steps(self, ranks: Range<u32>) -> Steps {
        let end = ranks.end.min(self.ranks.get());
        Steps {
            tree: self,
            start: ranks.start.min(end),
            end,
            level: 0,
            next: u64::from(ranks.start.min(end)),
        }
    }

    /// The partial results that a holder of the contributions of `ranks` hands on, in rank order: the
    /// largest blocks that lie in `ranks`.
    #[inline]
    pub fn partials(self, ranks: Range<u32>) -> Partials {
        Partials { tree: self, next: ranks.start, end: ranks.end.min(self.ranks.get()) }
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
pub struct Step {
    /// Place of the left operand: the last rank that it covers.
    pub left: u32,
    /// Place of the right operand, and of the result: the last rank that they cover.
    pub right: u32,
    /// Steps of one level are independent; a step needs steps of lower levels only.
    pub level: u32,
}

/// Iterator over [`ReductionTree::steps`].
#[derive(Clone, Debug)]
pub struct Steps {
    tree: ReductionTree,
    start: u32,
    end: u32,
    level: u32,
    /// From where the next pair of halves of this level is sought.
    next: u64,
}

impl Iterator for Steps {
    type Item = Step;

    #[inline]
    fn next(&mut self) -> Option<Step> {
        let end = u64::from(self.end);
        while self.level < self.tree.log2_root() {
            let half = 1_u64 << self.level;
            let left = self.next.next_multiple_of(2 * half);
            let right = left + half;
            if right < end {
                self.next = right + half;
                let last = (right + half).min(u64::from(self.tree.ranks.get())) - 1;
                if last < end {
                    return Some(Step { left: (right - 1) as u32, right: last as u32, level: self.level });
                }
            }
            self.level += 1;
            self.next = u64::from(self.start);
        }
        None
    }
}

/// Iterator over [`ReductionTree::partials`].
#[derive(Clone, Debug)]
pub struct Partials {
    tree: ReductionTree,
    next: u32,
    end: u32,
}

impl Iterator for Partials {
    type Item = Block;

    #[inline]
    fn next(&mut self) -> Option<Block> {
        if self.next >= self.end {
            return None;
        }
        let largest = self.next.trailing_zeros().min(self.tree.log2_root());
        for log2_size in (0..=largest).rev() {
            let block = self.tree.block(self.next, log2_size)?;
            let ranks = self.tree.ranks_of(block);
            if ranks.end <= self.end {
                self.next = ranks.end;
                return Some(block);
            }
        }
        None
    }
}

/// A contribution or partial result, and where its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Partial {
    /// What it is the value of.
    pub block: Block,
    /// The buffer that holds it; the meaning is the caller's.
    pub slot: u32,
}

/// Two partial results that are the halves of a block, to be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Combine {
    /// Buffer of the left operand.
    pub left_slot: u32,
    /// Buffer of the right operand.
    pub right_slot: u32,
    /// What the result is the value of.
    pub block: Block,
}

/// Why a partial result was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartialError {
    /// No space for another partial result that waits for its partner.
    #[error(
        "no space for the partial result of ranks {} to {}: {capacity} others wait for their partners already",
        .ranks.0, .ranks.1
    )]
    Full {
        /// First and last rank of the partial result.
        ranks: (u32, u32),
        /// How many partial results can wait.
        capacity: usize,
    },
    /// A rank of this partial result is in the set already.
    #[error("ranks {} to {} came into the reduction twice: a partial result was sent twice", .ranks.0, .ranks.1)]
    Duplicate {
        /// First and last rank of the partial result.
        ranks: (u32, u32),
    },
    /// The block is not of this tree.
    #[error(
        "block {start} of 2^{log2_size} ranks is not in a reduction over {ranks} ranks: the message is corrupt"
    )]
    Foreign {
        /// First rank of the block.
        start: u32,
        /// Base-2 logarithm of the block's size.
        log2_size: u32,
        /// Ranks of the reduction.
        ranks: u32,
    },
}

/// The partial results that somebody holds, of any ranks, as they come in.
///
/// [`PartialSet::handle_partial`] puts a contribution or partial result in, at any time;
/// [`PartialSet::poll_combine`] takes the next two to be combined out, and the caller, when it has combined
/// them, puts the result in. When none is left, [`PartialSet::partials`] is what to hand on, or
/// [`PartialSet::result`] is the end. `CAPACITY` bounds how many wait at one time. The set lives wherever it is put,
/// without a pointer in it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PartialSet<const CAPACITY: usize = 64> {
    tree: ReductionTree,
    len: u32,
    /// The first `len` are in the set, in rank order.
    partials: [Partial; CAPACITY],
}

impl<const CAPACITY: usize> PartialSet<CAPACITY> {
    /// An empty set for the reduction that `tree` describes.
    pub const fn new(tree: ReductionTree) -> Self {
        let unused = Partial { block: Block { start: 0, log2_size: 0 }, slot: 0 };
        Self { tree, len: 0, partials: [unused; CAPACITY] }
    }

    /// The tree of this reduction.
    #[inline]
    pub const fn tree(&self) -> ReductionTree {
        self.tree
    }

    /// What is in the set, in rank order.
    #[inline]
    pub fn partials(&self) -> &[Partial] {
        self.partials.get(..self.len as usize).unwrap_or(&[])
    }

    /// Takes in a contribution, a partial result of another node, or the result of a combine.
    ///
    /// # Errors
    /// The block is not in this tree, holds ranks that are in the set already, or there is no space.
    /// The set is unchanged then.
    #[inline]
    pub fn handle_partial(&mut self, partial: Partial) -> Result<(), PartialError> {
        let Block { start, log2_size } = partial.block;
        let ranks = self.tree.ranks.get();
        if self.tree.block(start, log2_size) != Some(partial.block) {
            return Err(PartialError::Foreign { start, log2_size, ranks });
        }
        let covered = self.tree.ranks_of(partial.block);
        let len = self.len as usize;
        let at = self.partials().partition_point(|held| held.block.start < start);
        let before = at.checked_sub(1).and_then(|i| self.partials().get(i));
        let after = self.partials().get(at);
        let overlaps = before.is_some_and(|held| self.tree.ranks_of(held.block).end > start)
            || after.is_some_and(|held| held.block.start < covered.end);
        let ranks = (covered.start, covered.end - 1);
        if overlaps {
            return Err(PartialError::Duplicate { ranks });
        }
        if len >= CAPACITY {
            return Err(PartialError::Full { ranks, capacity: CAPACITY });
        }
        self.partials.copy_within(at..len, at + 1);
        self.partials[at] = partial;
        self.len += 1;
        Ok(())
    }

    /// Takes the next two partial results that can be combined out of the set; none if there are none.
    ///
    /// The result has to come back through [`PartialSet::handle_partial`].
    #[inline]
    pub fn poll_combine(&mut self) -> Option<Combine> {
        let len = self.len as usize;
        // Halves of one block have no rank between them, so they are neighbours.
        let (at, block) = self.partials().array_windows().enumerate().find_map(|(at, [left, right])| {
            self.tree.join(left.block, right.block).map(|block| (at, block))
        })?;
        let combine =
            Combine { left_slot: self.partials[at].slot, right_slot: self.partials[at + 1].slot, block };
        self.partials.copy_within(at + 2..len, at);
        self.len -= 2;
        Some(combine)
    }

    /// The value of the whole reduction, once it is there.
    #[inline]
    pub fn result(&self) -> Option<Partial> {
        self.partials().first().copied().filter(|partial| partial.block == self.tree.root())
    }
}

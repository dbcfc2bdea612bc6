//! Calls that combine the vectors of all members: reduce, allreduce, reduce-scatter and the scans (MPI-5.0,
//! §6.9 to §6.11), in the order of the reduction tree, so that the bits are the same whatever the way.

use super::algorithm::Cut;
use super::reduction::Reduction;
use super::scan::ScanKind;
use super::vector::Vector;
use crate::error::MpiResult;
use crate::object::collective::Collective;
use crate::progress::meeting::Arrival;
use std::ops::Range;
use std::sync::Arc;

/// A vector of the program's that is combined with the other members'.
#[derive(Clone, Debug)]
pub struct Operands {
    /// Where this member's is.
    pub from: *const u8,
    /// Where the result goes, if this member gets one.
    pub to: *mut u8,
    /// Elements.
    pub count: usize,
}

/// Who gets what of the result.
#[derive(Clone, Debug)]
pub enum Results {
    /// All of it, every member.
    All,
    /// All of it, this one.
    Root(u32),
    /// Each member these elements.
    Shares(Arc<[Range<usize>]>),
    /// Each member what those up to it, or before it, have.
    Prefix(ScanKind),
}

impl Results {
    /// The collective that answers this.
    pub fn collective(&self) -> Collective {
        match self {
            Self::All => Collective::allreduce,
            Self::Root(_) => Collective::reduce,
            Self::Shares(_) => Collective::reduce_scatter,
            Self::Prefix(_) => Collective::scan,
        }
    }
}

/// A vector that is combined with other members', and what becomes of it.
pub struct Combination<'a> {
    /// What is done with operands.
    pub reduction: &'a Reduction,
    /// Who gets what.
    pub results: &'a Results,
    operands: &'a Operands,
}

impl<'a> Combination<'a> {
    /// Operands are combined by this reduction.
    ///
    /// # Safety
    /// They must be readable, and the place of what this member gets of the result writable, for as long as
    /// the operation is under way; nobody else uses them.
    pub unsafe fn new(reduction: &'a Reduction, operands: &'a Operands, results: &'a Results) -> Self {
        Self { reduction, results, operands }
    }

    /// Elements of a vector.
    pub fn count(&self) -> usize {
        self.operands.count
    }

    /// Bytes of a vector.
    pub fn bytes(&self) -> usize {
        self.operands.count * self.reduction.element
    }

    /// The first byte of this member's vector.
    pub fn from(&self) -> *const u8 {
        self.operands.from
    }

    /// The first byte of the place of what this member gets.
    pub fn to(&self) -> *mut u8 {
        self.operands.to
    }

    /// What it gets goes where its vector is.
    pub fn is_in_place(&self) -> bool {
        self.operands.from == self.operands.to.cast_const()
    }

    /// Where a member's share of the whole result goes: to its place there, if the member gets all, or to
    /// memory of its own.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn place_of_share(&self, member: u32, share: &Range<usize>) -> MpiResult<(Vector, *mut u8)> {
        if self.gets_all(member) {
            return Ok((Vector::default(), self.to().wrapping_add(share.start)));
        }
        let mut elsewhere = Vector::new(share.len())?;
        let place = elsewhere.as_mut_ptr();
        Ok((elsewhere, place))
    }

    /// Where a member combines what it gets, of so many bytes: where that goes, or, in place, in memory from
    /// which it is copied at the end. The result would overwrite what others, or this member, still have to
    /// read.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn place_apart(&self, bytes: usize) -> MpiResult<(Vector, *mut u8)> {
        let mut elsewhere = Vector::new(if self.is_in_place() { bytes } else { 0 })?;
        let place = if elsewhere.is_empty() { self.to() } else { elsewhere.as_mut_ptr() };
        Ok((elsewhere, place))
    }

    /// The root, or 0.
    pub fn root(&self) -> u32 {
        if let Results::Root(root) = self.results { *root } else { 0 }
    }

    /// Whether a member gets the whole result.
    pub fn gets_all(&self, member: u32) -> bool {
        match self.results {
            Results::All => true,
            Results::Root(root) => member == *root,
            Results::Shares(_) | Results::Prefix(_) => false,
        }
    }

    /// Whose vectors count for the result of a member.
    pub fn operands_of(&self, member: u32, members: u32) -> Range<u32> {
        match self.results {
            Results::Prefix(ScanKind::Inclusive) => 0..member + 1,
            Results::Prefix(ScanKind::Exclusive) => 0..member,
            _ => 0..members,
        }
    }

    /// Which bytes of the result a member gets.
    pub fn result_of(&self, member: u32) -> Range<usize> {
        match self.results {
            Results::Shares(shares) => {
                let Range { start, end } = shares[member as usize].clone();
                start * self.reduction.element..end * self.reduction.element
            }
            Results::Root(root) if member != *root => 0..0,
            Results::Prefix(kind) if !kind.gives(member) => 0..0,
            _ => 0..self.bytes(),
        }
    }

    /// The vector in slabs, and what a member gets of each.
    pub fn cut(&self, member: u32) -> Cut {
        Cut::of(self.bytes(), self.reduction.element, self.result_of(member))
    }

    /// What members say when they meet.
    pub fn arrival(&self) -> Arrival {
        let root = match self.results {
            Results::Shares(shares) => hash_of_counts(shares),
            _ => self.root(),
        };
        Arrival { operation: self.reduction.said(), root, most_bytes: self.bytes(), ..Arrival::default() }
    }
}

/// What members compare of the elements that each gets: FNV-1a of where shares end, in the bits of a root of
/// an intracommunicator.
fn hash_of_counts(shares: &[Range<usize>]) -> u32 {
    let bytes = shares.iter().flat_map(|share| share.end.to_le_bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash >> 34) as u32
}

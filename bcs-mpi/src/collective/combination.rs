//! Calls that combine the vectors of all members: reduce, allreduce, reduce-scatter and the scans (MPI-5.0,
//! §6.9 to §6.11), in the order of the reduction tree, so that the bits are the same whatever the way.

use super::algorithm::Cut;
use crate::collective::{Reduction, Vector};
use crate::error::MpiResult;
use crate::object::collective::Collective;
use crate::progress::{Arrival, Memory};
use nic_emu::memory::numbers::CommRank;
use nic_emu::root::SidedRank;
use std::ops::Range;
use std::sync::Arc;

/// What a scan combines for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanKind {
    /// MPI_Scan: what it has itself counts.
    Inclusive,
    /// MPI_Exscan: it does not; rank 0 gets nothing.
    Exclusive,
}

impl ScanKind {
    /// Whether the member of this rank gets a result.
    pub(super) fn gives(self, rank: CommRank) -> bool {
        self == ScanKind::Inclusive || rank > CommRank(0)
    }
}

/// Who gets what of the result.
#[derive(Clone, Debug)]
pub enum Results {
    /// All of it, every member.
    All,
    /// All of it, this one.
    Root(CommRank),
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

/// A vector of the program's that is combined with other members', and what becomes of it.
#[derive(Clone, Debug)]
pub struct Combination {
    /// What is done with operands.
    pub reduction: Reduction,
    /// Who gets what.
    pub results: Results,
    /// Elements of a vector.
    pub count: usize,
    from: *const u8,
    to: *mut u8,
}

impl Combination {
    /// So many elements are combined; `from` is where they are, `to` where what this member gets goes.
    ///
    /// # Safety
    /// They must be readable, and the place of what this member gets of the result writable, for as long as
    /// the operation is under way; nobody else uses them.
    pub unsafe fn new(
        reduction: Reduction,
        results: Results,
        (from, to): (*const u8, *mut u8),
        count: usize,
    ) -> Self {
        Self { reduction, results, count, from, to }
    }

    /// Bytes of a vector.
    pub fn bytes(&self) -> usize {
        self.count * self.reduction.element
    }

    /// This member's vector, which travels as it lies.
    pub fn given(&self) -> Memory {
        // SAFETY: the promise of `new`.
        unsafe { Memory::new(self.from.cast_mut(), self.bytes()) }
    }

    /// The place of what this member gets, whose operands travel as they lie.
    pub fn wanted(&self, member: CommRank) -> Memory {
        // SAFETY: as above.
        unsafe { Memory::new(self.to, self.result_of(member).len()) }
    }

    /// So many elements of this member's vector, from the `first` on, as they travel.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn load(&self, first: usize, count: usize) -> MpiResult<Vector> {
        // SAFETY: as above.
        unsafe { self.reduction.load(self.from, first, count) }
    }

    /// Puts elements that have travelled where they go, from the `first` one of the result's place on.
    pub fn store(&self, vector: &[u8], first: usize) {
        // SAFETY: as above; in place, what was there has been loaded.
        unsafe { self.reduction.store(vector, self.reduction.place_of(self.to, first)) };
    }

    /// Where a member's share of the whole result goes: to its place there, if the member gets all, or to
    /// memory of its own, the vector.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn place_of_share(&self, member: CommRank, share: Range<usize>) -> MpiResult<(Vector, Memory)> {
        if self.gets_all(member) {
            return Ok((Vector::default(), self.wanted(member).part(share)));
        }
        Vector::apart(share.len())
    }

    /// Where a member combines what it gets: where that goes, or, in place, in memory of its own, from which
    /// it is copied at the end. The result would overwrite what others, or this member, still have to read.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn place_apart(&self, member: CommRank) -> MpiResult<(Vector, Memory)> {
        match self.from == self.to.cast_const() {
            true => Vector::apart(self.result_of(member).len()),
            false => Ok((Vector::default(), self.wanted(member))),
        }
    }

    /// The root, or 0.
    pub fn root(&self) -> CommRank {
        if let Results::Root(root) = self.results { root } else { CommRank(0) }
    }

    /// Whether a member gets the whole result.
    pub fn gets_all(&self, member: CommRank) -> bool {
        match self.results {
            Results::All => true,
            Results::Root(root) => member == root,
            Results::Shares(_) | Results::Prefix(_) => false,
        }
    }

    /// How many members' vectors, from the first one's on, count for the result of a member.
    pub fn operands_of(&self, member: CommRank, members: u32) -> u32 {
        match self.results {
            Results::Prefix(ScanKind::Inclusive) => member.0 + 1,
            Results::Prefix(ScanKind::Exclusive) => member.0,
            _ => members,
        }
    }

    /// Which bytes of the result a member gets.
    pub fn result_of(&self, member: CommRank) -> Range<usize> {
        match &self.results {
            Results::Shares(shares) => {
                let Range { start, end } = shares[member.index()].clone();
                start * self.reduction.element..end * self.reduction.element
            }
            Results::Root(root) if member != *root => 0..0,
            Results::Prefix(kind) if !kind.gives(member) => 0..0,
            _ => 0..self.bytes(),
        }
    }

    /// The vector in slabs, and what a member gets of each.
    pub fn cut(&self, member: CommRank) -> Cut {
        Cut::of(self.bytes(), self.reduction.element, self.result_of(member))
    }

    /// What members say when they meet.
    pub fn arrival(&self) -> Arrival {
        let root = match &self.results {
            Results::Shares(shares) => hash_of_counts(shares),
            _ => self.root().into(),
        };
        Arrival::board(root, self.reduction.said(), self.bytes())
    }
}

/// What members compare of the elements that each gets: FNV-1a of where shares end, in the bits of a root of
/// an intracommunicator.
fn hash_of_counts(shares: &[Range<usize>]) -> SidedRank {
    let bytes = shares.iter().flat_map(|share| share.end.to_le_bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    SidedRank((hash >> 34) as u32)
}

//! Calls that combine the vectors of all members: reduce, allreduce, reduce-scatter and the scans (MPI-5.0,
//! §6.9 to §6.11), in the order of the reduction tree, so that the bits are the same whatever the way.

use super::algorithm::Cut;
use super::policy::{self, Situation};
use super::reduction::{Reduction, Vector};
use super::scan::ScanKind;
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::party::Party;
use std::ops::Range;

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
#[derive(Clone, Copy, Debug)]
pub enum Results<'a> {
    /// All of it, every member.
    All,
    /// All of it, this one.
    Root(u32),
    /// Each member these elements.
    Shares(&'a [Range<usize>]),
    /// Each member what those up to it, or before it, have.
    Prefix(ScanKind),
}

/// A vector that is combined with other members', and what becomes of it.
pub struct Combination<'a> {
    /// What is done with operands.
    pub reduction: &'a Reduction,
    /// Who gets what.
    pub results: Results<'a>,
    operands: &'a Operands,
}

impl<'a> Combination<'a> {
    /// Operands are combined by this reduction.
    ///
    /// # Safety
    /// They must be readable, and the place of what this member gets of the result writable, for as long as
    /// the operation is under way; nobody else uses them.
    pub unsafe fn new(reduction: &'a Reduction, operands: &'a Operands, results: Results<'a>) -> Self {
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

    /// Where a member's share of the whole result goes: to its place there, if the member gets all, or to memory
    /// of its own.
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

    /// Where a member combines what it gets, of so many bytes: where that goes, or, in place, in memory from which
    /// it is copied at the end. The result would overwrite what others, or this member, still have to read.
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
        if let Results::Root(root) = self.results { root } else { 0 }
    }

    /// Whether a member gets the whole result.
    pub fn gets_all(&self, member: u32) -> bool {
        match self.results {
            Results::All => true,
            Results::Root(root) => member == root,
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
                let Range { start, end } = shares[member as usize];
                start * self.reduction.element..end * self.reduction.element
            }
            Results::Root(root) if member != root => 0..0,
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
        let (operation, root) = (self.reduction.said(), self.root());
        Arrival { operation, root, most_bytes: self.bytes(), ..Arrival::default() }
    }

    /// Tells the NIC of it.
    ///
    /// # Errors
    /// The NIC fails.
    pub fn announce(&self, party: &Party) -> MpiResult {
        party.announce(self.root(), self.reduction.said(), self.bytes())
    }
}

/// Combines all members' vectors; the root gets the result.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn reduce(party: Party, reduction: Reduction, operands: Operands, root: u32) -> MpiResult {
    // SAFETY: whoever made the operands has checked them, and the program keeps them.
    let combination = unsafe { Combination::new(&reduction, &operands, Results::Root(root)) };
    if is_done(&party, &combination)? {
        return Ok(());
    }
    let number = policy::reduce::choice(
        party.wanted(),
        &Situation::of_vectors(&party, &reduction, combination.bytes()),
    );
    policy::reduce::run(number, &party, &combination).await
}

/// Combines all members' vectors; everybody gets the result.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn allreduce(party: Party, reduction: Reduction, operands: Operands) -> MpiResult {
    // SAFETY: as above.
    let combination = unsafe { Combination::new(&reduction, &operands, Results::All) };
    if is_done(&party, &combination)? {
        return Ok(());
    }
    let number = policy::allreduce::choice(
        party.wanted(),
        &Situation::of_vectors(&party, &reduction, combination.bytes()),
    );
    policy::allreduce::run(number, &party, &combination).await
}

/// Of nothing, members only tell each other; alone, a member has the result.
fn is_done(party: &Party, combination: &Combination<'_>) -> MpiResult<bool> {
    if combination.bytes() == 0 {
        party.announce(combination.root(), (0, 0), 0)?;
        return Ok(true);
    }
    if party.size == 1 {
        let Combination { reduction, operands, .. } = combination;
        // SAFETY: the promise of `Combination::new`.
        unsafe { reduction.store(&reduction.load(operands.from, 0, operands.count)?, operands.to) };
    }
    Ok(party.size == 1)
}

/// Combines all members' vectors and gives each its share of so many elements. In place, operands are where
/// the result goes.
///
/// # Errors
/// Another member's share is longer; the NIC fails.
pub async fn reduce_scatter(
    party: Party,
    reduction: Reduction,
    operands: Operands,
    counts: Vec<usize>,
) -> MpiResult {
    let mut first = 0;
    let share = |count: &usize| {
        let start = first;
        first += count;
        start..first
    };
    let shares: Vec<Range<usize>> = counts.iter().map(share).collect();
    // SAFETY: whoever made the operands has checked them, and the program keeps them.
    let combination = unsafe { Combination::new(&reduction, &operands, Results::Shares(&shares)) };
    if combination.bytes() == 0 {
        return combination.announce(&party);
    }
    let number = policy::reduce_scatter::choice(
        party.wanted(),
        &Situation::of_vectors(&party, &reduction, combination.bytes()),
    );
    policy::reduce_scatter::run(number, &party, &combination).await
}

/// Combines the vectors of the members before this one, and this one's if `kind` says so.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn scan(party: Party, reduction: Reduction, operands: Operands, kind: ScanKind) -> MpiResult {
    // SAFETY: as above.
    let combination = unsafe { Combination::new(&reduction, &operands, Results::Prefix(kind)) };
    if combination.bytes() == 0 {
        return party.announce(0, (0, 0), 0);
    }
    let number =
        policy::scan::choice(party.wanted(), &Situation::of_vectors(&party, &reduction, combination.bytes()));
    policy::scan::run(number, &party, &combination).await
}

//! A member in a word: as it calls itself to the NIC, and as all call the root of a collective.
//!
//! In an intracommunicator it is the member's rank. In an intercommunicator it says in which of the two
//! groups the member is, and its rank there: members of the root's group that are not the root
//! (MPI_PROC_NULL) know the group alone (MPI-5.0, §6.2.3).
//!
//! ```text
//!  bits 30, 31   0 in an intracommunicator, 1 in the first group, 2 in the second one, 3 where there is no root: the first is that whose rank 0 is lower in the job
//!  bits 0 to 29  a rank, or all ones where it is not known
//! ```

use crate::memory::numbers::CommRank;
use std::fmt;

const GROUP_SHIFT: u32 = 30;
const UNKNOWN: u32 = (1 << GROUP_SHIFT) - 1;

/// A member's rank, with its group where there are two; in place of a reduce-scatter's root a hash. 0 where
/// there is no root to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct SidedRank(pub u32);

impl From<CommRank> for SidedRank {
    /// A member of an intracommunicator.
    #[inline(always)]
    fn from(CommRank(rank): CommRank) -> Self {
        Self(rank)
    }
}

/// One of an intercommunicator's groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Side {
    /// That whose rank 0 is lower in the job.
    First = 1,
    /// The other one.
    Second = 2,
}

impl Side {
    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }

    /// A member of this group: what it calls itself, and others call it if it is the root.
    pub const fn member(self, CommRank(rank): CommRank) -> SidedRank {
        SidedRank((self as u32) << GROUP_SHIFT | rank & UNKNOWN)
    }

    /// A root in this group that is not known.
    pub const fn unknown(self) -> SidedRank {
        self.member(CommRank(UNKNOWN))
    }
}

/// In a collective of an intercommunicator that has no root.
pub const NO_ROOT: SidedRank = SidedRank(3 << GROUP_SHIFT);
/// In one in which each group gives to the other: what members agree on is said of either direction
/// ([`crate::matching::both_ways`]).
pub const BOTH_WAYS: SidedRank = SidedRank(NO_ROOT.0 | 1);

impl SidedRank {
    const fn side(self) -> Option<Side> {
        match self.0 >> GROUP_SHIFT {
            1 => Some(Side::First),
            2 => Some(Side::Second),
            _ => None,
        }
    }

    /// Whether whoever says that root knows of the operation only that it takes part: it is not the root, but
    /// in its group.
    pub(crate) const fn is_unknown(self) -> bool {
        self.side().is_some() && self.0 & UNKNOWN == UNKNOWN
    }

    /// Whether one of the two groups has a member that has to say that it is this root.
    pub(crate) const fn is_said_by_itself(self) -> bool {
        self.side().is_some() && self.0 & UNKNOWN != UNKNOWN
    }

    /// Whether two words may be of the same root, of which one is not known.
    pub(crate) fn is_of_the_group_of(self, other: Self) -> bool {
        self.side() == other.side()
    }
}

/// "2", "2 of the first group"
impl fmt::Display for SidedRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rank = self.0 & UNKNOWN;
        let group = match self.side() {
            None => return write!(f, "{}", self.0),
            Some(Side::First) => "the first group",
            Some(Side::Second) => "the second group",
        };
        match self.is_unknown() {
            true => write!(f, "MPI_PROC_NULL in {group}"),
            false => write!(f, "{rank} of {group}"),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn roots_of_two_groups_are_told_apart_from_each_other_and_from_ranks() {
        let (first, second) = (Side::First, Side::Second);
        assert!(!NO_ROOT.is_unknown() && !NO_ROOT.is_said_by_itself());
        let ranks = [0, 7].map(CommRank);
        let members = |side: Side| ranks.map(|rank| side.member(rank));
        let all = [ranks.map(SidedRank::from), members(first), members(second)].concat();
        for (i, one) in all.iter().enumerate() {
            assert!(!one.is_unknown());
            assert_eq!(one.is_said_by_itself(), i >= 2);
            for (j, other) in all.iter().enumerate() {
                assert_eq!((one == other, one.is_of_the_group_of(*other)), (i == j, i / 2 == j / 2));
            }
        }
        for side in [first, second] {
            let unknown = side.unknown();
            assert!(unknown.is_unknown() && !unknown.is_said_by_itself());
            assert!(unknown.is_of_the_group_of(side.member(CommRank(3))));
            assert!(!unknown.is_of_the_group_of(side.other().member(CommRank(3))));
        }
    }

    #[test]
    fn a_root_is_told_with_its_group() {
        assert_eq!(SidedRank::from(CommRank(3)).to_string(), "3");
        assert_eq!(Side::First.member(CommRank(3)).to_string(), "3 of the first group");
        assert_eq!(Side::Second.unknown().to_string(), "MPI_PROC_NULL in the second group");
    }
}

//! The root of a collective, in a word, as members tell it to the NIC.
//!
//! In an intracommunicator it is the root's rank. In an intercommunicator it says in which of the two
//! groups the root is, and its rank there: members of the root's group that are not the root
//! (MPI_PROC_NULL) know the group alone (MPI-5.0, §6.2.3).
//!
//! ```text
//!  bits 30, 31   0 in an intracommunicator, 1 in the first group, 2 in the second one, 3 where there is no root: the first is that whose rank 0 is lower in the job
//!  bits 0 to 29  a rank, or all ones where it is not known
//! ```

use std::fmt;

const GROUP_SHIFT: u32 = 30;
const UNKNOWN: u32 = (1 << GROUP_SHIFT) - 1;

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
    pub const fn member(self, rank: u32) -> u32 {
        (self as u32) << GROUP_SHIFT | rank & UNKNOWN
    }

    /// A root in this group that is not known.
    pub const fn unknown(self) -> u32 {
        self.member(UNKNOWN)
    }

    const fn of(root: u32) -> Option<Self> {
        match root >> GROUP_SHIFT {
            1 => Some(Side::First),
            2 => Some(Side::Second),
            _ => None,
        }
    }
}

/// In a collective of an intercommunicator that has no root.
pub const NO_ROOT: u32 = 3 << GROUP_SHIFT;
/// In one in which each group gives to the other: what members agree on is said of either direction
/// ([`crate::matching::both_ways`]).
pub const BOTH_WAYS: u32 = NO_ROOT | 1;

/// Whether whoever says that knows of the operation only that it takes part: it is not the root, but in
/// its group.
pub(crate) const fn is_unknown(root: u32) -> bool {
    Side::of(root).is_some() && root & UNKNOWN == UNKNOWN
}

/// Whether one of the two groups has a member that has to say that it is this root.
pub(crate) const fn is_said_by_itself(root: u32) -> bool {
    Side::of(root).is_some() && root & UNKNOWN != UNKNOWN
}

/// Whether two words may be of the same root, of which one is not known.
pub(crate) fn are_of_one_group(one: u32, other: u32) -> bool {
    Side::of(one) == Side::of(other)
}

/// "root 2", "root 2 of the first group"
pub(crate) struct Root(pub(crate) u32);

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rank = self.0 & UNKNOWN;
        let group = match Side::of(self.0) {
            None => return write!(f, "root {}", self.0),
            Some(Side::First) => "the first group",
            Some(Side::Second) => "the second group",
        };
        match is_unknown(self.0) {
            true => write!(f, "root MPI_PROC_NULL in {group}"),
            false => write!(f, "root {rank} of {group}"),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn roots_of_two_groups_are_told_apart_from_each_other_and_from_ranks() {
        let (first, second) = (Side::First, Side::Second);
        assert!(!is_unknown(NO_ROOT) && !is_said_by_itself(NO_ROOT));
        let all = [0, 7, first.member(0), first.member(7), second.member(0), second.member(7)];
        for (i, one) in all.iter().enumerate() {
            assert!(!is_unknown(*one));
            assert_eq!(is_said_by_itself(*one), i >= 2);
            for (j, other) in all.iter().enumerate() {
                assert_eq!((one == other, are_of_one_group(*one, *other)), (i == j, i / 2 == j / 2));
            }
        }
        for side in [first, second] {
            assert!(is_unknown(side.unknown()) && !is_said_by_itself(side.unknown()));
            assert!(are_of_one_group(side.unknown(), side.member(3)));
            assert!(!are_of_one_group(side.unknown(), side.other().member(3)));
        }
    }

    #[test]
    fn a_root_is_told_with_its_group() {
        assert_eq!(Root(3).to_string(), "root 3");
        assert_eq!(Root(Side::First.member(3)).to_string(), "root 3 of the first group");
        assert_eq!(Root(Side::Second.unknown()).to_string(), "root MPI_PROC_NULL in the second group");
    }
}

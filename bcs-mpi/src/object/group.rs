//! Groups: ordered sets of ranks of the job (MPI-5.0, §7.3).

use crate::constants::*;
use bcs_core::Rank;
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_int;
use std::sync::{Arc, OnceLock};

/// An ordered set of ranks of the job.
#[derive(Clone, Debug)]
pub enum Group {
    /// Neighbours in order: what most communicators are made of, so that looking a rank up is an addition.
    Range {
        /// The first rank in the job.
        first: Rank,
        /// How many.
        size: u32,
    },
    /// Ranks at equal distances, up or down.
    Strided {
        /// The first rank in the job.
        first: Rank,
        /// From one rank to the next: neither 0 nor 1.
        stride: i32,
        /// How many, 2 or more.
        size: u32,
    },
    /// Any others.
    List(Arc<RankList>),
}

/// Ranks of the job in the order of a group, and an index that is made when one is first looked up.
#[derive(Debug)]
pub struct RankList {
    ranks: Box<[Rank]>,
    /// Ranks of the job with their members, sorted.
    index: OnceLock<Box<[(Rank, CommRank)]>>,
}

impl RankList {
    fn member(&self, job_rank: Rank) -> Option<CommRank> {
        let index = self.index.get_or_init(|| {
            let members = CommRank::all(self.ranks.len() as u32);
            let mut index: Box<[_]> = self.ranks.iter().copied().zip(members).collect();
            index.sort_unstable();
            index
        });
        let at = index.binary_search_by_key(&job_rank, |(rank, _)| *rank).ok()?;
        Some(index[at].1)
    }
}

/// The group without members.
pub const EMPTY: Group = Group::Range { first: Rank(0), size: 0 };

impl Group {
    /// The group of these ranks of the job, in this order.
    pub fn of(ranks: Vec<Rank>) -> Self {
        let size = ranks.len() as u32;
        let first = ranks.first().copied().unwrap_or_default();
        let stride = ranks.get(1).map_or(1, |&second| i64::from(second.0) - i64::from(first.0));
        let at = |member: usize| i64::from(first.0) + stride * member as i64;
        let is_strided = || ranks.iter().enumerate().all(|(i, &rank)| i64::from(rank.0) == at(i));
        match i32::try_from(stride) {
            Ok(1) if is_strided() => Group::Range { first, size },
            Ok(stride) if stride != 1 && is_strided() => Group::Strided { first, stride, size },
            _ => Group::List(Arc::new(RankList { ranks: ranks.into(), index: OnceLock::new() })),
        }
    }

    /// Members.
    #[inline]
    pub fn size(&self) -> u32 {
        match self {
            Group::Range { size, .. } | Group::Strided { size, .. } => *size,
            Group::List(list) => list.ranks.len() as u32,
        }
    }

    /// The rank in the job of a member, which is less than [`Self::size`].
    #[inline]
    pub fn job_rank(&self, member: CommRank) -> Rank {
        match self {
            Group::Range { first, .. } => Rank(first.0 + member.0),
            Group::Strided { first, stride, .. } => {
                Rank((first.0 as i64 + *stride as i64 * member.0 as i64) as u32)
            }
            Group::List(list) => list.ranks[member.index()],
        }
    }

    /// All members' ranks in the job.
    pub fn ranks(&self) -> Vec<Rank> {
        self.iter().collect()
    }

    /// The same, one after the other.
    fn iter(&self) -> impl Iterator<Item = Rank> + '_ {
        CommRank::all(self.size()).map(|member| self.job_rank(member))
    }

    /// The member that is this rank of the job: computed, or found in the logarithm of the group's size.
    pub fn member(&self, job_rank: Rank) -> Option<CommRank> {
        match self {
            Group::Range { first, size } => {
                job_rank.0.checked_sub(first.0).filter(|member| member < size).map(CommRank)
            }
            Group::Strided { first, stride, size } => {
                let (distance, stride) = (i64::from(job_rank.0) - i64::from(first.0), i64::from(*stride));
                let member = distance / stride;
                let is_one = distance % stride == 0 && (0..i64::from(*size)).contains(&member);
                is_one.then_some(CommRank(member as u32))
            }
            Group::List(list) => list.member(job_rank),
        }
    }

    /// Whether every member of `other` is one of this group.
    pub fn contains(&self, other: &Group) -> bool {
        other.iter().all(|rank| self.member(rank).is_some())
    }

    /// Its first so many members.
    pub fn first(&self, size: u32) -> Self {
        Group::of(self.iter().take(size as usize).collect())
    }

    /// These of its members, in this order.
    pub fn choose(&self, members: &[CommRank]) -> Self {
        Group::of(members.iter().map(|&member| self.job_rank(member)).collect())
    }

    /// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
    pub fn compare(&self, other: &Group) -> c_int {
        if self.size() != other.size() {
            MPI_UNEQUAL
        } else if self.iter().eq(other.iter()) {
            MPI_IDENT
        } else if self.contains(other) {
            MPI_SIMILAR
        } else {
            MPI_UNEQUAL
        }
    }

    /// The members of both groups as an operation says, in its order.
    pub(crate) fn combined(&self, operation: SetOperation, other: &Group) -> Self {
        let in_other = |rank: &Rank| other.member(*rank).is_some();
        Group::of(match operation {
            SetOperation::Union => {
                self.iter().chain(other.iter().filter(|&rank| self.member(rank).is_none())).collect()
            }
            SetOperation::Intersection => self.iter().filter(in_other).collect(),
            SetOperation::Difference => self.iter().filter(|rank| !in_other(rank)).collect(),
        })
    }
}

/// How two groups are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperation {
    /// The first, then what only the second has.
    Union,
    /// What both have, in the order of the first.
    Intersection,
    /// What only the first has.
    Difference,
}

/// A group as the process keeps it for a handle.
#[derive(Debug)]
pub struct Kept {
    pub(crate) group: Group,
    /// The session that it was derived from, directly or by way of other groups; MPI_SESSION_NULL if none.
    pub(crate) session: MPI_Session,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Distinct ranks in any order, mixed with groups of equal distances.
    fn groups() -> impl Strategy<Value = Vec<Rank>> {
        let mixed = proptest::collection::hash_set(0u32..24, 0..12)
            .prop_map(|set| set.into_iter().map(Rank).collect());
        let strided = (0u32..24, 1u32..4, 0u32..8, any::<bool>()).prop_map(|(first, stride, size, back)| {
            let mut ranks: Vec<Rank> = (0..size).map(|i| Rank(first + i * stride)).collect();
            if back {
                ranks.reverse();
            }
            ranks
        });
        prop_oneof![mixed, strided]
    }

    proptest! {
        #[test]
        fn a_group_has_its_ranks_in_their_order_however_it_is_kept(ranks in groups()) {
            let group = Group::of(ranks.clone());
            prop_assert_eq!(group.ranks(), ranks.clone());
            prop_assert_eq!(group.size() as usize, ranks.len());
            for rank in (0..60).map(Rank) {
                let at = ranks.iter().position(|&r| r == rank);
                prop_assert_eq!(group.member(rank), at.map(|at| CommRank(at as u32)));
            }
            for size in 0..=ranks.len() {
                prop_assert_eq!(group.first(size as u32).ranks(), &ranks[..size]);
            }
        }

        #[test]
        fn set_operations_are_those_of_the_standard(one in groups(), other in groups()) {
            let of = |operation| Group::of(one.clone()).combined(operation, &Group::of(other.clone())).ranks();
            let mut union = one.clone();
            union.extend(other.iter().filter(|rank| !one.contains(rank)));
            prop_assert_eq!(of(SetOperation::Union), union);
            let (both, alone): (Vec<Rank>, Vec<Rank>) = one.iter().partition(|rank| other.contains(rank));
            prop_assert_eq!(of(SetOperation::Intersection), both);
            prop_assert_eq!(of(SetOperation::Difference), alone);
        }

        #[test]
        fn comparing_tells_the_same_members_from_the_same_order(one in groups(), other in groups()) {
            let set = |ranks: &[Rank]| BTreeSet::from_iter(ranks.to_vec());
            let same = set(&one) == set(&other);
            let expected = if one == other { MPI_IDENT } else if same { MPI_SIMILAR } else { MPI_UNEQUAL };
            prop_assert_eq!(Group::of(one.clone()).compare(&Group::of(other)), expected);
            let back: Vec<Rank> = one.iter().rev().copied().collect();
            let expected = if back == one { MPI_IDENT } else { MPI_SIMILAR };
            prop_assert_eq!(Group::of(one).compare(&Group::of(back)), expected);
        }
    }

    #[test]
    fn ranks_at_equal_distances_take_no_memory() {
        let of = |ranks: &[u32]| Group::of(ranks.iter().copied().map(Rank).collect());
        assert!(matches!(of(&[3, 4, 5]), Group::Range { first: Rank(3), size: 3 }));
        assert!(matches!(of(&[9, 7, 5]), Group::Strided { first: Rank(9), stride: -2, size: 3 }));
        assert!(matches!(of(&[9]), Group::Range { first: Rank(9), size: 1 }));
        assert!(matches!(of(&[9, 7, 6]), Group::List(_)));
    }
}

//! Groups: ordered sets of ranks of the job (MPI-5.0, §7.3).

use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::handle::{Kind, Stale};
use crate::process::{self, Process};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

/// An ordered set of ranks of the job.
#[derive(Clone, Debug)]
pub enum Group {
    /// Neighbours in order: what most communicators are made of, so that looking a rank up is an addition.
    Range {
        /// The first rank in the job.
        first: u32,
        /// How many.
        size: u32,
    },
    /// Any others.
    List(Arc<[u32]>),
}

/// The group without members.
pub const EMPTY: Group = Group::Range { first: 0, size: 0 };

impl Group {
    /// The group of these ranks of the job, in this order.
    pub fn of(ranks: Vec<u32>) -> Self {
        let first = ranks.first().copied().unwrap_or(0);
        if ranks.iter().enumerate().all(|(i, &rank)| rank == first.wrapping_add(i as u32)) {
            return Group::Range { first, size: ranks.len() as u32 };
        }
        Group::List(ranks.into())
    }

    /// Members.
    #[inline]
    pub fn size(&self) -> u32 {
        match self {
            Group::Range { size, .. } => *size,
            Group::List(ranks) => ranks.len() as u32,
        }
    }

    /// The rank in the job of a member, which is less than [`Self::size`].
    #[inline]
    pub fn job_rank(&self, member: u32) -> u32 {
        match self {
            Group::Range { first, .. } => first + member,
            Group::List(ranks) => ranks[member as usize],
        }
    }

    /// All members' ranks in the job.
    pub fn ranks(&self) -> Vec<u32> {
        (0..self.size()).map(|member| self.job_rank(member)).collect()
    }

    /// The member that is this rank of the job.
    pub fn member(&self, job_rank: u32) -> Option<u32> {
        match self {
            Group::Range { first, size } => job_rank.checked_sub(*first).filter(|member| member < size),
            Group::List(ranks) => ranks.iter().position(|&rank| rank == job_rank).map(|member| member as u32),
        }
    }

    /// Its first so many members.
    pub fn first(&self, size: u32) -> Self {
        match self {
            Group::Range { first, .. } => Group::Range { first: *first, size },
            Group::List(ranks) => Group::of(ranks[..size as usize].to_vec()),
        }
    }

    /// These of its members, in this order.
    pub fn choose(&self, members: &[u32]) -> Self {
        Group::of(members.iter().map(|&member| self.job_rank(member)).collect())
    }

    /// Members by rank in the job, for many look-ups.
    fn index(&self) -> HashMap<u32, u32> {
        (0..self.size()).map(|member| (self.job_rank(member), member)).collect()
    }

    /// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
    pub fn compare(&self, other: &Group) -> c_int {
        if self.size() != other.size() {
            return MPI_UNEQUAL;
        }
        let (mut mine, mut theirs) = (self.ranks(), other.ranks());
        if mine == theirs {
            return MPI_IDENT;
        }
        mine.sort_unstable();
        theirs.sort_unstable();
        if mine == theirs { MPI_SIMILAR } else { MPI_UNEQUAL }
    }
}

/// The group of a handle.
///
/// # Errors
/// It names none.
pub fn resolve(process: &Process, argument: &'static str, handle: MPI_Group) -> MpiResult<Group> {
    match handle {
        MPI_GROUP_EMPTY => Ok(EMPTY),
        MPI_GROUP_NULL => Err(MpiError::handle(argument, handle.0, Kind::Group, Stale::Null)),
        _ => match process.groups.get(handle.0) {
            Ok(group) => Ok(group.clone()),
            Err(why) => Err(MpiError::handle(argument, handle.0, Kind::Group, why)),
        },
    }
}

/// The handle of a new group.
pub fn store(process: &mut Process, group: Group) -> MPI_Group {
    if group.size() == 0 { MPI_GROUP_EMPTY } else { MPI_Group(process.groups.insert(group)) }
}

fn count(argument: &'static str, value: c_int) -> MpiResult<usize> {
    usize::try_from(value)
        .map_err(|_| MpiError::argument(MPI_ERR_ARG, argument, value, "it must not be negative"))
}

/// MPI_Group_size.
///
/// # Errors
/// No such group.
pub fn size(group: MPI_Group) -> MpiResult<c_int> {
    Ok(resolve(&*process::enter()?, "group", group)?.size() as c_int)
}

/// MPI_Group_rank.
///
/// # Errors
/// No such group.
pub fn rank(group: MPI_Group) -> MpiResult<c_int> {
    let process = process::enter()?;
    let member = resolve(&process, "group", group)?.member(process.place.rank);
    Ok(member.map_or(MPI_UNDEFINED, |member| member as c_int))
}

/// MPI_Group_free.
///
/// # Errors
/// No such group, or MPI_GROUP_EMPTY.
pub fn free(group: &mut MPI_Group) -> MpiResult {
    let mut process = process::enter()?;
    if *group == MPI_GROUP_EMPTY {
        return Err(MpiError::argument(
            MPI_ERR_GROUP,
            "group",
            "MPI_GROUP_EMPTY",
            "predefined groups are not freed",
        ));
    }
    resolve(&process, "group", *group)?;
    if let Err(why) = process.groups.remove(group.0) {
        return Err(MpiError::handle("group", group.0, Kind::Group, why));
    }
    *group = MPI_GROUP_NULL;
    Ok(())
}

/// MPI_Group_compare.
///
/// # Errors
/// No such groups.
pub fn compare(first: MPI_Group, second: MPI_Group) -> MpiResult<c_int> {
    let process = process::enter()?;
    Ok(resolve(&process, "group1", first)?.compare(&resolve(&process, "group2", second)?))
}

/// MPI_Group_translate_ranks: `to[i]` is the rank in the second group of the process with rank `ranks[i]` in the first.
///
/// # Errors
/// No such groups, or a rank out of range.
pub fn translate_ranks(first: MPI_Group, ranks: &[c_int], second: MPI_Group, to: &mut [c_int]) -> MpiResult {
    let process = process::enter()?;
    let (first, second) = (resolve(&process, "group1", first)?, resolve(&process, "group2", second)?);
    let index = second.index();
    for (to, &rank) in to.iter_mut().zip(ranks) {
        *to = if rank == MPI_PROC_NULL {
            MPI_PROC_NULL
        } else {
            let job_rank = first.job_rank(member("ranks1", rank, &first)?);
            index.get(&job_rank).map_or(MPI_UNDEFINED, |&member| member as c_int)
        };
    }
    Ok(())
}

fn member(argument: &'static str, value: c_int, group: &Group) -> MpiResult<u32> {
    match u32::try_from(value) {
        Ok(member) if member < group.size() => Ok(member),
        _ => Err(MpiError::new(Problem::Rank {
            argument,
            value,
            comm: "the group".into(),
            size: group.size(),
            also: "",
        })),
    }
}

/// Distinct members of a group, by their ranks in it.
fn members(argument: &'static str, ranks: &[c_int], group: &Group) -> MpiResult<Vec<u32>> {
    let mut seen = vec![false; group.size() as usize];
    ranks
        .iter()
        .map(|&rank| {
            let member = member(argument, rank, group)?;
            if std::mem::replace(&mut seen[member as usize], true) {
                let allowed = "a rank may stand there once only";
                return Err(MpiError::argument(MPI_ERR_RANK, argument, format!("{rank} twice"), allowed));
            }
            Ok(member)
        })
        .collect()
}

fn excluding(group: &Group, members: &[u32]) -> Group {
    let mut keep = vec![true; group.size() as usize];
    members.iter().for_each(|&member| keep[member as usize] = false);
    let kept = (0..group.size()).filter(|&member| keep[member as usize]);
    Group::of(kept.map(|member| group.job_rank(member)).collect())
}

fn including(group: &Group, members: &[u32]) -> Group {
    Group::of(members.iter().map(|&member| group.job_rank(member)).collect())
}

/// The ranks of MPI_Group_range_incl and _excl: first, last, stride.
fn expand(ranges: &[[c_int; 3]]) -> MpiResult<Vec<c_int>> {
    let mut ranks = Vec::new();
    for &[first, last, stride] in ranges {
        if stride == 0 {
            return Err(MpiError::argument(MPI_ERR_ARG, "ranges", "a stride of 0", "strides must not be 0"));
        }
        let mut rank = first as i64;
        while if stride > 0 { rank <= last as i64 } else { rank >= last as i64 } {
            ranks.push(rank as c_int);
            rank += stride as i64;
            if ranks.len() > u16::MAX as usize * 256 {
                return Err(MpiError::argument(
                    MPI_ERR_RANK,
                    "ranges",
                    last,
                    "it must name ranks of the group",
                ));
            }
        }
    }
    Ok(ranks)
}

/// How a group is made from another by ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// These, in this order.
    Include,
    /// All but these.
    Exclude,
}

/// MPI_Group_incl and MPI_Group_excl.
///
/// # Errors
/// No such group, a rank out of range, or one that stands there twice.
pub fn choose(group: MPI_Group, choice: Choice, ranks: &[c_int]) -> MpiResult<MPI_Group> {
    let mut process = process::enter()?;
    let group = resolve(&process, "group", group)?;
    let members = members("ranks", ranks, &group)?;
    let new = match choice {
        Choice::Include => including(&group, &members),
        Choice::Exclude => excluding(&group, &members),
    };
    Ok(store(&mut process, new))
}

/// MPI_Group_range_incl and MPI_Group_range_excl.
///
/// # Errors
/// As [`choose`], and a stride of 0.
pub fn choose_ranges(group: MPI_Group, choice: Choice, ranges: &[[c_int; 3]]) -> MpiResult<MPI_Group> {
    choose(group, choice, &expand(ranges)?)
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

/// MPI_Group_union, MPI_Group_intersection, MPI_Group_difference.
///
/// # Errors
/// No such groups.
pub fn combine(first: MPI_Group, operation: SetOperation, second: MPI_Group) -> MpiResult<MPI_Group> {
    let mut process = process::enter()?;
    let (first, second) = (resolve(&process, "group1", first)?, resolve(&process, "group2", second)?);
    let (in_first, in_second) = (first.index(), second.index());
    let ranks = match operation {
        SetOperation::Union => first
            .ranks()
            .into_iter()
            .chain(second.ranks().into_iter().filter(|r| !in_first.contains_key(r)))
            .collect(),
        SetOperation::Intersection => {
            first.ranks().into_iter().filter(|r| in_second.contains_key(r)).collect()
        }
        SetOperation::Difference => {
            first.ranks().into_iter().filter(|r| !in_second.contains_key(r)).collect()
        }
    };
    Ok(store(&mut process, Group::of(ranks)))
}

/// The ranks that a C array of this length holds.
///
/// # Safety
/// `ranks` must be readable for `length` elements unless that is not positive.
///
/// # Errors
/// A negative length, or no array.
pub unsafe fn array<'a, T>(argument: &'static str, length: c_int, array: *const T) -> MpiResult<&'a [T]> {
    let length = count("n", length)?;
    if length == 0 {
        return Ok(&[]);
    }
    if array.is_null() {
        return Err(MpiError::argument(
            MPI_ERR_ARG,
            argument,
            "NULL",
            format!("it has to have {length} elements"),
        ));
    }
    // SAFETY: not null, and the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(array, length) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_neighbours_is_a_range_and_answers_alike() {
        let range = Group::of(vec![3, 4, 5]);
        assert!(matches!(range, Group::Range { first: 3, size: 3 }));
        let list = Group::List(vec![3, 4, 5].into());
        for group in [&range, &list] {
            assert_eq!((group.member(4), group.member(2), group.member(6)), (Some(1), None, None));
            assert_eq!(group.ranks(), vec![3, 4, 5]);
        }
        assert_eq!(range.compare(&list), MPI_IDENT);
        assert_eq!(range.compare(&Group::of(vec![5, 3, 4])), MPI_SIMILAR);
        assert_eq!(range.compare(&Group::of(vec![3, 4])), MPI_UNEQUAL);
    }

    #[test]
    fn ranges_expand_in_both_directions_and_end() {
        assert_eq!(expand(&[[1, 6, 2], [9, 7, -1]]).unwrap(), vec![1, 3, 5, 9, 8, 7]);
        assert_eq!(expand(&[[4, 1, 1]]).unwrap(), Vec::<c_int>::new());
        assert!(expand(&[[0, 1, 0]]).is_err());
        assert!(expand(&[[0, c_int::MAX, 1]]).is_err());
    }

    #[test]
    fn members_are_chosen_once_and_in_range() {
        let group = Group::of(vec![7, 5, 9]);
        assert_eq!(including(&group, &members("ranks", &[2, 0], &group).unwrap()).ranks(), vec![9, 7]);
        assert_eq!(excluding(&group, &members("ranks", &[0], &group).unwrap()).ranks(), vec![5, 9]);
        assert!(members("ranks", &[1, 1], &group).is_err());
        assert!(members("ranks", &[3], &group).is_err());
        assert!(members("ranks", &[-1], &group).is_err());
    }
}

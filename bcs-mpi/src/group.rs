//! The calls about groups: made, compared, freed (MPI-5.0, §7.3).

use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::group::{EMPTY, Group, Kept};
use crate::process::{self, Process};
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_int;

pub use crate::object::group::SetOperation;

/// The group of a handle.
///
/// # Errors
/// It names none.
pub fn resolve(process: &Process, argument: &'static str, handle: MPI_Group) -> MpiResult<Group> {
    match handle {
        MPI_GROUP_EMPTY => Ok(EMPTY),
        _ => Ok(process.groups.named(argument, handle.0)?.group.clone()),
    }
}

/// The session that a group was derived from; MPI_SESSION_NULL if from none.
pub fn session_of(process: &Process, handle: MPI_Group) -> MPI_Session {
    process.groups.get(handle.0).map_or(MPI_SESSION_NULL, |kept| kept.session)
}

/// The handle of a new group that was derived from this session; MPI_SESSION_NULL if from none.
pub fn store(process: &mut Process, group: Group, session: MPI_Session) -> MPI_Group {
    if group.size() == 0 {
        MPI_GROUP_EMPTY
    } else {
        MPI_Group(process.groups.insert(Kept { group, session }))
    }
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
    Ok(member.map_or(MPI_UNDEFINED, |member| member.0 as c_int))
}

/// MPI_Group_free. MPI_GROUP_EMPTY, which calls answer for a new group without members, may be freed like any
/// other: its handle is cleared.
///
/// # Errors
/// No such group.
pub fn free(group: &mut MPI_Group) -> MpiResult {
    let mut process = process::enter()?;
    resolve(&process, "group", *group)?;
    if *group != MPI_GROUP_EMPTY {
        // It was found above.
        let _ = process.groups.remove(group.0);
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

/// MPI_Group_translate_ranks: `to[i]` is the rank in the second group of the process with rank `ranks[i]` in
/// the first.
///
/// # Errors
/// No such groups, or a rank out of range.
pub fn translate_ranks(first: MPI_Group, ranks: &[c_int], second: MPI_Group, to: &mut [c_int]) -> MpiResult {
    let process = process::enter()?;
    let (first, second) = (resolve(&process, "group1", first)?, resolve(&process, "group2", second)?);
    for (to, &rank) in to.iter_mut().zip(ranks) {
        *to = if rank == MPI_PROC_NULL {
            MPI_PROC_NULL
        } else {
            let job_rank = first.job_rank(member("ranks1", rank, &first)?);
            second.member(job_rank).map_or(MPI_UNDEFINED, |member| member.0 as c_int)
        };
    }
    Ok(())
}

/// The member that an argument names by its rank.
///
/// # Errors
/// A rank out of range.
pub(crate) fn member(argument: &'static str, value: c_int, group: &Group) -> MpiResult<CommRank> {
    match u32::try_from(value) {
        Ok(member) if member < group.size() => Ok(CommRank(member)),
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
fn members(argument: &'static str, ranks: &[c_int], group: &Group) -> MpiResult<Vec<CommRank>> {
    let mut seen = vec![false; group.size() as usize];
    ranks
        .iter()
        .map(|&rank| {
            let member = member(argument, rank, group)?;
            if std::mem::replace(&mut seen[member.index()], true) {
                let allowed = "a rank may stand there once only";
                return Err(MpiError::argument(MPI_ERR_RANK, argument, format!("{rank} twice"), allowed));
            }
            Ok(member)
        })
        .collect()
}

fn excluding(group: &Group, members: &[CommRank]) -> Group {
    let mut keep = vec![true; group.size() as usize];
    members.iter().for_each(|member| keep[member.index()] = false);
    let kept: Vec<_> = CommRank::all(group.size()).filter(|member| keep[member.index()]).collect();
    group.choose(&kept)
}

/// The ranks of MPI_Group_range_incl and _excl, of a group of this size: first, last, stride. What more than
/// the whole group is names a rank twice, and ends there.
fn expand(ranges: &[[c_int; 3]], group: &Group) -> MpiResult<Vec<c_int>> {
    let mut ranks = Vec::new();
    for &[first, last, stride] in ranges {
        if stride == 0 {
            return Err(MpiError::argument(MPI_ERR_ARG, "ranges", "a stride of 0", "strides must not be 0"));
        }
        let (from, step) = (i64::from(first), i64::from(stride));
        let steps = (i64::from(last) - from) / step;
        if (i64::from(last) - from).signum() * step.signum() < 0 {
            continue;
        }
        member("ranges", first, group)?;
        member("ranges", (from + steps * step) as c_int, group)?;
        ranks.extend((0..=steps).map(|i| (from + i * step) as c_int));
        if ranks.len() > group.size() as usize {
            break;
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
    let session = session_of(&process, group);
    let group = resolve(&process, "group", group)?;
    let members = members("ranks", ranks, &group)?;
    let new = match choice {
        Choice::Include => group.choose(&members),
        Choice::Exclude => excluding(&group, &members),
    };
    Ok(store(&mut process, new, session))
}

/// MPI_Group_range_incl and MPI_Group_range_excl.
///
/// # Errors
/// As [`choose`], and a stride of 0.
pub fn choose_ranges(group: MPI_Group, choice: Choice, ranges: &[[c_int; 3]]) -> MpiResult<MPI_Group> {
    let of = resolve(&*process::enter()?, "group", group)?;
    choose(group, choice, &expand(ranges, &of)?)
}

/// MPI_Group_union, MPI_Group_intersection, MPI_Group_difference.
///
/// # Errors
/// No such groups.
pub fn combine(first: MPI_Group, operation: SetOperation, second: MPI_Group) -> MpiResult<MPI_Group> {
    let mut process = process::enter()?;
    let session = session_of(&process, first);
    let (first, second) = (resolve(&process, "group1", first)?, resolve(&process, "group2", second)?);
    Ok(store(&mut process, first.combined(operation, &second), session))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::Rank;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_are_the_ranks_that_they_count(first in 0i32..20, last in -3i32..23, stride in -4i32..5) {
            let group = Group::Range { first: Rank(100), size: 20 };
            let mut counted = Vec::new();
            let mut rank = first;
            while stride != 0 && if stride > 0 { rank <= last } else { rank >= last } {
                counted.push(rank);
                rank += stride;
            }
            let good = stride != 0 && counted.iter().all(|rank| (0..20).contains(rank));
            prop_assert_eq!(expand(&[[first, last, stride]], &group).ok(), good.then_some(counted));
        }
    }

    #[test]
    fn ranges_end_where_they_leave_the_group() {
        let group = Group::Range { first: Rank(0), size: 10 };
        assert_eq!(expand(&[[1, 6, 2], [9, 7, -1]], &group).unwrap(), vec![1, 3, 5, 9, 8, 7]);
        assert_eq!(expand(&[[0, 9, 1], [0, 9, 1], [0, 9, 1]], &group).unwrap().len(), 20);
    }
}

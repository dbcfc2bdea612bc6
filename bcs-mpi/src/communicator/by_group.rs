//! Communicators that the members of a group make among themselves: MPI_Comm_create_group, over a parent,
//! and MPI_Comm_create_from_group, over none (MPI-5.0, §7.4.2).
//!
//! The group's first member takes a context and tells the others, in messages that no program can
//! receive: in the parent's context for collectives, or in one that is no communicator's.

use super::hints::tell_of_new;
use super::leaders::Assembly;
use super::new::{Kin, make, store, subgroup, take_context, taken};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::group;
use crate::object::error_handler::{release, retain_for};
use crate::object::hints::Hints;
use crate::object::{Communicator, Group};
use crate::point_to_point::send_tag;
use crate::process::{self, Guard, Process, drive};
use crate::progress::{Joins, Party};
use bcs_core::Rank;
use mds::Primitive;
use nic_emu::contexts::Context;
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_int;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The context of messages that make communicators without a parent: above all that communicators get.
pub(super) const NO_PARENT: Context = Context(u32::MAX - 3);

/// The same between the leaders of two groups.
pub(super) const BETWEEN_GROUPS: Context = Context(u32::MAX - 5);

/// The context that the group's first member takes for it. This process is a member, and all are in the
/// party.
fn told(process: &mut Guard, party: Party, group: &Group) -> MpiResult<Context> {
    let leads = group.job_rank(CommRank(0)) == process.place.rank;
    let word = if leads { take_context(process, group)?.0.to_ne_bytes().into() } else { Vec::new() };
    let what = party.waiting();
    let assembly = Assembly { party, group: group.clone(), leader: CommRank(0) };
    let told = drive(process, &what, assembly.tell(word))?;
    let not_told = |_| MpiError::new(Problem::Nic("a group was told no context".into()));
    taken(Context(told.as_slice().try_into().map(u32::from_ne_bytes).map_err(not_told)?))
}

/// MPI_Comm_create_group: only the group's members call it.
///
/// # Errors
/// No such intracommunicator or group, a group that is not part of the communicator, or a wrong tag.
pub fn create_group(comm: MPI_Comm, group: MPI_Group, tag: c_int) -> MpiResult<MPI_Comm> {
    let mut process = process::enter()?;
    process.intracommunicator("comm", comm)?;
    send_tag("tag", tag)?;
    let group = subgroup(&process, comm, group)?;
    if group.member(process.place.rank).is_none() {
        return Ok(MPI_COMM_NULL);
    }
    let parent = process.communicator(comm)?;
    let way = (parent.context.of_collectives(), tag);
    let party = Party::loose(Primitive::CommCreateGroup, way, parent.rank, parent.group.clone());
    let context = told(&mut process, party, &group)?;
    let new = make(&process, comm, group, Kin::default())?;
    store(&mut process, new, context)
}

/// The tag of messages that make a communicator of these groups in this call: 31 bits of a hash of them
/// and of the program's tag, so that groups that overlap, and that are at it at the same time, do not
/// meet.
pub(super) fn tag_of(call: Primitive, stringtag: &str, groups: &[&Group]) -> c_int {
    let mut hasher = DefaultHasher::new();
    call.index().hash(&mut hasher);
    stringtag.hash(&mut hasher);
    groups.iter().for_each(|group| group.ranks().hash(&mut hasher));
    (hasher.finish() >> 33) as c_int
}

/// Checks the tag of a call that makes a communicator of groups.
pub(super) fn check_tag(stringtag: &str) -> MpiResult {
    if stringtag.len() < MPI_MAX_STRINGTAG_LEN as usize {
        return Ok(());
    }
    let allowed = format!("it must have at most {} bytes", MPI_MAX_STRINGTAG_LEN - 1);
    let value = format!("of {} bytes", stringtag.len());
    Err(MpiError::argument(MPI_ERR_ARG, "stringtag", value, allowed))
}

/// This process's rank in the group of an argument, of which it has to be.
pub(super) fn own_rank(process: &Process, argument: &'static str, group: &Group) -> MpiResult<CommRank> {
    let allowed = "every process that calls has to be in it";
    let value = || format!("a group of {} without this process", group.size());
    let rank = group.member(process.place.rank);
    rank.ok_or_else(|| MpiError::argument(MPI_ERR_GROUP, argument, value(), allowed))
}

/// All processes of the job as a party, whose messages have this context and tag.
pub(super) fn party_of_job(process: &Process, call: Primitive, way: (Context, c_int)) -> Party {
    let all = Group::Range { first: Rank(0), size: process.place.size };
    Party::loose(call, way, CommRank(process.place.rank.0), all)
}

/// MPI_Comm_create_from_group: only the group's members call it, and tell calls at the same time apart by
/// `stringtag`.
///
/// # Errors
/// No such group, info object or error handler, a group without this process, or a tag that is too long.
pub fn create_from_group(
    group: MPI_Group,
    stringtag: &str,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
) -> MpiResult<MPI_Comm> {
    let mut process = process::enter()?;
    let session = group::session_of(&process, group);
    let group = group::resolve(&process, "group", group)?;
    check_tag(stringtag)?;
    let hints = Hints::of(info)?;
    if group.size() == 0 {
        return Ok(MPI_COMM_NULL);
    }
    own_rank(&process, "group", &group)?;
    // The new communicator's reference, taken before the others are told anything.
    retain_for(MPI_COMM_SELF.into(), errhandler)?;
    let call = Primitive::CommCreateFromGroup;
    let way = (NO_PARENT, tag_of(call, stringtag, &[&group]));
    let party = party_of_job(&process, call, way);
    let context = told(&mut process, party, &group)?;
    let new = make(&process, MPI_COMM_SELF, group, Kin { hints, ..Kin::default() })?;
    let chosen =
        |new| Communicator { error_handler: errhandler, error_handler_was_set: true, session, ..new };
    let new = store(&mut process, new.map(chosen), context)?;
    release(errhandler)?;
    tell_of_new(&mut process, call, new)?;
    Ok(new)
}

//! Communicators that the members of a group make among themselves: MPI_Comm_create_group, over a parent, and MPI_Comm_create_from_group, over none
//! (MPI-5.0, §7.4.2).
//!
//! The group's first member takes a context and tells the others, in messages that no program can receive: in the parent's context for collectives, or in one that
//! is no communicator's.

use super::create::{make, store, subgroup, take_contexts};
use super::hints::Hints;
use crate::constants::*;
use crate::environment::error_handlers;
use crate::error::{MpiError, MpiResult, Problem};
use crate::group::{self, Group};
use crate::process::{self, Guard};
use mds::Primitive;
use nic_emu::matching::Envelope;
use nic_emu::port::{Posted, Send};
use nic_emu::status::WaitingFor;
use std::ffi::c_int;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The context of messages that make communicators without a parent: above all that communicators get.
const NO_PARENT: u32 = u32::MAX - 3;

/// How the members of a group reach each other before they have a communicator.
struct Way {
    call: Primitive,
    context: u32,
    tag: c_int,
    /// What the first member and this one are called there.
    first: u32,
    own: u32,
}

/// The context that the group's first member takes for it. This process is a member.
fn told(process: &mut Guard, group: &Group, way: &Way) -> MpiResult<u32> {
    let &Way { call, context, tag, first, own } = way;
    let leader = group.job_rank(0);
    if process.place.rank == leader {
        let chosen = take_contexts(process, 1)?;
        let bytes = chosen.to_ne_bytes();
        for other in 1..group.size() {
            let send =
                Send { context, source: own, tag, destination: group.job_rank(other), synchronous: false };
            // SAFETY: four bytes ride in the descriptor, so the send is complete at once.
            let posted = unsafe { process.port.post_send(&send, bytes.as_ptr(), bytes.len())? };
            debug_assert_eq!(posted, Posted::Complete);
        }
        process.port.nudge(true)?;
        return Ok(chosen);
    }
    let mut bytes = [0; 4];
    let envelope = Envelope { context, source: first, tag };
    // SAFETY: `bytes` lives until the wait below is over, and nobody else uses it.
    let request = unsafe { process.port.post_receive(&envelope, bytes.as_mut_ptr(), bytes.len())? };
    let what = WaitingFor {
        call: call.index() as u32,
        context,
        peer: first,
        tag,
        bytes: 4,
        requests: 1,
        peer_in_job: leader,
        sends: false,
    };
    process.wait(&what, |process| Ok(process.port.test(request)?))?;
    Ok(u32::from_ne_bytes(bytes))
}

/// MPI_Comm_create_group: only the group's members call it.
///
/// # Errors
/// No such communicator or group, a group that is not part of the communicator, or a wrong tag.
pub fn create_group(comm: MPI_Comm, group: MPI_Group, tag: c_int) -> MpiResult<MPI_Comm> {
    let mut process = process::enter()?;
    process.communicator(comm)?;
    if tag < 0 {
        return Err(MpiError::new(Problem::Tag { argument: "tag", value: tag, also: "" }));
    }
    let group = subgroup(&process, comm, group)?;
    if group.member(process.place.rank).is_none() {
        return Ok(MPI_COMM_NULL);
    }
    let parent = process.communicator(comm)?;
    let first = parent.group.member(group.job_rank(0)).unwrap_or(0);
    let way =
        Way { call: Primitive::CommCreateGroup, context: parent.context + 1, tag, first, own: parent.rank };
    let context = told(&mut process, &group, &way)?;
    let new = make(&process, comm, group, context)?;
    store(&mut process, new)
}

/// The tag of messages that make a communicator of this group: 31 bits of a hash of the program's tag and of the members, so that groups that overlap, and
/// that are at it at the same time, do not meet.
fn tag_of(stringtag: &str, group: &Group) -> c_int {
    let mut hasher = DefaultHasher::new();
    stringtag.hash(&mut hasher);
    group.ranks().hash(&mut hasher);
    (hasher.finish() >> 33) as c_int
}

/// MPI_Comm_create_from_group: only the group's members call it, and tell calls at the same time apart by `stringtag`.
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
    if stringtag.len() >= MPI_MAX_STRINGTAG_LEN as usize {
        let allowed = format!("it must have at most {} bytes", MPI_MAX_STRINGTAG_LEN - 1);
        let value = format!("of {} bytes", stringtag.len());
        return Err(MpiError::argument(MPI_ERR_ARG, "stringtag", value, allowed));
    }
    let hints = Hints::of(info)?;
    if group.size() == 0 {
        return Ok(MPI_COMM_NULL);
    }
    let own = process.place.rank;
    if group.member(own).is_none() {
        let value = format!("a group of {} without this process", group.size());
        return Err(MpiError::argument(
            MPI_ERR_GROUP,
            "group",
            value,
            "every process that calls has to be in it",
        ));
    }
    // The new communicator's reference, taken before the others are told anything.
    error_handlers::retain_for(MPI_COMM_SELF.into(), errhandler)?;
    let (call, tag) = (Primitive::CommCreateFromGroup, tag_of(stringtag, &group));
    let way = Way { call, context: NO_PARENT, tag, first: group.job_rank(0), own };
    let context = told(&mut process, &group, &way)?;
    let mut new = make(&process, MPI_COMM_SELF, group, context)?;
    if let Some(new) = &mut new {
        (new.error_handler, new.error_handler_was_set, new.hints) = (errhandler, true, hints);
        new.session = session;
    }
    let new = store(&mut process, new)?;
    error_handlers::release(errhandler)?;
    Ok(new)
}

//! Sessions and their process sets (MPI-5.0, §11.3).
//!
//! There are two process sets: the job, and the process itself. A launcher names no others.

use super::init::LEVELS;
use super::{finalize, init};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Owner};
use crate::group;
use crate::info;
use crate::kind::Kind;
use crate::object::Group;
use crate::object::attached_buffer::Level;
use crate::object::error_handler::{release, retain_for};
use crate::object::session::{SESSIONS, Session, check};
use crate::point_to_point::attached_buffer;
use crate::process;
use bcs_core::Rank;
use mds::Primitive;
use std::ffi::c_int;

/// The process sets, in their order.
const PROCESS_SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// MPI_Session_init. The hint `thread_level` asks for a thread level; without it every level is allowed for.
/// Errors are for the error handler that the session is to have (MPI-5.0, §11.3.1).
///
/// # Errors
/// No such info object or error handler, no such thread level, or the process cannot become a rank.
pub fn init(hints: MPI_Info, error_handler: MPI_Errhandler) -> MpiResult<MPI_Session> {
    let mut wanted = MPI_THREAD_MULTIPLE;
    if hints != MPI_INFO_NULL
        && let Some(name) = info::get(hints, "thread_level")?
    {
        let level = LEVELS.iter().find(|(_, known)| *known == name).map(|(level, _)| *level);
        let allowed = "thread_level has to be the name of a thread level, such as MPI_THREAD_MULTIPLE";
        wanted = level.ok_or_else(|| MpiError::argument(MPI_ERR_INFO_VALUE, "info", &name, allowed))?;
    }
    retain_for(Owner::Session(MPI_SESSION_NULL), error_handler)?;
    let begun = init::begin_session(wanted);
    let thread_level = begun.or_else(|error| release(error_handler).and(Err(error)))?;
    Ok(MPI_Session(SESSIONS.lock().insert(Session { error_handler, thread_level })))
}

/// MPI_Session_finalize.
///
/// # Errors
/// No such session, or the NIC fails.
pub fn finalize(handle: &mut MPI_Session) -> MpiResult {
    check(*handle)?;
    attached_buffer::release(&mut process::enter()?, Primitive::SessionFinalize, Level::Session(*handle))?;
    let removed = SESSIONS.lock().remove(handle.0);
    let session = removed.map_err(|why| MpiError::handle("session", handle.0, Kind::Session, why))?;
    *handle = MPI_SESSION_NULL;
    release(session.error_handler)?;
    finalize::end_session()
}

/// MPI_Session_get_info: the hints in use.
///
/// # Errors
/// No such session.
pub fn hints(handle: MPI_Session) -> MpiResult<MPI_Info> {
    let level = SESSIONS.lock().named("session", handle.0)?.thread_level;
    let name = LEVELS.iter().find(|(known, _)| *known == level).map_or("MPI_THREAD_SINGLE", |(_, name)| name);
    Ok(info::of_pairs(vec![("thread_level".to_owned(), name.to_owned())]))
}

/// MPI_Session_get_num_psets.
///
/// # Errors
/// No such session or info object.
pub fn process_sets(handle: MPI_Session, hints: MPI_Info) -> MpiResult<c_int> {
    check(handle)?;
    info::check(hints)?;
    Ok(PROCESS_SETS.len() as c_int)
}

/// MPI_Session_get_nth_pset.
///
/// # Errors
/// No such session, info object or process set.
pub fn nth_process_set(handle: MPI_Session, hints: MPI_Info, n: c_int) -> MpiResult<&'static str> {
    check(handle)?;
    info::check(hints)?;
    let found = usize::try_from(n).ok().and_then(|n| PROCESS_SETS.get(n).copied());
    let allowed = || format!("there are process sets 0..{}", PROCESS_SETS.len() - 1);
    found.ok_or_else(|| MpiError::argument(MPI_ERR_ARG, "n", n, allowed()))
}

/// The members of a process set.
fn members(handle: MPI_Session, name: &str) -> MpiResult<Group> {
    check(handle)?;
    let process = process::enter()?;
    // Names of process sets are those of URIs: schemes and hosts have no case.
    match PROCESS_SETS.iter().position(|known| known.eq_ignore_ascii_case(name)) {
        Some(0) => Ok(Group::Range { first: Rank(0), size: process.place.size }),
        Some(_) => Ok(Group::Range { first: process.place.rank, size: 1 }),
        None => {
            let allowed = format!("the process sets are {}", PROCESS_SETS.join(" and "));
            Err(MpiError::argument(MPI_ERR_ARG, "pset_name", name, allowed))
        }
    }
}

/// MPI_Session_get_pset_info.
///
/// # Errors
/// No such session or process set.
pub fn process_set_info(handle: MPI_Session, name: &str) -> MpiResult<MPI_Info> {
    let size = members(handle, name)?.size();
    Ok(info::of_pairs(vec![("mpi_size".to_owned(), size.to_string())]))
}

/// MPI_Group_from_session_pset.
///
/// # Errors
/// No such session or process set.
pub fn group(handle: MPI_Session, name: &str) -> MpiResult<MPI_Group> {
    let members = members(handle, name)?;
    Ok(group::store(&mut *process::enter()?, members, handle))
}

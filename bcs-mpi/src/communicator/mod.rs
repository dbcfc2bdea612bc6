//! The calls about communicators (MPI-5.0, chapter 7): asked here; made, split, freed in the files beside.

mod attributes;
pub mod by_group;
pub mod create;
pub mod free;
pub mod hints;
pub mod idup;
pub mod inter;
mod leaders;
pub mod new;
pub mod split;

use crate::constants::*;
use crate::error::MpiResult;
use crate::process;
use std::ffi::c_int;

/// MPI_Comm_rank.
///
/// # Errors
/// No such communicator.
#[inline]
pub fn rank(comm: MPI_Comm) -> MpiResult<c_int> {
    Ok(process::enter()?.communicator(comm)?.rank.0 as c_int)
}

/// MPI_Comm_size.
///
/// # Errors
/// No such communicator.
#[inline]
pub fn size(comm: MPI_Comm) -> MpiResult<c_int> {
    Ok(process::enter()?.communicator(comm)?.size as c_int)
}

/// MPI_Comm_test_inter.
///
/// # Errors
/// No such communicator.
pub fn is_inter(comm: MPI_Comm) -> MpiResult<bool> {
    Ok(process::enter()?.communicator(comm)?.is_inter())
}

/// MPI_Comm_remote_size.
///
/// # Errors
/// No such communicator, or an intracommunicator.
pub fn remote_size(comm: MPI_Comm) -> MpiResult<c_int> {
    Ok(process::enter()?.intercommunicator("comm", comm)?.peer_count as c_int)
}

/// MPI_Comm_remote_group.
///
/// # Errors
/// No such communicator, or an intracommunicator.
pub fn remote_group(comm: MPI_Comm) -> MpiResult<MPI_Group> {
    let mut process = process::enter()?;
    let group = process.intercommunicator("comm", comm)?.peers.clone();
    Ok(crate::group::store(&mut process, group, MPI_SESSION_NULL))
}

/// MPI_Comm_group.
///
/// # Errors
/// No such communicator.
pub fn group(comm: MPI_Comm) -> MpiResult<MPI_Group> {
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let (group, session) = (communicator.group.clone(), communicator.session);
    Ok(crate::group::store(&mut process, group, session))
}

/// MPI_Comm_compare.
///
/// # Errors
/// No such communicators.
pub fn compare(first: MPI_Comm, second: MPI_Comm) -> MpiResult<c_int> {
    let process = process::enter()?;
    let communicators = &process.communicators;
    let (one, other) = (communicators.named("comm1", first)?, communicators.named("comm2", second)?);
    let local = one.group.compare(&other.group);
    let remote = if one.is_inter() { one.peers.compare(&other.peers) } else { local };
    Ok(match (local, remote) {
        _ if one.is_inter() != other.is_inter() => MPI_UNEQUAL,
        (MPI_IDENT, MPI_IDENT) if first == second => MPI_IDENT,
        (MPI_IDENT, MPI_IDENT) => MPI_CONGRUENT,
        (MPI_UNEQUAL, _) | (_, MPI_UNEQUAL) => MPI_UNEQUAL,
        _ => MPI_SIMILAR,
    })
}

/// MPI_Comm_get_name.
///
/// # Errors
/// No such communicator.
pub fn get_name(comm: MPI_Comm) -> MpiResult<String> {
    let process = process::enter()?;
    if comm == MPI_COMM_NULL {
        // Allowed since MPI-4.1 (§7.8): the null handle has a name.
        return Ok("MPI_COMM_NULL".into());
    }
    Ok(process.communicator(comm)?.name.clone())
}

/// MPI_Comm_set_name; what does not fit in MPI_MAX_OBJECT_NAME is cut off.
///
/// # Errors
/// No such communicator.
pub fn set_name(comm: MPI_Comm, name: String) -> MpiResult {
    let mut process = process::enter()?;
    process.communicator_mut(comm)?.name = name;
    Ok(())
}

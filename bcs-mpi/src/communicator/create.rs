//! MPI_Comm_dup and MPI_Comm_create (MPI-5.0, §7.4.2).

use super::hints::tell_of_new;
use super::inter;
use super::new::{Kin, kin_of, part_of, subgroup};
use crate::constants::*;
use crate::error::MpiResult;
use crate::process;
use mds::Primitive;

/// MPI_Comm_dup and, with hints, MPI_Comm_dup_with_info.
///
/// # Errors
/// No such communicator or info object, or a copy callback refuses.
pub fn dup(call: Primitive, comm: MPI_Comm, info: MPI_Info) -> MpiResult<MPI_Comm> {
    let kin = kin_of(comm, info)?;
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let new = if communicator.is_inter() {
        inter::dup(&mut process, call, comm, kin)?
    } else {
        let group = communicator.group.clone();
        part_of(&mut process, call, comm, group, kin)?
    };
    tell_of_new(&mut process, call, new)?;
    Ok(new)
}

/// MPI_Comm_create: every member calls it; on an intracommunicator disjoint groups give one communicator
/// each.
///
/// # Errors
/// No such communicator or group, or a group that is not part of the communicator.
pub fn create(comm: MPI_Comm, group: MPI_Group) -> MpiResult<MPI_Comm> {
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    if communicator.is_inter() {
        return inter::create_of(&mut process, comm, group);
    }
    let group = subgroup(&process, comm, group)?;
    part_of(&mut process, Primitive::CommCreate, comm, group, Kin::default())
}

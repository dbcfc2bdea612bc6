//! What files are asked: access mode, group, hints (MPI-5.0, §14.2.7, §14.2.8), atomicity (§14.6.1).

use super::open::advise;
use super::representation::in_file;
use super::together::same;
use crate::constants::*;
use crate::error::MpiResult;
use crate::process;
use crate::progress::Arrival;
use crate::progress::meeting::meet;
use crate::{group, info};
use mds::Primitive;
use std::ffi::c_int;

/// MPI_File_get_amode.
///
/// # Errors
/// No such file.
pub fn get_amode(file: MPI_File) -> MpiResult<c_int> {
    Ok(process::enter()?.files.named(file)?.amode)
}

/// MPI_File_get_group.
///
/// # Errors
/// No such file.
pub fn get_group(file: MPI_File) -> MpiResult<MPI_Group> {
    let mut process = process::enter()?;
    let comm = process.files.named(file)?.comm;
    let communicator = process.communicator(comm)?;
    let (members, session) = (communicator.group.clone(), communicator.session);
    Ok(group::store(&mut process, members, session))
}

/// MPI_File_set_info: what `info` does not name stays.
///
/// # Errors
/// No such file or info object.
pub fn set_info(file: MPI_File, info: MPI_Info) -> MpiResult {
    let process = &mut process::enter()?;
    let comm = process.files.named(file)?.comm;
    let pairs = info::pairs(info)?;
    let open = process.files.named_mut(file)?;
    open.hints.update(&pairs);
    advise(&open.opened.fd, &open.hints);
    meet(process, Primitive::FileSetInfo, comm, &Arrival::BARRIER, &[]).map(drop)
}

/// MPI_File_get_info: a new info object with all hints that hold.
///
/// # Errors
/// No such file.
pub fn get_info(file: MPI_File) -> MpiResult<MPI_Info> {
    let process = process::enter()?;
    let open = process.files.named(file)?;
    let mut pairs = open.hints.pairs();
    pairs.push(("filename".to_owned(), open.title()));
    Ok(info::of_pairs(pairs))
}

/// MPI_File_set_atomicity.
///
/// # Errors
/// No such file, or members do not say the same.
pub fn set_atomicity(file: MPI_File, flag: c_int) -> MpiResult {
    let process = &mut process::enter()?;
    let comm = process.files.named(file)?.comm;
    let flag = flag != 0;
    same(process, Primitive::FileSetAtomicity, comm, ("flag", flag.into()))?;
    process.files.named_mut(file)?.is_atomic = flag;
    Ok(())
}

/// MPI_File_get_atomicity.
///
/// # Errors
/// No such file.
pub fn get_atomicity(file: MPI_File) -> MpiResult<c_int> {
    Ok(process::enter()?.files.named(file)?.is_atomic.into())
}

/// MPI_File_get_type_extent: what a datatype reaches over in the file.
///
/// # Errors
/// No such file or datatype, or a function of the program fails.
pub fn type_extent(file: MPI_File, datatype: MPI_Datatype) -> MpiResult<i64> {
    let process = &mut process::enter()?;
    let representation = process.files.named(file)?.view.representation.clone();
    let of = process.datatypes.find("datatype", datatype)?.clone();
    Ok(in_file(process, &of, &representation)?.extent())
}

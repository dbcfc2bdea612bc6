//! The pointer that all members share (MPI-5.0, §14.4.4): a number in NIC memory of the first member's node,
//! which the members change by one-sided operations. The first member need not call MPI for that.

use super::check::sequential_only;
use super::pointer::resolve;
use super::together::same;
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::buffer::Elements;
use crate::object::file::SharedPointer;
use crate::process::{self, Guard};
use crate::progress::Arrival;
use crate::progress::meeting::{gather_all, meet};
use crate::window::accumulate::fetch_and_op;
use crate::window::create::{self, PartOf};
use crate::window::{TargetElements, passive};
use mds::Primitive;
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_int;

/// The pointer of a new file, whose members all make it.
///
/// # Errors
/// The NIC has no room for another window.
pub(super) fn create(process: &mut Guard, comm: MPI_Comm, position: i64) -> MpiResult<SharedPointer> {
    let communicator = process.communicator(comm)?;
    if communicator.size == 1 {
        return Ok(SharedPointer::Own(position));
    }
    let is_first = communicator.rank == CommRank(0);
    let size = if is_first { size_of::<i64>() as MPI_Aint } else { 0 };
    let pointer = process.without_lock(|| -> MpiResult<SharedPointer> {
        let (win, _) = create::allocate(PartOf { size, disp_unit: 1 }, MPI_INFO_NULL, comm)?;
        passive::lock_all(MPI_MODE_NOCHECK, win)?;
        Ok(SharedPointer::Of(win))
    })?;
    if is_first {
        process.without_lock(|| change(pointer, position, MPI_REPLACE))?;
    }
    meet(process, Primitive::FileOpen, comm, &Arrival::BARRIER, &[])?;
    Ok(pointer)
}

/// Gives the pointer of a file back, which all members close.
///
/// # Errors
/// The NIC fails.
pub(super) fn free(process: &mut Guard, pointer: SharedPointer) -> MpiResult {
    match pointer {
        SharedPointer::Own(_) => Ok(()),
        SharedPointer::Of(mut win) => process.without_lock(|| {
            passive::unlock_all(win)?;
            create::free(&mut win)
        }),
    }
}

/// Changes the number of a window; answers what it was.
fn change(pointer: SharedPointer, value: i64, op: MPI_Op) -> MpiResult<i64> {
    let SharedPointer::Of(win) = pointer else { return Ok(value) };
    let mut before = 0i64;
    let at = TargetElements { rank: 0, disp: 0, count: 1, datatype: MPI_INT64_T };
    // SAFETY: both are there until the operation is complete, which the flush waits for.
    let (given, taken) = unsafe {
        (
            Elements::new((&raw const value).cast(), 1, MPI_INT64_T),
            Elements::new((&raw mut before).cast(), 1, MPI_INT64_T),
        )
    };
    fetch_and_op(given, taken, &at, op, win)?;
    passive::flush(0, win)?;
    Ok(before)
}

/// Takes so many etypes for an access; answers the first of them.
///
/// # Errors
/// No such file, or the NIC fails.
pub(super) fn take(process: &mut Guard, file: MPI_File, etypes: i64) -> MpiResult<i64> {
    update(process, file, |position| position.saturating_add(etypes), etypes, MPI_SUM)
}

fn update(
    process: &mut Guard,
    file: MPI_File,
    own: impl FnOnce(i64) -> i64,
    value: i64,
    op: MPI_Op,
) -> MpiResult<i64> {
    match &mut process.files.named_mut(file)?.shared {
        SharedPointer::Own(position) => {
            let after = own(*position);
            Ok(std::mem::replace(position, after))
        }
        pointer => {
            let pointer = *pointer;
            process.without_lock(|| change(pointer, value, op))
        }
    }
}

/// Sets the pointer, in a call that all members make; none leaves it before that is done.
///
/// # Errors
/// The NIC fails.
pub(super) fn set(process: &mut Guard, call: Primitive, file: MPI_File, position: i64) -> MpiResult {
    let comm = process.files.named(file)?.comm;
    if process.communicator(comm)?.rank == CommRank(0) {
        update(process, file, |_| position, position, MPI_REPLACE)?;
    }
    meet(process, call, comm, &Arrival::BARRIER, &[]).map(drop)
}

/// Takes etypes for an access that all members make in the order of their ranks (§14.4.4); answers this one's
/// first.
///
/// # Errors
/// The NIC fails.
pub(super) fn take_in_order(
    process: &mut Guard,
    call: Primitive,
    file: MPI_File,
    etypes: i64,
) -> MpiResult<i64> {
    let comm = process.files.named(file)?.comm;
    let rank = process.communicator(comm)?.rank;
    let all = gather_all(process, call, comm, etypes.to_le_bytes())?;
    let all: Vec<i64> = all.into_iter().map(i64::from_le_bytes).collect();
    let sum = |of: &[i64]| of.iter().fold(0i64, |sum, etypes| sum.saturating_add(*etypes));
    let first = if rank == CommRank(0) { take(process, file, sum(&all))? } else { 0 };
    let first = gather_all(process, call, comm, first.to_le_bytes())?;
    Ok(i64::from_le_bytes(first[0]).saturating_add(sum(&all[..rank.index()])))
}

/// MPI_File_seek_shared.
///
/// # Errors
/// No such file, or members do not say the same, or what cannot be.
pub fn seek(file: MPI_File, offset: MPI_Offset, whence: c_int) -> MpiResult {
    let (call, process) = (Primitive::FileSeekShared, &mut process::enter()?);
    let open = process.files.named(file)?;
    sequential_only(open, false)?;
    let comm = open.comm;
    same(process, call, comm, ("offset", offset))?;
    same(process, call, comm, ("whence", whence.into()))?;
    let current = match whence {
        MPI_SEEK_CUR => position_of(process, file)?,
        _ => 0,
    };
    let position = resolve(process.files.named(file)?, current, offset, whence);
    // Nobody changes it before all have seen where it was.
    same(process, call, comm, ("offset", position.as_ref().map_or(-1, |position| *position)))?;
    set(process, call, file, position?)
}

fn position_of(process: &mut Guard, file: MPI_File) -> MpiResult<i64> {
    update(process, file, |position| position, 0, MPI_NO_OP)
}

/// MPI_File_get_position_shared.
///
/// # Errors
/// No such file, or the NIC fails.
pub fn get_position(file: MPI_File) -> MpiResult<MPI_Offset> {
    let process = &mut process::enter()?;
    sequential_only(process.files.named(file)?, false)?;
    position_of(process, file)
}

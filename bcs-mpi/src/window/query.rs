//! What windows are asked: group, name, hints (MPI-5.0, §7.8, §12.2.6, §12.2.7), attributes.

use crate::attributes::Attributed;
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::attributes::{Attributes, Keys};
use crate::process::{self, Process};
use crate::{group, info};
use std::ffi::{c_int, c_void};

/// MPI_Win_get_group.
///
/// # Errors
/// No such window.
pub fn group(win: MPI_Win) -> MpiResult<MPI_Group> {
    let mut process = process::enter()?;
    let comm = process.windows.named(win)?.comm;
    let communicator = process.communicators.named("win", comm)?;
    let (members, session) = (communicator.group.clone(), communicator.session);
    Ok(group::store(&mut process, members, session))
}

/// MPI_Win_get_name.
///
/// # Errors
/// No such window.
pub fn get_name(win: MPI_Win) -> MpiResult<String> {
    let process = process::enter()?;
    if win == MPI_WIN_NULL {
        // Allowed since MPI-4.1 (§7.8): the null handle has a name.
        return Ok("MPI_WIN_NULL".into());
    }
    Ok(process.windows.named(win)?.name.clone())
}

/// MPI_Win_set_name.
///
/// # Errors
/// No such window.
pub fn set_name(win: MPI_Win, name: String) -> MpiResult {
    process::enter()?.windows.named_mut(win)?.name = name;
    Ok(())
}

/// MPI_Win_set_info: what `info` does not name stays.
///
/// # Errors
/// No such window or info object.
pub fn set_info(win: MPI_Win, info: MPI_Info) -> MpiResult {
    let mut process = process::enter()?;
    let window = process.windows.named_mut(win)?;
    for (key, value) in info::pairs(info)? {
        match window.hints.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => *old = value,
            None => window.hints.push((key, value)),
        }
    }
    Ok(())
}

/// Hints of the standard (§12.2.1, §12.2.3), with what holds where the program says nothing.
const HINTS: [(&str, &str); 7] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    ("alloc_shared_noncontig", "false"),
    ("mpi_accumulate_granularity", "0"),
];

/// MPI_Win_get_info: a new info object with all hints of the window, defaults too.
///
/// # Errors
/// No such window.
pub fn get_info(win: MPI_Win) -> MpiResult<MPI_Info> {
    let process = process::enter()?;
    let said = &process.windows.named(win)?.hints;
    let known = HINTS.iter().map(|(key, default)| {
        let value = said.iter().find(|(name, _)| name == key).map_or(*default, |(_, value)| value);
        ((*key).to_owned(), value.to_owned())
    });
    Ok(info::of_pairs(known.collect()))
}

impl Attributed for MPI_Win {
    const KEYVAL: &'static str = "win_keyval";
    const MAKER: &'static str = "MPI_Win_create_keyval";

    fn attributes(self, process: &mut Process) -> MpiResult<&mut Attributes> {
        Ok(&mut process.windows.named_mut(self)?.attributes)
    }

    fn keys(process: &mut Process) -> &mut Keys {
        &mut process.windows.keys
    }

    fn predefined(self, process: &Process, key: c_int) -> Option<Option<*mut c_void>> {
        let window = process.windows.named(self).ok()?;
        let of = |int: &c_int| Some(std::ptr::from_ref(int).cast_mut().cast());
        Some(match key {
            MPI_WIN_BASE => Some(window.base() as *mut c_void),
            MPI_WIN_SIZE => Some((&raw const window.values.size).cast_mut().cast()),
            MPI_WIN_DISP_UNIT => of(&window.values.disp_unit),
            MPI_WIN_CREATE_FLAVOR => of(&window.values.flavor),
            MPI_WIN_MODEL => of(&window.values.model),
            _ => return None,
        })
    }
}

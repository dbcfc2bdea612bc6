//! MPI_Win_fence (MPI-5.0, §12.5.1).

use super::completion::{Extent, Whom, complete};
use crate::collective::forms::{Call, meet};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, named, names};
use crate::object::window::Access;
use crate::process;
use mds::Primitive;
use std::ffi::c_int;

/// Assertions that a message names.
const ASSERTIONS: &[(c_int, &str)] =
    names![MPI_MODE_NOCHECK MPI_MODE_NOSTORE MPI_MODE_NOPUT MPI_MODE_NOPRECEDE MPI_MODE_NOSUCCEED];

/// Checks that an assertion has no other bits than these.
///
/// # Errors
/// It has.
pub(super) fn check_assertion(assertion: c_int, allowed: c_int, names: &str) -> MpiResult {
    if assertion & !allowed == 0 {
        return Ok(());
    }
    let value = named(assertion, ASSERTIONS);
    Err(MpiError::argument(MPI_ERR_ASSERT, "assert", value, format!("it may be 0, or a sum of {names}")))
}

/// MPI_Win_fence: operations of before are complete everywhere, and later ones begin an epoch, unless the
/// program says that there are none.
///
/// # Errors
/// No such window, a wrong assertion, or an epoch of another kind has begun.
pub fn fence(assertion: c_int, win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    let window = process.windows.named(win)?;
    let all = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    check_assertion(
        assertion,
        all,
        "MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED",
    )?;
    let comm = window.comm;
    let is_open =
        !matches!(window.access, Access::None | Access::Fence { .. }) || window.exposed_to.is_some();
    if is_open {
        let allowed = "an epoch of MPI_Win_start, MPI_Win_post or a lock has to end before MPI_Win_fence";
        return Err(window.out_of_order("win", window.title(), allowed));
    }
    let call = Primitive::WinFence;
    complete(process, call, win, &Whom::All, Extent::There)?;
    meet(process, Call::blocking(call, comm))?;
    let access = match assertion & MPI_MODE_NOSUCCEED {
        0 => Access::Fence { is_used: false },
        _ => Access::None,
    };
    process.windows.named_mut(win)?.access = access;
    Ok(())
}

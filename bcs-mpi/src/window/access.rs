//! Whether a target may be accessed now, and what an operation on it means.

use super::passive;
use super::target::Target;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::window::{Access, Place, Window};
use crate::process::Guard;
use bcs_core::LocalRank;
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_int;

/// The place that an operation means; none for MPI_PROC_NULL. Where locks are taken when they are needed,
/// this one is.
///
/// # Errors
/// No such window, member or place; or the window is not open to this process now.
pub(super) fn locate(
    process: &mut Guard,
    win: MPI_Win,
    (rank, disp): (c_int, MPI_Aint),
) -> MpiResult<Option<Target>> {
    let window = process.windows.named_mut(win)?;
    if rank == MPI_PROC_NULL {
        return Ok(None);
    }
    let member = window.member("target_rank", rank)?;
    let part = window.parts[member.index()];
    let is_open = match &mut window.access {
        Access::Fence { is_used } => {
            *is_used = true;
            true
        }
        Access::Started(members) => members.contains(&member),
        Access::Locked => window.locks.get(member).is_some(),
        Access::LockedAll { .. } => true,
        Access::None => false,
    };
    if !is_open {
        return Err(closed(window, rank));
    }
    let takes_lock = matches!(window.access, Access::LockedAll { .. }) && window.locks.get(member).is_none();
    let is_unbounded = window.is_dynamic();
    let unit = if is_unbounded { 1 } else { part.disp_unit };
    let offset = (disp as i64).checked_mul(unit).filter(|offset| is_unbounded || *offset >= 0);
    let offset = offset.ok_or_else(|| displaced(disp, unit))?;
    let comm = window.comm;
    if takes_lock {
        passive::take_lock_of_all(process, win, member)?;
    }
    let spans_nodes = process.windows.named(win)?.spans_nodes;
    let communicator = process.communicators.named("win", comm)?;
    let (job_rank, context) = (communicator.job_rank(member), communicator.context);
    Ok(Some(Target { win, rank: member, job_rank, context, part, offset, is_unbounded, spans_nodes }))
}

/// A place that is mapped here.
pub(super) struct MappedPlace {
    /// Where.
    pub at: *mut u8,
    /// Whose door guards it, and which.
    pub door: (LocalRank, u16),
    /// The window has members on several nodes.
    pub spans_nodes: bool,
}

/// The place of so many bytes together, if it is mapped here and this process may access it now. None
/// otherwise, of dynamic windows, and where anything is wrong: [`locate`] tells what.
#[inline]
pub(super) fn mapped(
    process: &mut Guard,
    win: MPI_Win,
    (rank, disp): (c_int, MPI_Aint),
    bytes: usize,
) -> Option<MappedPlace> {
    let window = process.windows.named_mut(win).ok()?;
    let part = window.parts.get(usize::try_from(rank).ok()?)?;
    let Place::Mapped(base) = part.place else { return None };
    let offset = usize::try_from((disp as i64).checked_mul(part.disp_unit)?).ok()?;
    let end = offset.checked_add(bytes)?;
    if end as u64 > part.size || window.flavor == MPI_WIN_FLAVOR_DYNAMIC {
        return None;
    }
    match &mut window.access {
        Access::Fence { is_used } => *is_used = true,
        // Locks of parts that are mapped are all taken.
        Access::LockedAll { .. } => {}
        Access::Locked => drop(window.locks.get(CommRank(rank as u32))?),
        Access::Started(members) if members.contains(&CommRank(rank as u32)) => {}
        Access::Started(_) | Access::None => return None,
    }
    let at = (base as *mut u8).wrapping_add(offset);
    Some(MappedPlace { at, door: (part.local_rank, part.door), spans_nodes: window.spans_nodes })
}

/// The error of a displacement that leads before the part, or further than there are addresses.
#[cold]
fn displaced(disp: MPI_Aint, unit: i64) -> MpiError {
    if disp < 0 {
        return MpiError::argument(MPI_ERR_DISP, "target_disp", disp, "it must be 0 or more");
    }
    let allowed = format!("in units of {unit} bytes it has to lead to the target's part");
    MpiError::argument(MPI_ERR_RMA_RANGE, "target_disp", disp, allowed)
}

#[cold]
fn closed(window: &Window, rank: c_int) -> MpiError {
    let (argument, value, allowed) = match window.access {
        Access::Started(_) => {
            ("target_rank", rank.to_string(), "MPI_Win_start has opened the window to other ranks alone")
        }
        Access::Locked => ("target_rank", rank.to_string(), "locks of other ranks are held alone"),
        _ => (
            "win",
            window.title(),
            "no epoch has begun: MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all begins one",
        ),
    };
    window.out_of_order(argument, value, allowed)
}

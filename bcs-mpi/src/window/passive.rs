//! Passive target synchronisation (MPI-5.0, §12.5.3, §12.5.4): locks, flushes, sync.
//!
//! Each member has a door ([`nic_emu::door`]). Those of this node a process enters itself, while they are
//! open; otherwise, and on other nodes, it asks the NIC of the door's rank, and waits to be let in.
//! MPI_Win_lock_all takes a member's lock with the first operation on that member.

use super::asking::{member_of, post_message, send_batch};
use super::completion::{Extent, Whom, complete};
use super::fence::check_assertion;
use super::target::Target;
use crate::api::bcs_test;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::window::{Access, Place, Window};
use crate::process::{self, Guard};
use mds::Primitive;
use nic_emu::door::Mode;
use nic_emu::memory::numbers::CommRank;
use nic_emu::one_sided::{Act, Message, Request};
use std::ffi::c_int;
use std::sync::atomic::{Ordering, fence};

/// Asks something of a member's door; waits until it is done, if that is `wanted`.
fn ask_door(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    (act, mode): (Act, Option<Mode>),
    wanted: bool,
) -> MpiResult {
    let message = Message {
        context: target.context,
        target: target.job_rank,
        door: target.part.door,
        asked: Some(Request::of(act)),
        mode,
    };
    if let Some(request) = post_message(process, call, target, &message, &[], wanted)? {
        bcs_test(process, call, request)?;
    }
    Ok(())
}

/// Whether something has left for a member of which it is not known that it is carried out.
fn is_under_way(process: &mut Guard, win: MPI_Win, member: CommRank) -> MpiResult<&mut bool> {
    Ok(&mut process.windows.named_mut(win)?.asked.entry(member).or_default().is_under_way)
}

/// Enters a member's door. Who enters or leaves it itself does so by an exchange of its word, which orders
/// what this process stores and loads.
#[inline]
fn enter(process: &mut Guard, call: Primitive, win: MPI_Win, member: CommRank, mode: Mode) -> MpiResult {
    let part = &process.windows.named(win)?.parts[member.index()];
    let (place, rank, door) = (part.place, part.local_rank, part.door);
    if place != Place::There && process.port.try_enter(rank, door, mode)? {
        return Ok(());
    }
    wait_for_entry(process, call, win, member, mode)
}

/// Has the NIC of a member's door let this process in, and waits for that.
#[cold]
fn wait_for_entry(
    process: &mut Guard,
    call: Primitive,
    win: MPI_Win,
    member: CommRank,
    mode: Mode,
) -> MpiResult {
    let target = member_of(process, win, member)?;
    ask_door(process, call, &target, (Act::Lock, Some(mode)), true)?;
    fence(Ordering::SeqCst);
    if target.part.place == Place::There {
        // What left before has arrived before.
        *is_under_way(process, win, member)? = false;
    }
    Ok(())
}

/// Leaves a member's door, behind all operations on that member.
#[inline]
fn leave(process: &mut Guard, call: Primitive, win: MPI_Win, member: CommRank, mode: Mode) -> MpiResult {
    let part = &process.windows.named(win)?.parts[member.index()];
    let (place, rank, door) = (part.place, part.local_rank, part.door);
    if place == Place::There {
        return leave_there(process, call, win, member, mode);
    }
    if process.port.door(rank, door)?.leave(mode) {
        let target = member_of(process, win, member)?;
        ask_door(process, call, &target, (Act::Unlock, None), true)?;
    }
    Ok(())
}

/// Leaves the door of a member on another node.
fn leave_there(
    process: &mut Guard,
    call: Primitive,
    win: MPI_Win,
    member: CommRank,
    mode: Mode,
) -> MpiResult {
    let target = member_of(process, win, member)?;
    send_batch(process, call, &target, false)?;
    // Where no operations are under way, there is nothing to wait for.
    let wanted = *is_under_way(process, win, member)?;
    ask_door(process, call, &target, (Act::Unlock, Some(mode)), wanted)?;
    *is_under_way(process, win, member)? = !wanted;
    complete(process, call, win, &Whom::One(member), Extent::Here)
}

fn open_otherwise(window: &Window) -> MpiResult {
    match window.access {
        Access::None | Access::Fence { is_used: false } | Access::Locked => Ok(()),
        _ => {
            let allowed = "the epoch that has begun has to end before a lock";
            Err(window.out_of_order("win", window.title(), allowed))
        }
    }
}

/// MPI_Win_lock.
///
/// # Errors
/// No such window or member, a wrong lock type or assertion, or an epoch has begun.
pub fn lock(lock_type: c_int, rank: c_int, assertion: c_int, win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    let window = process.windows.named(win)?;
    let mode = match lock_type {
        MPI_LOCK_SHARED => Mode::Shared,
        MPI_LOCK_EXCLUSIVE => Mode::Exclusive,
        _ => {
            let allowed = "it must be MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE";
            return Err(MpiError::argument(MPI_ERR_LOCKTYPE, "lock_type", lock_type, allowed));
        }
    };
    check_assertion(assertion, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK")?;
    // Nobody is locked.
    if rank == MPI_PROC_NULL {
        return Ok(());
    }
    let member = window.member("rank", rank)?;
    open_otherwise(window)?;
    if window.locks.get(member).is_some() {
        let allowed = "its lock is held; MPI_Win_unlock gives it back";
        return Err(window.out_of_order("rank", rank, allowed));
    }
    let checked = (assertion & MPI_MODE_NOCHECK == 0).then_some(mode);
    if let Some(mode) = checked {
        enter(process, Primitive::WinLock, win, member, mode)?;
    }
    let window = process.windows.named_mut(win)?;
    window.locks.insert(member, checked);
    window.access = Access::Locked;
    Ok(())
}

/// MPI_Win_unlock: operations on the member are complete there.
///
/// # Errors
/// No such window or member, or its lock is not held.
pub fn unlock(rank: c_int, win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    let window = process.windows.named(win)?;
    if rank == MPI_PROC_NULL {
        return Ok(());
    }
    let member = window.member("rank", rank)?;
    let held = if window.access == Access::Locked { window.locks.get(member) } else { None };
    let Some(held) = held else {
        return Err(window.out_of_order("rank", rank, "MPI_Win_lock has to have taken its lock"));
    };
    let call = Primitive::WinUnlock;
    match held {
        Some(mode) => leave(process, call, win, member, mode)?,
        None => complete(process, call, win, &Whom::One(member), Extent::There)?,
    }
    let window = process.windows.named_mut(win)?;
    window.locks.remove(member);
    if window.locks.is_empty() {
        window.access = Access::None;
    }
    Ok(())
}

/// MPI_Win_lock_all: shared locks of all members.
///
/// # Errors
/// No such window, a wrong assertion, or an epoch has begun.
pub fn lock_all(assertion: c_int, win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    let window = process.windows.named_mut(win)?;
    check_assertion(assertion, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK")?;
    open_otherwise(window)?;
    if window.access == Access::Locked {
        let allowed = "locks are held; MPI_Win_unlock gives them back";
        return Err(window.out_of_order("win", window.title(), allowed));
    }
    let no_check = assertion & MPI_MODE_NOCHECK != 0;
    window.access = Access::LockedAll { no_check };
    // What is loaded and stored without a call, in memory that is mapped, is under the lock, too.
    let local: Vec<CommRank> = (0..)
        .map(CommRank)
        .zip(&window.parts)
        .filter(|(_, part)| matches!(part.place, Place::Mapped(_)))
        .map(|(member, _)| member)
        .collect();
    local.into_iter().try_for_each(|member| take_lock_of_all(process, win, member))
}

/// Takes the lock of a member, in an epoch of MPI_Win_lock_all.
///
/// # Errors
/// The NIC fails.
pub(super) fn take_lock_of_all(process: &mut Guard, win: MPI_Win, member: CommRank) -> MpiResult {
    let no_check = process.windows.named(win)?.access == Access::LockedAll { no_check: true };
    let mode = (!no_check).then_some(Mode::Shared);
    if let Some(mode) = mode {
        enter(process, Primitive::WinLockAll, win, member, mode)?;
    }
    process.windows.named_mut(win)?.locks.insert(member, mode);
    Ok(())
}

/// MPI_Win_unlock_all.
///
/// # Errors
/// No such window, or MPI_Win_lock_all has not begun an epoch.
pub fn unlock_all(win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    let window = process.windows.named_mut(win)?;
    if !matches!(window.access, Access::LockedAll { .. }) {
        return Err(window.out_of_order("win", window.title(), "MPI_Win_lock_all has to begin the epoch"));
    }
    let call = Primitive::WinUnlockAll;
    complete(process, call, win, &Whom::All, Extent::There)?;
    while let Some((member, mode)) = process.windows.named_mut(win)?.locks.pop() {
        if let Some(mode) = mode {
            leave(process, call, win, member, mode)?;
        }
    }
    process.windows.named_mut(win)?.access = Access::None;
    Ok(())
}

fn flush_of(call: Primitive, rank: Option<c_int>, win: MPI_Win, extent: Extent) -> MpiResult {
    let process = &mut process::enter()?;
    let window = process.windows.named(win)?;
    if rank == Some(MPI_PROC_NULL) {
        return Ok(());
    }
    let member = rank.map(|rank| window.member("rank", rank)).transpose()?;
    let is_held = match &window.access {
        Access::LockedAll { .. } => true,
        Access::Locked => member.is_none_or(|member| window.locks.get(member).is_some()),
        _ => false,
    };
    if !is_held {
        let allowed = "MPI_Win_lock or MPI_Win_lock_all has to have taken the lock";
        return Err(match rank {
            Some(rank) => window.out_of_order("rank", rank, allowed),
            None => window.out_of_order("win", window.title(), allowed),
        });
    }
    complete(process, call, win, &member.map_or(Whom::All, Whom::One), extent)
}

/// MPI_Win_flush: operations on a member are complete there.
///
/// # Errors
/// No such window or member, or its lock is not held.
pub fn flush(rank: c_int, win: MPI_Win) -> MpiResult {
    flush_of(Primitive::WinFlush, Some(rank), win, Extent::There)
}

/// MPI_Win_flush_all.
///
/// # Errors
/// No such window, or no lock is held.
pub fn flush_all(win: MPI_Win) -> MpiResult {
    flush_of(Primitive::WinFlushAll, None, win, Extent::There)
}

/// MPI_Win_flush_local: operations on a member are complete here.
///
/// # Errors
/// As [`flush`].
pub fn flush_local(rank: c_int, win: MPI_Win) -> MpiResult {
    flush_of(Primitive::WinFlushLocal, Some(rank), win, Extent::Here)
}

/// MPI_Win_flush_local_all.
///
/// # Errors
/// As [`flush_all`].
pub fn flush_local_all(win: MPI_Win) -> MpiResult {
    flush_of(Primitive::WinFlushLocalAll, None, win, Extent::Here)
}

/// MPI_Win_sync: loads and stores of this process, before and after, are in order. It may be called in a loop
/// that waits for others.
///
/// # Errors
/// No such window, or the NIC fails.
pub fn sync(win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    process.windows.named(win)?;
    fence(Ordering::SeqCst);
    process.make_progress()
}

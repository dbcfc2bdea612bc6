//! General active target synchronisation (MPI-5.0, §12.5.2): post, start, complete, wait, test.
//!
//! Who posts tells each origin by a message; who starts waits for these. Who completes tells each target,
//! behind its operations, and who waits has posted receives for that.

use super::completion::{Extent, Whom, complete as complete_operations, have_come};
use super::fence::check_assertion;
use crate::api::{Mode, bcs_recv, bcs_send, bcs_test};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::group;
use crate::object::window::Access;
use crate::process::{self, Guard};
use bcs_core::Rank;
use mds::Primitive;
use nic_emu::descriptor::Check;
use nic_emu::matching::Envelope;
use nic_emu::memory::numbers::CommRank;
use nic_emu::port::Send;
use std::ffi::c_int;
use std::sync::atomic::{Ordering, fence};

/// What tells an origin that it may access the window.
const POSTED: i32 = 0;
/// What tells a target that an origin has completed.
const COMPLETED: i32 = 1;

/// The members of a window that a group has.
fn members(process: &Guard, win: MPI_Win, handle: MPI_Group) -> MpiResult<Vec<CommRank>> {
    let comm = process.windows.named(win)?.comm;
    let group = group::resolve(process, "group", handle)?;
    let communicator = process.communicators.named("win", comm)?;
    let member = |rank: &Rank| communicator.group.member(*rank);
    let members: Option<Vec<_>> = group.ranks().iter().map(member).collect();
    members.ok_or_else(|| {
        let allowed = "its members must all be members of the window";
        MpiError::argument(MPI_ERR_GROUP, "group", format!("a group of {}", group.size()), allowed)
    })
}

/// The context of a window's communicator, this process's rank in it, and a member's rank in the job.
fn way_to(process: &Guard, win: MPI_Win, member: CommRank) -> MpiResult<(Send, MPI_Comm)> {
    let comm = process.windows.named(win)?.comm;
    let communicator = process.communicators.named("win", comm)?;
    let send = Send {
        context: communicator.context,
        source: communicator.rank,
        tag: 0,
        destination: communicator.job_rank(member),
        synchronous: false,
        check: Check::NONE,
        signature: 0,
    };
    Ok((send, comm))
}

fn tell(process: &mut Guard, call: Primitive, win: MPI_Win, member: CommRank, tag: i32) -> MpiResult {
    let (send, comm) = way_to(process, win, member)?;
    let (send, nothing) = (Send { tag, ..send }, std::ptr::null());
    // SAFETY: no bytes are sent.
    unsafe { bcs_send(process, call, &send, (member, comm), nothing, 0, Mode::Blocking)? };
    Ok(())
}

/// Waits for what a member tells.
fn hear(process: &mut Guard, call: Primitive, win: MPI_Win, member: CommRank, tag: i32) -> MpiResult {
    let (Send { context, destination, .. }, comm) = way_to(process, win, member)?;
    let (envelope, nothing) = (Envelope { context, source: member, tag }, (std::ptr::null_mut(), 0, 0));
    // SAFETY: no bytes are received.
    unsafe { bcs_recv(process, call, &envelope, (destination, comm), nothing, Mode::Blocking)? };
    Ok(())
}

/// MPI_Win_post: the window is open to the members of the group.
///
/// # Errors
/// No such window or group, a wrong assertion, or the window is open already.
pub fn post(handle: MPI_Group, assertion: c_int, win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    let window = process.windows.named(win)?;
    let allowed = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
    check_assertion(assertion, allowed, "MPI_MODE_NOCHECK, MPI_MODE_NOSTORE and MPI_MODE_NOPUT")?;
    if window.exposed_to.is_some() {
        let allowed = "MPI_Win_wait or MPI_Win_test has to end the epoch of the last MPI_Win_post";
        return Err(window.out_of_order("win", window.title(), allowed));
    }
    let origins = members(process, win, handle)?;
    // What this process has stored itself is there when the others know.
    fence(Ordering::SeqCst);
    if assertion & MPI_MODE_NOCHECK == 0 {
        for origin in &origins {
            tell(process, Primitive::WinPost, win, *origin, POSTED)?;
        }
    }
    let mut completions = Vec::with_capacity(origins.len());
    for origin in &origins {
        let (Send { context, destination, .. }, comm) = way_to(process, win, *origin)?;
        let envelope = Envelope { context, source: *origin, tag: COMPLETED };
        let nothing = (std::ptr::null_mut(), 0, 0);
        // SAFETY: no bytes are received.
        let begun = unsafe {
            bcs_recv(process, Primitive::WinPost, &envelope, (destination, comm), nothing, Mode::NonBlocking)?
        };
        if let crate::api::Received::Request(request) = begun {
            completions.push(request);
        }
    }
    let window = process.windows.named_mut(win)?;
    (window.completions, window.exposed_to) = (completions, Some(origins));
    Ok(())
}

/// MPI_Win_start: waits until the members of the group have posted, unless the program vouches that they
/// have.
///
/// # Errors
/// No such window or group, a wrong assertion, or an epoch has begun.
pub fn start(handle: MPI_Group, assertion: c_int, win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    let window = process.windows.named(win)?;
    check_assertion(assertion, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK")?;
    if !matches!(window.access, Access::None | Access::Fence { is_used: false }) {
        let allowed = "the epoch that has begun has to end before MPI_Win_start";
        return Err(window.out_of_order("win", window.title(), allowed));
    }
    let targets = members(process, win, handle)?;
    if assertion & MPI_MODE_NOCHECK == 0 {
        for target in &targets {
            hear(process, Primitive::WinStart, win, *target, POSTED)?;
        }
    }
    process.windows.named_mut(win)?.access = Access::Started(targets);
    Ok(())
}

/// MPI_Win_complete.
///
/// # Errors
/// No such window, or MPI_Win_start has not begun an epoch.
pub fn complete(win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    let window = process.windows.named_mut(win)?;
    let Access::Started(targets) = &window.access else {
        return Err(window.out_of_order("win", window.title(), "MPI_Win_start has to begin the epoch"));
    };
    let (targets, call) = (targets.clone(), Primitive::WinComplete);
    complete_operations(process, call, win, &Whom::Some(&targets), Extent::InOrder)?;
    for target in &targets {
        tell(process, call, win, *target, COMPLETED)?;
    }
    process.windows.named_mut(win)?.access = Access::None;
    Ok(())
}

#[cold]
fn not_posted(process: &Guard, win: MPI_Win) -> MpiError {
    match process.windows.named(win) {
        Ok(window) => window.out_of_order("win", window.title(), "MPI_Win_post has to open the window"),
        Err(error) => error,
    }
}

/// MPI_Win_wait: until all have completed to whom the window was opened.
///
/// # Errors
/// No such window, or MPI_Win_post has not opened it.
pub fn wait(win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    let window = process.windows.named_mut(win)?;
    if window.exposed_to.is_none() {
        return Err(not_posted(process, win));
    }
    for request in std::mem::take(&mut window.completions) {
        bcs_test(process, Primitive::WinWait, request)?;
    }
    process.windows.named_mut(win)?.exposed_to = None;
    fence(Ordering::SeqCst);
    Ok(())
}

/// MPI_Win_test: whether all have completed; if so, as MPI_Win_wait.
///
/// # Errors
/// As [`wait`].
pub fn test(win: MPI_Win) -> MpiResult<bool> {
    let process = &mut process::enter()?;
    if process.windows.named(win)?.exposed_to.is_none() {
        return Err(not_posted(process, win));
    }
    let all = process.look_twice(|process| {
        let mut completions = std::mem::take(&mut process.windows.named_mut(win)?.completions);
        let all = have_come(process, &mut completions)?;
        process.windows.named_mut(win)?.completions = completions;
        Ok(all.then_some(()))
    })?;
    if all.is_some() {
        process.windows.named_mut(win)?.exposed_to = None;
        fence(Ordering::SeqCst);
    }
    Ok(all.is_some())
}

//! Put and get, and their request forms (MPI-5.0, §12.3.1, §12.3.2, §12.3.5).

use super::access::{locate, mapped};
use super::asking::{ask, ask_for_answer, ask_to_pull, note_answer, note_request};
use super::completion::have_come;
use super::target::{Bytes, ORIGIN_NAMES, Target, TargetElements, check_reached};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::Incoming;
use crate::object::datatype::buffer::{Elements, contiguous_bytes, is_no_buffer};
use crate::object::request::State;
use crate::object::window::{AnswerEnd, Place};
use crate::process::{self, Guard, ready, with};
use mds::Primitive;
use nic_emu::memory::numbers::RequestId;
use nic_emu::one_sided::{Act, Request};
use std::ffi::c_void;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// MPI_Put.
///
/// # Errors
/// Wrong arguments, or no epoch.
pub fn put(origin: Elements<*const c_void>, to: &TargetElements, win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    if let Some((place, bytes)) = block_of(process, (origin.buffer, origin.count, origin.datatype), to, win) {
        // SAFETY: the bytes are in the part, which is mapped; the promise of `Elements::new`.
        unsafe { copy_block(origin.buffer.cast(), place, bytes) };
        return Ok(());
    }
    match put_in(process, Primitive::Put, origin, to, win)? {
        Some((target, Some((requests, end)))) => note_answer(process, &target, requests, end),
        _ => Ok(()),
    }
}

/// The block of a target that is mapped here, of as many bytes as elements of the program, if both are
/// contiguous. What is wrong is for those to find that take the long way.
#[inline]
fn block_of(
    process: &mut Guard,
    (buffer, count, datatype): (*const c_void, i64, MPI_Datatype),
    to: &TargetElements,
    win: MPI_Win,
) -> Option<(*mut u8, usize)> {
    let bytes = |count: i64, datatype| usize::try_from(count).ok()?.checked_mul(contiguous_bytes(datatype)?);
    let length = bytes(count, datatype).filter(|_| !is_no_buffer(buffer))?;
    if bytes(to.count, to.datatype) != Some(length) {
        return None;
    }
    Some((mapped(process, win, (to.rank, to.disp), length)?.at, length))
}

/// Copies a block, which may lie where it goes.
///
/// # Safety
/// So many bytes must be readable there and writable here.
#[inline]
pub(super) unsafe fn copy_block(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => std::ptr::copy(from, to, bytes),
        }
    }
}

/// MPI_Rput: the request is complete when the origin's buffer may be used again.
///
/// # Errors
/// Wrong arguments, or no epoch.
pub fn rput(origin: Elements<*const c_void>, to: &TargetElements, win: MPI_Win) -> MpiResult<MPI_Request> {
    let process = &mut process::enter()?;
    passive_only(process, win)?;
    let given = put_in(process, Primitive::Rput, origin, to, win)?;
    request_for(process, Primitive::Rput, win, given)
}

fn put_in(
    process: &mut Guard,
    call: Primitive,
    origin: Elements<*const c_void>,
    to: &TargetElements,
    win: MPI_Win,
) -> MpiResult<Option<(Target, Awaited)>> {
    let Some(target) = locate(process, win, (to.rank, to.disp))? else { return Ok(None) };
    let mut message = origin.message(&process.datatypes, &ORIGIN_NAMES)?;
    let bytes = target.bytes(process, to)?.first("origin_count", message.bytes)?;
    // SAFETY: the promise of `Elements::new`.
    unsafe { message.put_together() };
    if let Some(address) = target.long_block(&bytes) {
        // SAFETY: the same: the operation is not over before the request is complete, and the packed copy is
        // kept.
        let request = unsafe { ask_to_pull(process, call, &target, address, (message.data, message.bytes))? };
        let end = message.packed.map_or(AnswerEnd::InPlace, AnswerEnd::Gone);
        return Ok(Some((target, Some((vec![request], end)))));
    }
    // SAFETY: the same; the call is not over.
    let data = unsafe { slice(message.data, message.bytes) };
    store(process, call, &target, &bytes, data)?;
    Ok(Some((target, None)))
}

/// Bytes of a buffer of the program, which may be null for none.
///
/// # Safety
/// They must be readable, and not written, for as long as the answer is used.
pub(super) unsafe fn slice<'a>(data: *const u8, bytes: usize) -> &'a [u8] {
    // SAFETY: the caller's promise.
    if bytes == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, bytes) } }
}

/// Stores data, which is as long as the bytes of the target.
pub(super) fn store(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    bytes: &Bytes,
    data: &[u8],
) -> MpiResult {
    match target.part.place {
        Place::Mapped(base) => {
            let mut at = 0;
            bytes.for_each(|offset, length| {
                // SAFETY: within the part, which is mapped here, as `Target::bytes` has checked; of a dynamic
                // window this process's own memory, where the program says that it is. It may be the buffer.
                unsafe { std::ptr::copy(data.as_ptr().add(at), target.here(base, offset), length) };
                at += length;
                Ok(())
            })
        }
        Place::Here => {
            let mut at = 0;
            bytes.for_each(|offset, length| {
                let (rank, address) = (target.part.local_rank, target.address(offset));
                let reached = process.port.write_memory(rank, address, &data[at..at + length])?;
                at += length;
                check_reached(target, reached)
            })
        }
        Place::There => {
            let request = Request { is_unbounded: target.is_unbounded, ..Request::of(Act::Put) };
            ask(process, call, target, request, (target.pieces(bytes)?, data, 1))
        }
    }
}

/// MPI_Get.
///
/// # Errors
/// Wrong arguments, or no epoch.
pub fn get(origin: Elements<*mut c_void>, from: &TargetElements, win: MPI_Win) -> MpiResult {
    let process = &mut process::enter()?;
    let room = (origin.buffer.cast_const(), origin.count, origin.datatype);
    if let Some((place, bytes)) = block_of(process, room, from, win) {
        // SAFETY: as in `put`.
        unsafe { copy_block(place, origin.buffer.cast(), bytes) };
        return Ok(());
    }
    let Some((target, got)) = get_in(process, Primitive::Get, origin, from, win)? else { return Ok(()) };
    if let Some((requests, end)) = got {
        note_answer(process, &target, requests, end)?;
    }
    Ok(())
}

/// MPI_Rget: the request is complete when the data is there.
///
/// # Errors
/// Wrong arguments, or no epoch.
pub fn rget(origin: Elements<*mut c_void>, from: &TargetElements, win: MPI_Win) -> MpiResult<MPI_Request> {
    let process = &mut process::enter()?;
    passive_only(process, win)?;
    let got = get_in(process, Primitive::Rget, origin, from, win)?;
    request_for(process, Primitive::Rget, win, got)
}

/// The receives of an answer, and where it goes; none where all is done.
pub(super) type Awaited = Option<(Vec<RequestId>, AnswerEnd)>;

/// The request of an operation that has a target, and perhaps waits for an answer.
pub(super) fn request_for(
    process: &mut Guard,
    call: Primitive,
    win: MPI_Win,
    got: Option<(Target, Awaited)>,
) -> MpiResult<MPI_Request> {
    let Some((target, Some((mut requests, end)))) = got else {
        return Ok(request_of(process, win, State::nothing()));
    };
    let (mut end, has_come) = (Some(end), Arc::new(AtomicBool::new(false)));
    note_request(process, &target, has_come.clone())?;
    let future = poll_fn(move |_| {
        ready(with(|process| {
            if !have_come(process, &mut requests)? {
                return Ok(None);
            }
            if let Some(end) = end.take() {
                end.put();
            }
            has_come.store(true, Ordering::Release);
            Ok(Some(()))
        }))
    });
    let state = process.start(target.waiting(call), future)?;
    Ok(request_of(process, win, state))
}

/// The request of an operation in this state.
pub(super) fn request_of(process: &mut Guard, win: MPI_Win, state: State) -> MPI_Request {
    let comm = process.windows.named(win).map_or(MPI_COMM_SELF, |window| window.comm);
    process.requests.insert(state, comm)
}

/// Request forms are for passive targets alone (§12.3.5).
///
/// # Errors
/// No such window, or it is open in another way.
pub(super) fn passive_only(process: &Guard, win: MPI_Win) -> MpiResult {
    let window = process.windows.named(win)?;
    if window.access.is_passive() {
        return Ok(());
    }
    let allowed = "operations with a request are for epochs of MPI_Win_lock and MPI_Win_lock_all";
    Err(window.out_of_order("win", window.title(), allowed))
}

fn get_in(
    process: &mut Guard,
    call: Primitive,
    origin: Elements<*mut c_void>,
    from: &TargetElements,
    win: MPI_Win,
) -> MpiResult<Option<(Target, Awaited)>> {
    let Some(target) = locate(process, win, (from.rank, from.disp))? else { return Ok(None) };
    let room = origin.room(&process.datatypes, &ORIGIN_NAMES)?;
    let bytes = target.bytes(process, from)?;
    let room = bytes.room_in("origin_count", room)?;
    let awaited = load(process, call, &target, &bytes, room)?;
    Ok(Some((target, awaited)))
}

/// Loads the bytes of the target to where there is as much room.
pub(super) fn load(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    bytes: &Bytes,
    room: Incoming,
) -> MpiResult<Awaited> {
    let end = |staged| match staged {
        Some(staged) => AnswerEnd::Unpack(staged),
        None => AnswerEnd::InPlace,
    };
    match target.part.place {
        Place::Mapped(base) => {
            let mut at = 0;
            bytes.for_each(|offset, length| {
                // SAFETY: as in `store`; there is room for all, by the promise of `Elements::new`.
                unsafe { std::ptr::copy(target.here(base, offset), room.data.add(at), length) };
                at += length;
                Ok(())
            })?;
        }
        Place::Here => {
            let mut at = 0;
            bytes.for_each(|offset, length| {
                // SAFETY: there is room for all, by the promise of `Elements::new`, and nobody else uses it.
                let to = unsafe { std::slice::from_raw_parts_mut(room.data.add(at), length) };
                let (rank, address) = (target.part.local_rank, target.address(offset));
                at += length;
                check_reached(target, process.port.read_memory(rank, address, to)?)
            })?;
        }
        Place::There => {
            let request = Request { is_unbounded: target.is_unbounded, ..Request::of(Act::Get) };
            let asked = (target.pieces(bytes)?, &[][..], 1);
            // SAFETY: there is room for all until the operation is over: the promise of `Elements::new`, or
            // the staged buffer, which is kept with the answer.
            let requests = unsafe { ask_for_answer(process, call, target, request, asked, room.data)? };
            return Ok(Some((requests, end(room.staged))));
        }
    }
    end(room.staged).put();
    Ok(None)
}

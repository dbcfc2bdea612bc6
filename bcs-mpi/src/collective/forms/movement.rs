//! Calls that move data: their arguments, checked and resolved into blocks (MPI-5.0, §6.3 to §6.8).

use super::super::algorithm;
use super::super::block::{Agreed, Block};
use super::super::broadcast::broadcast;
use super::super::buffers::{Buffer, Everyone, Own};
use super::super::coherence::check;
use super::super::inter;
use super::super::movement;
use super::super::side::Side;
use super::{Call, Form, at_once};
use crate::constants::*;
use crate::datatype::buffer::NAMES;
use crate::error::MpiResult;
use crate::process::{self, Process};
use std::ffi::{c_int, c_void};

/// MPI_Barrier and its kin.
///
/// # Errors
/// No such communicator, or the NIC fails.
// Inlined, so that the form is a constant: the call takes less than a microsecond.
#[inline(always)]
pub fn barrier(call: Call) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        // The groups' own communicators count it, as all collectives of both.
        return call.launch(&mut process, |sides: inter::Sides| algorithm::barrier(sides.remote));
    }
    let size = communicator.size;
    if call.form == Form::Blocking {
        at_once::barrier(&mut process, call, size)?;
        return Ok(MPI_REQUEST_NULL);
    }
    call.launch(&mut process, algorithm::barrier)
}

/// MPI_Ibcast and its kin.
///
/// # Safety
/// The buffer must be valid for its elements until the operation is complete.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn bcast(
    call: Call,
    buffer: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    root: c_int,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        // SAFETY: the caller's promise.
        return unsafe { inter::bcast(&mut process, call, buffer, count, datatype, root) };
    }
    let root = communicator.root(root)?;
    let action = if communicator.rank == root { "sent" } else { "received" };
    // SAFETY: the caller's promise.
    let block = unsafe { Block::new(&process, &NAMES, buffer, count, datatype, action)? };
    call.launch(&mut process, move |party| broadcast(party, block.clone(), root))
}

/// A member's own block, none where it is in place, and those of all, of a rooted call: with the root, and
/// with what members have to say alike.
///
/// # Safety
/// As [`gather`] and [`scatter`].
unsafe fn rooted<P: Buffer, Q: Buffer>(
    process: &Process,
    call: Call,
    own: &Own<P>,
    all: &Everyone<Q>,
    root: c_int,
) -> MpiResult<(Option<Block>, Side, u32, Agreed)> {
    let communicator = process.communicator(call.comm)?;
    let (root, rank, size) = (communicator.root(root)?, communicator.rank, communicator.size as usize);
    let is_root = rank == root;
    let given = (!is_root || !own.is_in_place()).then_some(own);
    // SAFETY: the caller's promise.
    let (side, block) = unsafe {
        let side = if is_root { all.side(process, size)? } else { Side::NOTHING };
        if is_root && let Some(own) = given {
            check(&process.datatypes, (&own.alone(), 1), (all, size))?;
        }
        (side, given.map(|own| own.block(process)).transpose()?)
    };
    let agreed = all.agreed(block.as_ref().map_or_else(|| side.agreed(rank), Block::agreed));
    Ok((block, side, root, agreed))
}

/// MPI_Igather, MPI_Igatherv and their kin.
///
/// # Safety
/// Buffers must be valid for what their counts say until the operation is complete; `all` matters at the
/// root only.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn gather(
    call: Call,
    own: &Own<*const c_void>,
    all: &Everyone<*mut c_void>,
    root: c_int,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    if process.communicator(call.comm)?.is_inter() {
        // SAFETY: the caller's promise.
        return unsafe { inter::rooted(&mut process, call, own, all, root) };
    }
    // SAFETY: as above.
    let (own, all, root, agreed) = unsafe { rooted(&process, call, own, all, root)? };
    call.launch(&mut process, move |party| movement::gather(party, own.clone(), all.clone(), root, agreed))
}

/// MPI_Iscatter, MPI_Iscatterv and their kin.
///
/// # Safety
/// Buffers must be valid for what their counts say until the operation is complete; `all` matters at the
/// root only.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn scatter(
    call: Call,
    all: &Everyone<*const c_void>,
    own: &Own<*mut c_void>,
    root: c_int,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    if process.communicator(call.comm)?.is_inter() {
        // SAFETY: the caller's promise.
        return unsafe { inter::rooted(&mut process, call, own, all, root) };
    }
    // SAFETY: as above.
    let (own, all, root, agreed) = unsafe { rooted(&process, call, own, all, root)? };
    call.launch(&mut process, move |party| movement::scatter(party, all.clone(), own.clone(), root, agreed))
}

/// MPI_Iallgather, MPI_Iallgatherv and their kin.
///
/// # Safety
/// Buffers must be valid for what their counts say until the operation is complete.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn allgather(
    call: Call,
    own: &Own<*const c_void>,
    all: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        // SAFETY: the caller's promise.
        return unsafe { inter::allgather(&mut process, call, own, all) };
    }
    let size = communicator.size as usize;
    let given = (!own.is_in_place()).then_some(own);
    // SAFETY: as above.
    let (receive, own) = unsafe {
        let receive = all.side(&process, size)?;
        if let Some(own) = given {
            check(&process.datatypes, (&own.alone(), 1), (all, size))?;
        }
        (receive, given.map(|own| own.block(&process)).transpose()?)
    };
    let agreed = all.agreed(own.as_ref().map_or_else(|| receive.agreed(0), Block::agreed));
    call.launch(&mut process, move |party| movement::allgather(party, own.clone(), receive.clone(), agreed))
}

/// MPI_Ialltoall, MPI_Ialltoallv, MPI_Alltoallw and their kin.
///
/// # Safety
/// Buffers must be valid for what their counts say until the operation is complete.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn alltoall(
    call: Call,
    send: &Everyone<*const c_void>,
    receive: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        // SAFETY: the caller's promise.
        return unsafe { inter::alltoall(&mut process, call, send, receive) };
    }
    let size = communicator.size as usize;
    let given = (send.buffer != MPI_IN_PLACE.cast_const()).then_some(send);
    // SAFETY: as above.
    let (incoming, outgoing) = unsafe {
        let incoming = receive.side(&process, size)?;
        if let Some(send) = given {
            check(&process.datatypes, (send, size), (receive, size))?;
        }
        (incoming, given.map(|send| send.side(&process, size)).transpose()?)
    };
    let agreed = receive.agreed(incoming.agreed(0));
    call.launch(&mut process, move |party| {
        movement::alltoall(party, outgoing.clone(), incoming.clone(), agreed)
    })
}

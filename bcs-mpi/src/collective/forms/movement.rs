//! Calls that move data: their arguments, checked and resolved into blocks (MPI-5.0, §6.3 to §6.8).

use super::super::algorithm;
use super::super::block::{Agreed, Block, Places};
use super::super::broadcast::broadcast;
use super::super::buffers::{Blocks, Everyone, Own};
use super::super::coherence::{check_all, check_own, check_own_of_root};
use super::super::inter;
use super::super::movement;
use super::super::side::Side;
use super::{Call, Form, at_once};
use crate::constants::*;
use crate::datatype::buffer::{NAMES, RECEIVE_NAMES, SEND_NAMES};
use crate::error::MpiResult;
use crate::process;
use std::ffi::{c_int, c_void};

/// What members have to say alike of these blocks, or of a member's own, if it gives or takes one:
/// nothing in a v or w form.
pub(in crate::collective) fn agreed<P>(all: &Everyone<P>, own: Option<Agreed>) -> Agreed {
    match all.places {
        Places::Of(Blocks::Equal(_), _) => own.unwrap_or_default(),
        _ => Agreed::EACH_ITS_OWN,
    }
}

fn in_place(buffer: *const c_void) -> bool {
    buffer == MPI_IN_PLACE.cast_const()
}

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
        return inter::barrier(&mut process, call);
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
        return unsafe {
            inter::bcast(&mut process, call, &Own { buffer: buffer.cast_const(), count, datatype }, root)
        };
    }
    let root = communicator.root(root)?;
    let action = if communicator.rank == root { "sent" } else { "received" };
    // SAFETY: the caller's promise.
    let block = unsafe { Block::new(&process, &NAMES, buffer, count, datatype, action)? };
    call.launch(&mut process, move |party| broadcast(party, block.clone(), root))
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
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        // SAFETY: the caller's promise.
        return unsafe { inter::gather(&mut process, call, own, all, root) };
    }
    let (root, rank, size) = (communicator.root(root)?, communicator.rank, communicator.size);
    let receive = match rank == root {
        // SAFETY: the caller's promise.
        true => unsafe {
            Side::new(&process, &RECEIVE_NAMES, all.buffer, &all.places, size as usize, "received")?
        },
        false => Side::NOTHING,
    };
    if rank == root && !in_place(own.buffer) {
        // SAFETY: as above.
        unsafe { check_own(&process.datatypes, own, all, size as usize)? };
    }
    let own = match rank == root && in_place(own.buffer) {
        true => None,
        false => {
            // SAFETY: as above.
            Some(unsafe { Block::new(&process, &SEND_NAMES, own.buffer, own.count, own.datatype, "sent")? })
        }
    };
    let own_agreed = own.as_ref().map_or_else(|| receive.agreed(rank), Block::agreed);
    let agreed = agreed(all, Some(own_agreed));
    call.launch(&mut process, move |party| {
        movement::gather(party, own.clone(), receive.clone(), root, agreed)
    })
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
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        // SAFETY: the caller's promise.
        return unsafe { inter::scatter(&mut process, call, all, own, root) };
    }
    let (root, rank, size) = (communicator.root(root)?, communicator.rank, communicator.size);
    let send = match rank == root {
        // SAFETY: the caller's promise.
        true => unsafe { Side::new(&process, &SEND_NAMES, all.buffer, &all.places, size as usize, "sent")? },
        false => Side::NOTHING,
    };
    if rank == root && own.buffer != MPI_IN_PLACE {
        // SAFETY: as above.
        unsafe { check_own_of_root(&process.datatypes, own, all, size as usize)? };
    }
    let own = match rank == root && own.buffer == MPI_IN_PLACE {
        true => None,
        // SAFETY: as above.
        false => Some(unsafe {
            Block::new(&process, &RECEIVE_NAMES, own.buffer, own.count, own.datatype, "received")?
        }),
    };
    let own_agreed = own.as_ref().map_or_else(|| send.agreed(rank), Block::agreed);
    let agreed = agreed(all, Some(own_agreed));
    call.launch(&mut process, move |party| movement::scatter(party, send.clone(), own.clone(), root, agreed))
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
    // SAFETY: the caller's promise.
    let receive = unsafe { Side::new(&process, &RECEIVE_NAMES, all.buffer, &all.places, size, "received")? };
    if !in_place(own.buffer) {
        // SAFETY: as above.
        unsafe { check_own(&process.datatypes, own, all, size)? };
    }
    let own = match in_place(own.buffer) {
        true => None,
        false => {
            // SAFETY: as above.
            Some(unsafe { Block::new(&process, &SEND_NAMES, own.buffer, own.count, own.datatype, "sent")? })
        }
    };
    let agreed = agreed(all, Some(own.as_ref().map_or_else(|| receive.agreed(0), Block::agreed)));
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
    // SAFETY: the caller's promise.
    let incoming =
        unsafe { Side::new(&process, &RECEIVE_NAMES, receive.buffer, &receive.places, size, "received")? };
    if !in_place(send.buffer) {
        // SAFETY: as above.
        unsafe { check_all(&process.datatypes, send, receive, size)? };
    }
    let outgoing = match in_place(send.buffer) {
        true => None,
        // SAFETY: as above.
        false => Some(unsafe { Side::new(&process, &SEND_NAMES, send.buffer, &send.places, size, "sent")? }),
    };
    let agreed = agreed(receive, Some(incoming.agreed(0)));
    call.launch(&mut process, move |party| {
        movement::alltoall(party, outgoing.clone(), incoming.clone(), agreed)
    })
}

//! MPI_Reduce and MPI_Allreduce (MPI-5.0, §6.9.1, §6.9.6).
//!
//! The short way of what is called most: blocking calls of predefined operations, up to a slab, on the NIC.
//! Its Reduce Helper combines in the order of the reduction tree, and a member that gets no result goes on at
//! once. Everything else goes the way of all forms ([`super::forms`]).

use super::coherence::check_vectors;
use super::forms::{self, Vectors};
use super::operand::Operand;
use super::operation::is_user;
use crate::communicator::meeting::{Arrival, arrive, released, waiting_in};
use crate::constants::*;
use crate::datatype::buffer::{RECEIVE_NAMES, SEND_NAMES, is_no_buffer, no_buffer};
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::{self, Guard};
use mds::Primitive;
use nic_emu::board::Board;
use nic_emu::descriptor::CollectiveKind;
use nic_emu::port::{PortError, Release};
use nic_emu::slab::SLAB_BYTES;
use std::ffi::{c_int, c_void};

/// Checks a vector of operands; answers its bytes.
///
/// # Errors
/// A count that cannot be, or a null buffer for something.
pub(super) fn vector_bytes(
    names: &crate::datatype::buffer::Names,
    buffer: *const c_void,
    count: i64,
    extent: usize,
) -> MpiResult<usize> {
    let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(extent));
    let Some(bytes) = bytes.filter(|&bytes| bytes <= isize::MAX as usize) else {
        let allowed = if count < 0 {
            "it must not be negative"
        } else {
            "so many elements are more than memory can be"
        };
        return Err(MpiError::new(Problem::Count { argument: names[1], value: count, allowed }));
    };
    if is_no_buffer(buffer) && bytes != 0 {
        let action = if names[0] == "recvbuf" { "received" } else { "sent" };
        return Err(no_buffer(names[0], buffer, bytes, action));
    }
    Ok(bytes)
}

/// Combines all members' vectors; everybody gets the result.
///
/// # Safety
/// `sendbuf` (unless MPI_IN_PLACE) must be readable and `recvbuf` writable for `count` elements.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> MpiResult<()> {
    let by_form = || {
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count, datatype, op };
        // SAFETY: the caller's promise.
        unsafe { forms::allreduce(forms::Call::blocking(Primitive::Allreduce, comm), &vectors).map(drop) }
    };
    if is_user(op) {
        return by_form();
    }
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    if communicator.is_inter() {
        drop(process);
        return by_form();
    }
    let size = communicator.size;
    let operand = Operand::new(&process.datatypes, op, datatype)?;
    let bytes = vector_bytes(&RECEIVE_NAMES, recvbuf, count, operand.extent)?;
    let data = if sendbuf == MPI_IN_PLACE.cast_const() { recvbuf.cast_const() } else { sendbuf };
    vector_bytes(&SEND_NAMES, data, count, operand.extent)?;
    check_vectors(sendbuf, recvbuf, bytes)?;
    let (data, to) = (data.cast::<u8>(), recvbuf.cast::<u8>());
    if size == 1 {
        if bytes > 0 && data != to.cast_const() {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy(data, to, bytes) };
        }
        return Ok(());
    }
    if let (Some(operation), 1..=SLAB_BYTES) = (operand.on_nic(), bytes) {
        // SAFETY: the caller's promise.
        return unsafe { on_nic(&mut process, Primitive::Allreduce, comm, operation, None, data, to, bytes) };
    }
    drop(process);
    by_form()
}

/// Combines all members' vectors; the root gets the result.
///
/// # Safety
/// As [`allreduce`]; `recvbuf` matters at the root only.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn reduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: c_int,
    comm: MPI_Comm,
) -> MpiResult<()> {
    let by_form = || {
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count, datatype, op };
        // SAFETY: the caller's promise.
        unsafe { forms::reduce(forms::Call::blocking(Primitive::Reduce, comm), &vectors, root).map(drop) }
    };
    if is_user(op) {
        return by_form();
    }
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    if communicator.is_inter() {
        drop(process);
        return by_form();
    }
    let (at, rank, size) = (communicator.root(root)?, communicator.rank, communicator.size);
    let operand = Operand::new(&process.datatypes, op, datatype)?;
    let in_place = rank == at && sendbuf == MPI_IN_PLACE.cast_const();
    let data = if in_place { recvbuf.cast_const() } else { sendbuf };
    let bytes = vector_bytes(&SEND_NAMES, data, count, operand.extent)?;
    if rank == at {
        vector_bytes(&RECEIVE_NAMES, recvbuf, count, operand.extent)?;
        check_vectors(sendbuf, recvbuf, bytes)?;
    }
    let (data, to) =
        (data.cast::<u8>(), if rank == at { recvbuf.cast::<u8>() } else { std::ptr::null_mut() });
    if size == 1 {
        if bytes > 0 && data != to.cast_const() {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy(data, to, bytes) };
        }
        return Ok(());
    }
    if let (Some(operation), 1..=SLAB_BYTES) = (operand.on_nic(), bytes) {
        // SAFETY: the caller's promise.
        return unsafe {
            on_nic(&mut process, Primitive::Reduce, comm, operation, Some(at), data, to, bytes)
        };
    }
    drop(process);
    by_form()
}

/// The NIC combines; the members with a place for the result wait for it.
#[allow(clippy::too_many_arguments)]
unsafe fn on_nic(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    operation: (u8, u8),
    root: Option<u32>,
    data: *const u8,
    to: *mut u8,
    bytes: usize,
) -> MpiResult<()> {
    let kind = if root.is_some() { CollectiveKind::Reduce } else { CollectiveKind::Allreduce };
    let arrival = Arrival { kind, operation, root: root.unwrap_or(0), ..Arrival::default() };
    let what = waiting_in(process.communicator(comm)?, call, root, bytes);
    // SAFETY: the caller's promise; up to a slab nothing is read after this.
    let request = unsafe { arrive(process, call, comm, &arrival, data, bytes, !to.is_null())? };
    let Some(request) = request else { return Ok(()) };
    match released(process, &what, request)? {
        // SAFETY: `to` is the caller's promise; a payload holds any result that comes in one.
        Release::Result(payload) => unsafe {
            std::ptr::copy_nonoverlapping(payload.as_ptr(), to, bytes.min(payload.len()));
        },
        Release::Instance(instance) => {
            let memory = process.port.memory().clone();
            let board = Board::new(&memory, instance).map_err(PortError::from)?;
            // SAFETY: the caller's promise.
            unsafe { board.read(board.result().unwrap_or(0), 0, to, bytes) }.map_err(PortError::from)?;
            board.depart(instance).map_err(PortError::from)?;
        }
    }
    Ok(())
}

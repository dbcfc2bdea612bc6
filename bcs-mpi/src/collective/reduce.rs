//! MPI_Reduce and MPI_Allreduce (MPI-5.0, §6.9.1, §6.9.6).
//!
//! Up to a slab, on the NIC: its Reduce Helper combines in the order of the reduction tree, and a member that gets no result goes on at once. Larger
//! vectors by all members at once: member i combines block i of all contributions, in the order of the same tree, then the blocks are
//! exchanged (two exchanges). So the bits of a result depend on ranks and operands alone.

use super::algorithm::shares::equal_share;
use super::coherence::check_vectors;
use super::exchange::{Call, Contribution, Flow, Piece, exchange};
use super::forms::{self, Vectors};
use super::operand::Operand;
use super::operation::is_user;
use super::policy;
use super::tree::combine_members;
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
    if policy::leaves_board(process.communicator(comm)?, Some(bytes)) {
        drop(process);
        return by_form();
    }
    // SAFETY: the caller's promise.
    unsafe { by_blocks(&mut process, Primitive::Allreduce, comm, &operand, None, data, to, bytes) }
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
    if policy::leaves_board(process.communicator(comm)?, Some(bytes)) {
        drop(process);
        return by_form();
    }
    // SAFETY: the caller's promise.
    unsafe { by_blocks(&mut process, Primitive::Reduce, comm, &operand, Some(at), data, to, bytes) }
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

/// Every member combines a block; the blocks are put together at the root, or at all.
#[allow(clippy::too_many_arguments)]
unsafe fn by_blocks(
    process: &mut Guard,
    primitive: Primitive,
    comm: MPI_Comm,
    operand: &Operand,
    root: Option<u32>,
    data: *const u8,
    to: *mut u8,
    bytes: usize,
) -> MpiResult<()> {
    let communicator = process.communicator(comm)?;
    let (rank, size) = (communicator.rank, communicator.size);
    if let Some(at) = root.filter(|_| nic_emu::policy::root_combines(process.port.is_crowded(), size)) {
        let call = Call { primitive, comm, root, flow: Flow::ToRoot, most_bytes: bytes, operation: (0, 0) };
        let own = Contribution { data, bytes };
        let (members, result) = if rank == at { (0..size, (to, bytes)) } else { (0..0, (to, 0)) };
        // SAFETY: the caller's promise: the root's place for the result has so many bytes.
        return unsafe { combine_members(process, &call, operand, own, 0, members, result) };
    }
    let elements = bytes / operand.extent;
    let share = equal_share(rank, size, elements);
    let (start, count) = (share.start, share.len());
    let call = Call { primitive, comm, root, flow: Flow::Between, most_bytes: bytes, operation: (0, 0) };
    let own = Contribution { data, bytes };
    let mut elsewhere = Vec::new();
    let (at, block_bytes) = (start * operand.extent, count * operand.extent);
    let block = if to.is_null() {
        elsewhere.resize(block_bytes, 0);
        elsewhere.as_mut_ptr()
    } else {
        to.wrapping_add(at)
    };
    // SAFETY: the caller's promise; the block lies within the caller's vector, or is as long.
    unsafe { combine_members(process, &call, operand, own, at, 0..size, (block, block_bytes))? };
    let most = equal_share(0, size, elements).len() * operand.extent;
    let flow = if root.is_some() { Flow::ToRoot } else { Flow::Between };
    let call = Call { most_bytes: most, flow, ..call };
    let own = Contribution { data: block, bytes: block_bytes };
    let mut pieces: Vec<Piece> = if to.is_null() {
        Vec::new()
    } else {
        (0..size)
            .filter(|&member| member != rank)
            .map(|member| {
                let share = equal_share(member, size, elements);
                let (at, bytes) = (share.start * operand.extent, share.len() * operand.extent);
                // SAFETY: the share lies within the vector.
                Piece::all_of(member, bytes, unsafe { to.add(at) })
            })
            .collect()
    };
    // SAFETY: the blocks are disjoint parts of the caller's vector.
    unsafe { exchange(process, &call, own, &mut pieces) }
}

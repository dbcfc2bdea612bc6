//! MPI_Bcast (MPI-5.0, §6.4).
//!
//! Up to a slab, by the NIC's Collective Helper: the root's bytes are buffered and it goes on; each member gets them as soon as it and the
//! root are there. Larger messages by an exchange in which all read from the root at once.

use super::block::Agreed;
use super::buffers::bytes_of;
use super::exchange::{Call, Contribution, Flow, Piece, exchange};
use super::forms;
use super::policy;
use crate::communicator::meeting::{Arrival, arrive, released, waiting_in};
use crate::constants::*;
use crate::datatype::buffer::{Incoming, NAMES, Outgoing};
use crate::datatype::tag_of;
use crate::error::MpiResult;
use crate::process::{self, Guard};
use mds::Primitive;
use nic_emu::board::Board;
use nic_emu::descriptor::CollectiveKind;
use nic_emu::port::{PortError, Release};
use nic_emu::slab::SLAB_BYTES;
use std::ffi::{c_int, c_void};

/// Sends the root's buffer to all members.
///
/// # Safety
/// `buffer` must be valid for `count` elements of `datatype`: readable at the root, writable elsewhere.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn bcast(
    buffer: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> MpiResult<()> {
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let bytes = bytes_of(&process.datatypes, count, datatype);
    if communicator.is_inter() || policy::leaves_nic(communicator, bytes) {
        drop(process);
        let call = forms::Call::blocking(Primitive::Bcast, comm);
        // SAFETY: the caller's promise.
        return unsafe { forms::bcast(call, buffer, count, datatype, root).map(drop) };
    }
    let (root, rank, size) = (communicator.root(root)?, communicator.rank, communicator.size);
    let signature = Agreed::new(0, tag_of(&process.datatypes, count, datatype)).signature;
    if rank == root {
        // SAFETY: the caller's promise.
        let outgoing = unsafe { Outgoing::new(&process.datatypes, &NAMES, buffer, count, datatype)? };
        if size == 1 {
            return Ok(());
        }
        // SAFETY: as above; `outgoing` lives until the call is over.
        return unsafe {
            from_root(&mut process, Primitive::Bcast, comm, root, signature, (outgoing.data, outgoing.bytes))
        };
    }
    // SAFETY: the caller's promise.
    let incoming = unsafe { Incoming::new(&process.datatypes, &NAMES, buffer, count, datatype)? };
    // SAFETY: as above.
    unsafe {
        let all = (0, incoming.bytes);
        to_member(&mut process, Primitive::Bcast, comm, root, signature, incoming.data, all, incoming.bytes)?;
    };
    if let Some(staged) = &incoming.staged {
        // SAFETY: the caller's promise.
        unsafe { staged.unpack(incoming.bytes) };
    }
    Ok(())
}

/// The root's part: gives its bytes; `operation` is what members have to say alike of their datatype.
///
/// # Safety
/// `data` must be readable for `bytes` bytes.
pub(super) unsafe fn from_root(
    process: &mut Guard,
    primitive: Primitive,
    comm: MPI_Comm,
    root: u32,
    operation: (u8, u8),
    (data, bytes): (*const u8, usize),
) -> MpiResult<()> {
    if bytes <= SLAB_BYTES {
        let arrival = Arrival { kind: CollectiveKind::Broadcast, operation, root, ..Arrival::default() };
        // SAFETY: the caller's promise; up to a slab nothing is read after this.
        unsafe { arrive(process, primitive, comm, &arrival, data, bytes, false)? };
        return Ok(());
    }
    let call = Call { primitive, comm, root: Some(root), flow: Flow::FromRoot, most_bytes: bytes, operation };
    // SAFETY: the caller's promise.
    unsafe { exchange(process, &call, Contribution { data, bytes }, &mut []) }
}

/// Another member's part: takes `bytes` bytes, from `offset` on, of the `message` bytes that the root gives.
///
/// # Safety
/// `to` must be writable for `bytes` bytes.
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn to_member(
    process: &mut Guard,
    primitive: Primitive,
    comm: MPI_Comm,
    root: u32,
    operation: (u8, u8),
    to: *mut u8,
    (offset, bytes): (usize, usize),
    message: usize,
) -> MpiResult<()> {
    if message > SLAB_BYTES {
        let call =
            Call { primitive, comm, root: Some(root), flow: Flow::FromRoot, most_bytes: message, operation };
        let mut pieces = [Piece::of(root, (offset, bytes), to)];
        // SAFETY: the caller's promise.
        return unsafe { exchange(process, &call, Contribution::NOTHING, &mut pieces) };
    }
    let arrival = Arrival { kind: CollectiveKind::Broadcast, operation, root, ..Arrival::default() };
    let what = waiting_in(process.communicator(comm)?, primitive, Some(root), bytes);
    // SAFETY: a member that is not the root contributes nothing.
    let request = unsafe { arrive(process, primitive, comm, &arrival, std::ptr::null(), message, true)? };
    let Some(request) = request else { return Ok(()) };
    match released(process, &what, request)? {
        Release::Result(payload) => {
            let room = payload.len().saturating_sub(offset).min(bytes);
            // SAFETY: `to` is the caller's promise; the payload has `offset + room` bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(payload.as_ptr().add(offset.min(payload.len())), to, room)
            };
        }
        Release::Instance(instance) => {
            let memory = process.port.memory().clone();
            let board = Board::new(&memory, instance).map_err(PortError::from)?;
            let from = board.root().unwrap_or(0);
            let there = (board.bytes(from) as usize).saturating_sub(offset).min(bytes);
            // SAFETY: the caller's promise.
            unsafe { board.read(from, offset, to, there) }.map_err(PortError::from)?;
            board.depart(instance).map_err(PortError::from)?;
        }
    }
    Ok(())
}

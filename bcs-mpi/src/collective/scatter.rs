//! MPI_Scatter and MPI_Scatterv (MPI-5.0, §6.6): every member takes its block of the root's contribution. As a broadcast of which each
//! takes a part.

use super::block::Agreed;
use super::broadcast::{from_root, to_member};
use super::buffers::{Blocks, ENTRY_BYTES, SendBlocks, bytes_of, misfit, place_own};
use super::coherence::check_own_of_root;
use super::exchange::{Call, Contribution, Flow, Piece, exchange};
use super::forms;
use super::gather::{All, Own, most};
use super::policy;
use crate::constants::*;
use crate::datatype::buffer::{Incoming, RECEIVE_NAMES, SEND_NAMES};
use crate::datatype::tag_of;
use crate::error::MpiResult;
use crate::process::{self, Guard};
use mds::Primitive;
use std::ffi::{c_int, c_void};

/// Brings every member its block of the root's.
///
/// # Safety
/// Buffers must be valid for what their counts say; `all` matters at the root only.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn scatter(
    primitive: Primitive,
    all: &All<*const c_void>,
    own: &Own<*mut c_void>,
    root: c_int,
    comm: MPI_Comm,
) -> MpiResult<()> {
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let each = match all.blocks {
        Blocks::Vector(..) => None,
        Blocks::Equal(count) if u32::try_from(root) == Ok(communicator.rank) => {
            Some(bytes_of(&process.datatypes, count, all.datatype))
        }
        Blocks::Equal(_) => Some(bytes_of(&process.datatypes, own.count, own.datatype)),
    };
    // The root's blocks travel together.
    let all_bytes = each.map_or(usize::MAX, |each| each.saturating_mul(communicator.size as usize));
    if communicator.is_inter() || policy::leaves_nic(communicator, all_bytes) {
        drop(process);
        // SAFETY: the caller's promise.
        return unsafe {
            forms::scatter(forms::Call::blocking(primitive, comm), &all.into(), own, root).map(drop)
        };
    }
    let (root, rank, size) = (communicator.root(root)?, communicator.rank, communicator.size);
    let is_vector = matches!(all.blocks, Blocks::Vector(..));
    let tag = match all.blocks {
        Blocks::Equal(count) if rank == root => tag_of(&process.datatypes, count, all.datatype),
        _ => tag_of(&process.datatypes, own.count, own.datatype),
    };
    let signature = Agreed::new(0, tag).signature;
    if rank == root {
        // SAFETY: the caller's promise.
        let send = unsafe {
            SendBlocks::new(
                &process.datatypes,
                &SEND_NAMES,
                all.buffer,
                &all.blocks,
                size as usize,
                all.datatype,
            )?
        };
        if own.buffer != MPI_IN_PLACE {
            // SAFETY: as above.
            unsafe { check_own_of_root(&process.datatypes, own, &all.into(), size as usize)? };
            // SAFETY: as above.
            let mut incoming = unsafe {
                Incoming::new(&process.datatypes, &RECEIVE_NAMES, own.buffer, own.count, own.datatype)?
            };
            let (offset, bytes) = send.blocks[rank as usize];
            if bytes != incoming.bytes {
                return Err(misfit(bytes, incoming.bytes, root));
            }
            // SAFETY: as above.
            unsafe { place_own(send.data.wrapping_add(offset), bytes, &mut incoming) };
        }
        if size == 1 {
            return Ok(());
        }
        if is_vector {
            // SAFETY: as above; `send` lives until the exchange is over.
            return unsafe { give_blocks(&mut process, primitive, comm, root, &send) };
        }
        // SAFETY: as above.
        return unsafe { from_root(&mut process, primitive, comm, root, signature, (send.data, send.bytes)) };
    }
    // SAFETY: the caller's promise.
    let incoming =
        unsafe { Incoming::new(&process.datatypes, &RECEIVE_NAMES, own.buffer, own.count, own.datatype)? };
    if is_vector {
        // SAFETY: as above.
        unsafe { take_block(&mut process, primitive, comm, root, &incoming)? };
    } else {
        let (bytes, message) = (incoming.bytes, incoming.bytes * size as usize);
        let offset = rank as usize * bytes;
        // SAFETY: as above.
        unsafe {
            to_member(
                &mut process,
                primitive,
                comm,
                root,
                signature,
                incoming.data,
                (offset, bytes),
                message,
            )?;
        };
    }
    if let Some(staged) = &incoming.staged {
        // SAFETY: as above.
        unsafe { staged.unpack(incoming.bytes) };
    }
    Ok(())
}

/// The root's part when members do not know where their blocks lie: a table of offsets and lengths first, then the blocks.
unsafe fn give_blocks(
    process: &mut Guard,
    primitive: Primitive,
    comm: MPI_Comm,
    root: u32,
    send: &SendBlocks,
) -> MpiResult<()> {
    let table = send.table();
    // SAFETY: the table lives until the exchange is over.
    unsafe { from_root(process, primitive, comm, root, (0, 0), (table.as_ptr(), table.len()))? };
    let most_bytes = most(process, primitive, comm, send.bytes)?;
    if most_bytes == 0 {
        return Ok(());
    }
    let call =
        Call { primitive, comm, root: Some(root), flow: Flow::FromRoot, most_bytes, operation: (0, 0) };
    // SAFETY: the caller's promise.
    unsafe { exchange(process, &call, Contribution { data: send.data, bytes: send.bytes }, &mut []) }
}

/// Another member's part of [`give_blocks`].
unsafe fn take_block(
    process: &mut Guard,
    primitive: Primitive,
    comm: MPI_Comm,
    root: u32,
    incoming: &Incoming,
) -> MpiResult<()> {
    let communicator = process.communicator(comm)?;
    let (rank, size) = (communicator.rank as usize, communicator.size as usize);
    let mut entry = [0u64; 2];
    let (to, from) = (entry.as_mut_ptr().cast(), (rank * ENTRY_BYTES, ENTRY_BYTES));
    // SAFETY: the entry has its bytes.
    unsafe { to_member(process, primitive, comm, root, (0, 0), to, from, size * ENTRY_BYTES)? };
    let most_bytes = most(process, primitive, comm, 0)?;
    if most_bytes == 0 {
        return Ok(());
    }
    let call =
        Call { primitive, comm, root: Some(root), flow: Flow::FromRoot, most_bytes, operation: (0, 0) };
    let [offset, sent] = entry.map(|number| number as usize);
    let mut piece = Piece::of(root, (offset, sent.min(incoming.bytes)), incoming.data);
    let pieces = if piece.bytes > 0 { std::slice::from_mut(&mut piece) } else { &mut [] };
    // SAFETY: the caller's promise.
    unsafe { exchange(process, &call, Contribution::NOTHING, pieces)? };
    // Others count on this member's part in the exchange, so the error comes last.
    if sent != incoming.bytes { Err(misfit(sent, incoming.bytes, root)) } else { Ok(()) }
}

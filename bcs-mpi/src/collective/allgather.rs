//! MPI_Allgather and MPI_Allgatherv (MPI-5.0, §6.7): every member takes every block from the board. One exchange.

use super::block::Agreed;
use super::buffers::{Blocks, ReceiveBlocks, bytes_of, element_at, misfit, place_own, stride};
use super::coherence::check_own;
use super::exchange::{Call, Contribution, Flow, check_all_taken, exchange};
use super::forms;
use super::gather::{All, Own, others};
use super::policy;
use crate::constants::*;
use crate::datatype::buffer::{Outgoing, RECEIVE_NAMES, SEND_NAMES};
use crate::datatype::{Datatypes, tag_of};
use crate::error::MpiResult;
use crate::process;
use mds::Primitive;
use std::ffi::c_void;

/// Brings every member's block to all.
///
/// # Safety
/// Buffers must be valid for what their counts say.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn allgather(
    primitive: Primitive,
    own: &Own<*const c_void>,
    all: &All<*mut c_void>,
    comm: MPI_Comm,
) -> MpiResult<()> {
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let each = match all.blocks {
        Blocks::Vector(..) => None,
        Blocks::Equal(count) => Some(bytes_of(&process.datatypes, count, all.datatype)),
    };
    if communicator.is_inter() || policy::leaves_board(communicator, each) {
        drop(process);
        // SAFETY: the caller's promise.
        return unsafe {
            forms::allgather(forms::Call::blocking(primitive, comm), own, &all.into()).map(drop)
        };
    }
    let (rank, size) = (communicator.rank, communicator.size);
    // SAFETY: the caller's promise.
    let mut receive = unsafe {
        ReceiveBlocks::new(
            &process.datatypes,
            &RECEIVE_NAMES,
            all.buffer,
            &all.blocks,
            size as usize,
            all.datatype,
        )?
    };
    let mine = &mut receive.blocks[rank as usize];
    let in_place = own.buffer == MPI_IN_PLACE.cast_const();
    let outgoing = if in_place {
        let (buffer, count) = place_of(&process.datatypes, all, rank);
        // SAFETY: as above: the block of this member lies in its receive buffer.
        unsafe { Outgoing::new(&process.datatypes, &RECEIVE_NAMES, buffer, count, all.datatype)? }
    } else {
        // SAFETY: the caller's promise.
        unsafe { check_own(&process.datatypes, own, &all.into(), size as usize)? };
        // SAFETY: as above.
        unsafe { Outgoing::new(&process.datatypes, &SEND_NAMES, own.buffer, own.count, own.datatype)? }
    };
    if outgoing.bytes != mine.bytes {
        return Err(misfit(outgoing.bytes, mine.bytes, rank));
    }
    if in_place {
        // This member's block is where it goes.
        mine.staged = None;
    } else {
        // SAFETY: as above.
        unsafe { place_own(outgoing.data, outgoing.bytes, mine) };
    }
    let most_bytes = receive.blocks.iter().map(|block| block.bytes).max().unwrap_or(0);
    let mut pieces = Vec::new();
    if most_bytes > 0 && size > 1 {
        let tag = match all.blocks {
            Blocks::Vector(..) => 0,
            Blocks::Equal(count) => tag_of(&process.datatypes, count, all.datatype),
        };
        let operation = Agreed::new(0, tag).signature;
        let call = Call { primitive, comm, root: None, flow: Flow::Between, most_bytes, operation };
        pieces = receive.pieces(others(rank, size));
        let contribution = Contribution { data: outgoing.data, bytes: outgoing.bytes };
        // SAFETY: as above.
        unsafe { exchange(&mut process, &call, contribution, &mut pieces)? };
    }
    // SAFETY: as above.
    unsafe { receive.unpack() };
    check_all_taken(&pieces)
}

/// Where a member's block lies in the receive buffer, and its elements.
fn place_of(datatypes: &Datatypes, all: &All<*mut c_void>, rank: u32) -> (*const c_void, i64) {
    let extent = stride(datatypes, all.datatype);
    let (count, at) = match all.blocks {
        Blocks::Equal(count) => (count, count.saturating_mul(rank as i64)),
        // SAFETY: `ReceiveBlocks::new` has read the same arrays.
        Blocks::Vector(counts, displacements) => unsafe {
            (counts.at(rank as usize), displacements.at(rank as usize))
        },
    };
    (element_at(all.buffer.cast_const().cast(), at, extent).cast(), count)
}

//! MPI_Gather and MPI_Gatherv (MPI-5.0, §6.5): the root takes every member's block from the board. One exchange; with small blocks only
//! the root waits.

use super::block::Agreed;
use super::buffers::{Blocks, ReceiveBlocks, bytes_of, misfit};
use super::coherence::check_own;
use super::exchange::{Call, Contribution, Flow, check_all_taken, exchange};
use super::forms;
use super::policy;
use crate::communicator::meeting::{Arrival, meet};
use crate::constants::*;
use crate::datatype::buffer::{Outgoing, RECEIVE_NAMES, SEND_NAMES, copy_to, layout_of};
use crate::datatype::tag_of;
use crate::error::MpiResult;
use crate::process::{self, Guard};
use mds::Primitive;
use nic_emu::arith::{ElementType, ReduceOp};
use nic_emu::descriptor::CollectiveKind;
use nic_emu::port::Release;
use std::ffi::{c_int, c_void};

/// A member's own buffer in a gather, an allgather or a scatter.
#[derive(Clone, Copy, Debug)]
pub struct Own<P> {
    /// Its address, or MPI_IN_PLACE.
    pub buffer: P,
    /// Its elements.
    pub count: i64,
    /// Their type.
    pub datatype: MPI_Datatype,
}

impl Own<*mut c_void> {
    /// The same, to be looked at.
    pub fn as_const(&self) -> Own<*const c_void> {
        Own { buffer: self.buffer.cast_const(), count: self.count, datatype: self.datatype }
    }
}

/// The root's blocks.
#[derive(Clone, Copy, Debug)]
pub struct All<P> {
    /// The address that blocks are placed from.
    pub buffer: P,
    /// Where they lie.
    pub blocks: Blocks,
    /// The type of their elements.
    pub datatype: MPI_Datatype,
}

/// The largest of a number over all members: what sizes the exchange when members know only their own.
///
/// # Errors
/// The NIC fails.
pub(super) fn most(process: &mut Guard, call: Primitive, comm: MPI_Comm, own: usize) -> MpiResult<usize> {
    let operation = (ReduceOp::Max as u8, ElementType::U64 as u8);
    let arrival = Arrival { kind: CollectiveKind::Allreduce, operation, ..Arrival::default() };
    match meet(process, call, comm, &arrival, &(own as u64).to_ne_bytes())? {
        Some(Release::Result(payload)) => {
            Ok(u64::from_ne_bytes(payload[..8].try_into().expect("eight bytes")) as usize)
        }
        _ => Ok(own),
    }
}

/// Brings every member's block to the root.
///
/// # Safety
/// Buffers must be valid for what their counts say; `all` matters at the root only.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn gather(
    primitive: Primitive,
    own: &Own<*const c_void>,
    all: &All<*mut c_void>,
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
    if communicator.is_inter() || policy::leaves_board(communicator, each) {
        drop(process);
        // SAFETY: the caller's promise.
        return unsafe {
            forms::gather(forms::Call::blocking(primitive, comm), own, &all.into(), root).map(drop)
        };
    }
    let (root, rank, size) = (communicator.root(root)?, communicator.rank, communicator.size);
    let is_vector = matches!(all.blocks, Blocks::Vector(..));
    let tag = match all.blocks {
        Blocks::Vector(..) => 0,
        Blocks::Equal(count) if rank == root => tag_of(&process.datatypes, count, all.datatype),
        Blocks::Equal(_) => tag_of(&process.datatypes, own.count, own.datatype),
    };
    let operation = Agreed::new(0, tag).signature;
    if rank != root {
        // SAFETY: the caller's promise.
        let outgoing =
            unsafe { Outgoing::new(&process.datatypes, &SEND_NAMES, own.buffer, own.count, own.datatype)? };
        let most_bytes =
            if is_vector { most(&mut process, primitive, comm, outgoing.bytes)? } else { outgoing.bytes };
        if most_bytes == 0 {
            return Ok(());
        }
        let call = Call { primitive, comm, root: Some(root), flow: Flow::ToRoot, most_bytes, operation };
        let contribution = Contribution { data: outgoing.data, bytes: outgoing.bytes };
        // SAFETY: as above; `outgoing` lives until the exchange is over.
        return unsafe { exchange(&mut process, &call, contribution, &mut []) };
    }
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
    let in_place = own.buffer == MPI_IN_PLACE.cast_const();
    let mine = &mut receive.blocks[rank as usize];
    if in_place {
        // The root's block is where it goes.
        mine.staged = None;
    } else {
        // SAFETY: as above.
        unsafe { check_own(&process.datatypes, own, &all.into(), size as usize)? };
        let (datatypes, buffer) = (&process.datatypes, own.buffer);
        let (layout, bytes) = layout_of(datatypes, &SEND_NAMES, buffer, own.count, own.datatype, "sent")?;
        if bytes != mine.bytes {
            return Err(misfit(bytes, mine.bytes, rank));
        }
        // SAFETY: as above.
        unsafe { copy_to(&layout, buffer.cast(), mine) };
    }
    let room = receive.blocks.iter().map(|block| block.bytes).max().unwrap_or(0);
    let most_bytes = if is_vector && size > 1 { most(&mut process, primitive, comm, room)? } else { room };
    let mut pieces = Vec::new();
    if most_bytes > 0 && size > 1 {
        let call = Call { primitive, comm, root: Some(root), flow: Flow::ToRoot, most_bytes, operation };
        pieces = receive.pieces(others(rank, size));
        // SAFETY: as above.
        unsafe { exchange(&mut process, &call, Contribution::NOTHING, &mut pieces)? };
    }
    // SAFETY: as above.
    unsafe { receive.unpack() };
    check_all_taken(&pieces)
}

/// All members but one.
pub(super) fn others(rank: u32, size: u32) -> impl Iterator<Item = u32> {
    (1..size).map(move |step| (rank + step) % size)
}

//! Calls that move data: their arguments, checked and resolved into blocks (MPI-5.0, §6.3 to §6.8).

use super::super::algorithm;
use super::super::coherence::{check, check_kinds};
use super::super::futures::{self, broadcast};
use super::super::inter;
use super::at_once;
use super::call::{Call, Form};
use crate::collective::{Agreed, Block, Buffer, Everyone, Pattern, Side};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::buffer::{Elements, NAMES};
use crate::process::{self, Guard, Process};
use nic_emu::memory::numbers::CommRank;
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
        return call.launch(&mut process, 0, |sides: inter::Sides| algorithm::barrier(sides.remote));
    }
    if call.form != Form::Blocking {
        return call.launch(&mut process, 0, algorithm::barrier);
    }
    meet(&mut process, call)
}

/// The members of an intracommunicator meet, in a call that blocks; answers a null request.
///
/// # Errors
/// No such communicator, members have announced what does not fit, or the NIC fails.
#[inline(always)]
pub fn meet(process: &mut Guard, call: Call) -> MpiResult<MPI_Request> {
    if process.communicator(call.comm)?.size == 1 || at_once::barrier(process, call)? {
        return call.done();
    }
    call.launch(process, 0, futures::synchronize)
}

/// MPI_Ibcast and its kin.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn bcast(call: Call, buffer: &Elements<*mut c_void>, root: c_int) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        return inter::bcast(&mut process, call, buffer, root);
    }
    let root = communicator.member("root", root)?;
    let action = if communicator.rank == root { "sent" } else { "received" };
    let block = buffer.block(&process, &NAMES, action)?;
    if at_once::broadcast(&mut process, call, &block, root)? {
        return call.done();
    }
    let bytes = block.bytes;
    call.launch(&mut process, bytes, move |party| broadcast(party, block.clone(), root))
}

/// A member's own block, nothing where it is in place, and those of all, if the argument matters; whether it
/// is in place, and what members have to say alike.
fn blocks<P: Buffer, Q: Buffer>(
    process: &Process,
    own: &Elements<P>,
    (all, matters): (&Everyone<Q>, bool),
    (rank, size): (CommRank, usize),
) -> MpiResult<(Side, Side, bool, Agreed)> {
    let is_in_place = matters && own.is_in_place();
    let side = if matters { all.side(process, size)? } else { Side::NOTHING };
    if matters && !is_in_place {
        check(&process.datatypes, (&own.alone(), 1), (all, size))?;
    }
    let block = if is_in_place { None } else { Some(own.block(process, &P::NAMES, P::ACTION)?) };
    let (own, kind) = (block.as_ref().map(Block::agreed), side.kind_of_elements());
    let agreed = all.agreed(own.unwrap_or_else(|| side.agreed(rank.0)));
    if let Some(own) = own.filter(|_| agreed.differs && kind != (0, 0)) {
        check_kinds(own, kind)?;
    }
    let has_none = agreed.differs && agreed.signature == (0, 0);
    let agreed = if has_none { Agreed { signature: kind, ..agreed } } else { agreed };
    Ok((block.map_or(Side::NOTHING, Side::same), side, is_in_place, agreed))
}

/// MPI_Igather, MPI_Iscatter, their v forms and their kin: which way the blocks go, their buffers say.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn rooted<P: Buffer, Q: Buffer>(
    call: Call,
    own: &Elements<P>,
    all: &Everyone<Q>,
    root: c_int,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        return inter::rooted(&mut process, call, own, all, root);
    }
    let (root, rank, size) =
        (communicator.member("root", root)?, communicator.rank, communicator.size as usize);
    let (own, all, is_in_place, agreed) = blocks(&process, own, (all, rank == root), (rank, size))?;
    let (pattern, sides) =
        if Q::SENDS { (Pattern::Scatter(root), (all, own)) } else { (Pattern::Gather(root), (own, all)) };
    bring(&mut process, call, pattern, sides, is_in_place, agreed)
}

/// MPI_Iallgather, MPI_Iallgatherv and their kin.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn allgather(
    call: Call,
    own: &Elements<*const c_void>,
    all: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        return inter::allgather(&mut process, call, own, all);
    }
    let (rank, size) = (communicator.rank, communicator.size as usize);
    let (own, all, is_in_place, agreed) = blocks(&process, own, (all, true), (rank, size))?;
    let own = if is_in_place { Side::same(all.block(rank.0)) } else { own };
    bring(&mut process, call, Pattern::Allgather, (own, all), is_in_place, agreed)
}

/// MPI_Ialltoall, MPI_Ialltoallv, MPI_Alltoallw and their kin.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn alltoall(
    call: Call,
    send: &Everyone<*const c_void>,
    receive: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        return inter::alltoall(&mut process, call, send, receive);
    }
    let size = communicator.size as usize;
    let is_in_place = send.buffer == MPI_IN_PLACE.cast_const();
    let incoming = receive.side(&process, size)?;
    let outgoing = if is_in_place {
        incoming.clone()
    } else {
        check(&process.datatypes, (send, size), (receive, size))?;
        send.side(&process, size)?
    };
    // What goes one way between two members may be of another type than what goes the other way.
    let agreed = if receive.each().is_some() { incoming.agreed(0) } else { Agreed::EACH_ITS_OWN };
    bring(&mut process, call, Pattern::Alltoall, (outgoing, incoming), is_in_place, agreed)
}

/// Starts the movement of the blocks that this member gives and takes.
fn bring(
    process: &mut Guard,
    call: Call,
    pattern: Pattern,
    sides: (Side, Side),
    is_in_place: bool,
    agreed: Agreed,
) -> MpiResult<MPI_Request> {
    if at_once::bring(process, call, pattern, &sides, is_in_place, agreed)? {
        return call.done();
    }
    let blocks = if pattern.gives_the_same() { 1 } else { process.communicator(call.comm)?.size };
    let bytes = agreed.of_all(blocks).unwrap_or(0);
    call.launch(process, bytes, move |party| {
        futures::bring(party, pattern, sides.clone(), is_in_place, agreed)
    })
}

//! Calls that move data between the groups of an intercommunicator: their arguments, checked and resolved
//! into blocks (MPI-5.0, §6.3 to §6.8).

use super::super::forms::Call;
use super::broadcast::broadcast;
use super::exchange::{Alike, Ends, exchange};
use super::sides::{Role, Sides, refuse_in_place};
use crate::collective::{Agreed, Block, Buffer, Everyone, Side};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::buffer::{Elements, NAMES};
use crate::process::{Guard, Process};
use std::ffi::{c_int, c_void};

/// A member's own block.
fn own_block<P: Buffer>(process: &Process, own: &Elements<P>) -> MpiResult<Block> {
    refuse_in_place(P::NAMES[0], own.buffer.address())?;
    own.block(process, &P::NAMES, P::ACTION)
}

/// A block for every member of the other group.
fn all_blocks<P: Buffer>(process: &Process, all: &Everyone<P>, members: u32) -> MpiResult<Ends> {
    refuse_in_place(P::NAMES[0], all.buffer.address())?;
    Ok(Ends { side: all.side(process, members as usize)?, peers: 0..members })
}

/// MPI_Bcast and its kin.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn bcast(
    process: &mut Guard,
    call: Call,
    buffer: &Elements<*mut c_void>,
    root: c_int,
) -> MpiResult<MPI_Request> {
    let role = Role::of(process.communicator(call.comm)?, root)?;
    let action = match role {
        Role::Idle => return call.launch(process, 0, Sides::idle),
        Role::Root => "sent",
        Role::Of(_) => "received",
    };
    refuse_in_place(NAMES[0], buffer.buffer.cast_const())?;
    let block = buffer.block(process, &NAMES, action)?;
    call.launch(process, 0, move |sides| broadcast(sides, block.clone(), role))
}

/// MPI_Gather, MPI_Scatter, their v forms and their kin: which way the blocks go, their buffers say.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn rooted<P: Buffer, Q: Buffer>(
    process: &mut Guard,
    call: Call,
    own: &Elements<P>,
    all: &Everyone<Q>,
    root: c_int,
) -> MpiResult<MPI_Request> {
    let communicator = process.communicator(call.comm)?;
    let (role, peers) = (Role::of(communicator, root)?, communicator.peer_count);
    let (ends, sends) = match role {
        Role::Idle => return call.launch(process, 0, Sides::idle),
        Role::Root => (all_blocks(process, all, peers)?, Q::SENDS),
        Role::Of(root) => {
            (Ends { side: Side::same(own_block(process, own)?), peers: root.0..root.0 + 1 }, P::SENDS)
        }
    };
    let (bytes, tag) = ends.side.about(0);
    let alike = Alike::Rooted(role, all.agreed(Agreed::new(bytes, tag)));
    let (outgoing, incoming) = if sends { (ends, Ends::NONE) } else { (Ends::NONE, ends) };
    launch(process, call, alike, outgoing, incoming)
}

/// MPI_Allgather, MPI_Allgatherv and their kin.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn allgather(
    process: &mut Guard,
    call: Call,
    own: &Elements<*const c_void>,
    all: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let peers = process.communicator(call.comm)?.peer_count;
    let (own, incoming) = (own_block(process, own)?, all_blocks(process, all, peers)?);
    let outgoing = Ends { side: Side::same(own), peers: 0..peers };
    launch(process, call, Alike::each_way(all), outgoing, incoming)
}

/// MPI_Alltoall, its v and w forms and their kin.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn alltoall(
    process: &mut Guard,
    call: Call,
    send: &Everyone<*const c_void>,
    receive: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let peers = process.communicator(call.comm)?.peer_count;
    let (outgoing, incoming) = (all_blocks(process, send, peers)?, all_blocks(process, receive, peers)?);
    launch(process, call, Alike::each_way(receive), outgoing, incoming)
}

/// Blocks that go across, and blocks that come.
fn launch(
    process: &mut Guard,
    call: Call,
    alike: Alike,
    outgoing: Ends,
    incoming: Ends,
) -> MpiResult<MPI_Request> {
    call.launch(process, 0, move |sides| exchange(sides, alike, outgoing.clone(), incoming.clone()))
}

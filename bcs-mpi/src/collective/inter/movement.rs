//! Calls that move data between the groups of an intercommunicator: their arguments, checked and resolved
//! into blocks (MPI-5.0, §6.3 to §6.8).

use super::super::block::{Block, Places, blocks};
use super::super::buffers::{Blocks, Everyone, Own};
use super::super::forms::{Call, agreed};
use super::algorithm::{self, Alike, Ends};
use super::{Role, refuse_in_place};
use crate::constants::*;
use crate::datatype::buffer::{NAMES, Names, RECEIVE_NAMES, SEND_NAMES};
use crate::error::MpiResult;
use crate::process::{Guard, Process};
use std::ffi::{c_int, c_void};

/// What both groups have to say alike where each gives to the other, of blocks that lie like this.
fn each_way(places: &Places) -> Alike {
    match places {
        Places::Of(Blocks::Equal(_), _) => Alike::EachWay,
        _ => Alike::Nothing,
    }
}

/// A member's own block.
///
/// # Safety
/// As [`Block::new`].
unsafe fn own_block(
    process: &Process,
    names: &Names,
    own: &Own<*const c_void>,
    action: &'static str,
) -> MpiResult<Block> {
    refuse_in_place(names[0], own.buffer)?;
    // SAFETY: the caller's promise.
    unsafe { Block::new(process, names, own.buffer, own.count, own.datatype, action) }
}

/// A block for every member of the other group.
///
/// # Safety
/// As [`blocks`].
unsafe fn all_blocks(
    process: &Process,
    names: &Names,
    (buffer, places): (*const c_void, &Places),
    members: u32,
    action: &'static str,
) -> MpiResult<Vec<Block>> {
    refuse_in_place(names[0], buffer)?;
    // SAFETY: the caller's promise.
    unsafe { blocks(process, names, buffer, places, members as usize, action) }
}

/// MPI_Barrier and its kin: complete when all members of the other group have called it.
///
/// # Errors
/// The NIC fails.
pub fn barrier(process: &mut Guard, call: Call) -> MpiResult<MPI_Request> {
    call.launch(process, algorithm::barrier)
}

/// MPI_Bcast and its kin.
///
/// # Safety
/// The buffer must be valid for its elements until the operation is complete.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn bcast(
    process: &mut Guard,
    call: Call,
    own: &Own<*const c_void>,
    root: c_int,
) -> MpiResult<MPI_Request> {
    let role = Role::of(process.communicator(call.comm)?, root)?;
    let action = match role {
        Role::Idle => return call.launch(process, algorithm::idle),
        Role::Root => "sent",
        Role::Of(_) => "received",
    };
    // SAFETY: the caller's promise.
    let block = unsafe { own_block(process, &NAMES, own, action)? };
    call.launch(process, move |sides| algorithm::broadcast(sides, block.clone(), role))
}

/// MPI_Gather, MPI_Gatherv and their kin.
///
/// # Safety
/// Buffers must be valid for what their counts say until the operation is complete; `all` matters at the
/// root, `own` in the other group.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn gather(
    process: &mut Guard,
    call: Call,
    own: &Own<*const c_void>,
    all: &Everyone<*mut c_void>,
    root: c_int,
) -> MpiResult<MPI_Request> {
    let communicator = process.communicator(call.comm)?;
    let (role, peers) = (Role::of(communicator, root)?, communicator.peer_count);
    match role {
        Role::Idle => call.launch(process, algorithm::idle),
        Role::Root => {
            let from = (all.buffer.cast_const(), &all.places);
            // SAFETY: the caller's promise.
            let blocks = unsafe { all_blocks(process, &RECEIVE_NAMES, from, peers, "received")? };
            let agreed = agreed(all, blocks.first().map(Block::agreed));
            let incoming = Ends { blocks, peers: 0..peers };
            launch(process, call, Alike::Rooted(role, agreed), Ends::default(), incoming)
        }
        Role::Of(root) => {
            // SAFETY: as above.
            let block = unsafe { own_block(process, &SEND_NAMES, own, "sent")? };
            let agreed = agreed(all, Some(block.agreed()));
            let outgoing = Ends { blocks: vec![block], peers: root..root + 1 };
            launch(process, call, Alike::Rooted(role, agreed), outgoing, Ends::default())
        }
    }
}

/// MPI_Scatter, MPI_Scatterv and their kin.
///
/// # Safety
/// Buffers must be valid for what their counts say until the operation is complete; `all` matters at the
/// root, `own` in the other group.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn scatter(
    process: &mut Guard,
    call: Call,
    all: &Everyone<*const c_void>,
    own: &Own<*mut c_void>,
    root: c_int,
) -> MpiResult<MPI_Request> {
    let communicator = process.communicator(call.comm)?;
    let (role, peers) = (Role::of(communicator, root)?, communicator.peer_count);
    match role {
        Role::Idle => call.launch(process, algorithm::idle),
        Role::Root => {
            let to = (all.buffer, &all.places);
            // SAFETY: the caller's promise.
            let blocks = unsafe { all_blocks(process, &SEND_NAMES, to, peers, "sent")? };
            let agreed = agreed(all, blocks.first().map(Block::agreed));
            let outgoing = Ends { blocks, peers: 0..peers };
            launch(process, call, Alike::Rooted(role, agreed), outgoing, Ends::default())
        }
        Role::Of(root) => {
            // SAFETY: as above.
            let block = unsafe { own_block(process, &RECEIVE_NAMES, &own.as_const(), "received")? };
            let agreed = agreed(all, Some(block.agreed()));
            let incoming = Ends { blocks: vec![block], peers: root..root + 1 };
            launch(process, call, Alike::Rooted(role, agreed), Ends::default(), incoming)
        }
    }
}

/// MPI_Allgather, MPI_Allgatherv and their kin.
///
/// # Safety
/// Buffers must be valid for what their counts say until the operation is complete.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn allgather(
    process: &mut Guard,
    call: Call,
    own: &Own<*const c_void>,
    all: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let peers = process.communicator(call.comm)?.peer_count;
    let alike = each_way(&all.places);
    let all = (all.buffer.cast_const(), &all.places);
    // SAFETY: the caller's promise.
    let (own, all) = unsafe {
        (
            own_block(process, &SEND_NAMES, own, "sent")?,
            all_blocks(process, &RECEIVE_NAMES, all, peers, "received")?,
        )
    };
    let (outgoing, incoming) =
        (Ends { blocks: vec![own], peers: 0..peers }, Ends { blocks: all, peers: 0..peers });
    launch(process, call, alike, outgoing, incoming)
}

/// MPI_Alltoall, its v and w forms and their kin.
///
/// # Safety
/// Buffers must be valid for what their counts say until the operation is complete.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn alltoall(
    process: &mut Guard,
    call: Call,
    send: &Everyone<*const c_void>,
    receive: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let peers = process.communicator(call.comm)?.peer_count;
    let alike = each_way(&receive.places);
    let receive = (receive.buffer.cast_const(), &receive.places);
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        (
            all_blocks(process, &SEND_NAMES, (send.buffer, &send.places), peers, "sent")?,
            all_blocks(process, &RECEIVE_NAMES, receive, peers, "received")?,
        )
    };
    let (outgoing, incoming) =
        (Ends { blocks: send, peers: 0..peers }, Ends { blocks: receive, peers: 0..peers });
    launch(process, call, alike, outgoing, incoming)
}

/// Blocks that go across, and blocks that come.
fn launch(
    process: &mut Guard,
    call: Call,
    alike: Alike,
    outgoing: Ends,
    incoming: Ends,
) -> MpiResult<MPI_Request> {
    call.launch(process, move |sides| algorithm::exchange(sides, alike, outgoing.clone(), incoming.clone()))
}

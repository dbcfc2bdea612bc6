//! Neighbourhood calls: their arguments, checked and resolved into a block an edge (MPI-5.0, §8.6).

use super::super::algorithm::{Neighbours, neighbour_exchange};
use super::super::block::{Block, blocks};
use super::super::gather::Own;
use super::{Call, Everyone};
use crate::constants::*;
use crate::datatype::buffer::{RECEIVE_NAMES, SEND_NAMES};
use crate::error::MpiResult;
use crate::process::{self, Process};
use crate::topology::{self, Topology};
use std::ffi::{c_int, c_void};

/// The edges of this process in the communicator's topology.
fn edges(process: &Process, comm: MPI_Comm) -> MpiResult<Neighbours> {
    let (sources, destinations) = topology::neighbours(process, comm)?;
    let ranks = |of: Vec<c_int>| of.into_iter().map(|rank| u32::try_from(rank).ok()).collect();
    let is_grid = matches!(process.communicator(comm)?.topology, Some(Topology::Cartesian(_)));
    Ok(Neighbours { sources: ranks(sources), destinations: ranks(destinations), is_grid })
}

/// MPI_Neighbor_allgather, MPI_Neighbor_allgatherv and their kin: the same block to every destination.
///
/// # Safety
/// Buffers must be valid for what their counts say until the operation is complete.
///
/// # Errors
/// Wrong arguments, a communicator without a topology, or the NIC fails.
pub unsafe fn neighbour_allgather(
    call: Call,
    own: &Own<*const c_void>,
    all: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let edges = edges(&process, call.comm)?;
    let members = edges.sources.len();
    // SAFETY: the caller's promise.
    let (receive, own) = unsafe {
        (
            blocks(&process, &RECEIVE_NAMES, all.buffer, &all.places, members, "received")?,
            Block::new(&process, &SEND_NAMES, own.buffer, own.count, own.datatype, "sent")?,
        )
    };
    let send = vec![own; edges.destinations.len()];
    call.launch(&mut process, move |party| {
        neighbour_exchange(party, edges.clone(), send.clone(), receive.clone())
    })
}

/// MPI_Neighbor_alltoall, its v and w forms and their kin: a block of its own to every destination.
///
/// # Safety
/// Buffers must be valid for what their counts say until the operation is complete.
///
/// # Errors
/// Wrong arguments, a communicator without a topology, or the NIC fails.
pub unsafe fn neighbour_alltoall(
    call: Call,
    send: &Everyone<*const c_void>,
    receive: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let edges = edges(&process, call.comm)?;
    let (from, to) = (edges.sources.len(), edges.destinations.len());
    // SAFETY: the caller's promise.
    let (incoming, outgoing) = unsafe {
        (
            blocks(&process, &RECEIVE_NAMES, receive.buffer, &receive.places, from, "received")?,
            blocks(&process, &SEND_NAMES, send.buffer, &send.places, to, "sent")?,
        )
    };
    call.launch(&mut process, move |party| {
        neighbour_exchange(party, edges.clone(), outgoing.clone(), incoming.clone())
    })
}

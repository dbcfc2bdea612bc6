//! Neighbourhood calls: their arguments, checked and resolved into a block an edge (MPI-5.0, §8.6).

use super::super::algorithm::{AlongEdges, neighbour_exchange};
use super::super::neighbourhood;
use super::call::{Call, Form};
use crate::collective::{Everyone, Side};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::buffer::{Elements, SEND_NAMES};
use crate::process::{self, Guard};
use crate::progress::{Joins, Party};
use std::ffi::c_void;
use std::rc::Rc;

/// MPI_Neighbor_allgather, MPI_Neighbor_allgatherv and their kin: the same block to every destination.
///
/// # Errors
/// Wrong arguments, a communicator without a topology, or the NIC fails.
pub fn neighbour_allgather(
    call: Call,
    own: &Elements<*const c_void>,
    all: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let neighbours = process.communicator(call.comm)?.neighbours()?;
    let receive = all.side(&process, neighbours.sources)?;
    let send = Side::same(own.block(&process, &SEND_NAMES, "sent")?);
    launch(&mut process, call, AlongEdges { neighbours, send, receive })
}

/// MPI_Neighbor_alltoall, its v and w forms and their kin: a block of its own to every destination.
///
/// # Errors
/// Wrong arguments, a communicator without a topology, or the NIC fails.
pub fn neighbour_alltoall(
    call: Call,
    send: &Everyone<*const c_void>,
    receive: &Everyone<*mut c_void>,
) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let neighbours = process.communicator(call.comm)?.neighbours()?;
    let receive = receive.side(&process, neighbours.sources)?;
    let send = send.side(&process, neighbours.destinations)?;
    launch(&mut process, call, AlongEdges { neighbours, send, receive })
}

fn launch(process: &mut Guard, call: Call, exchange: AlongEdges) -> MpiResult<MPI_Request> {
    if call.form == Form::Blocking {
        let party = Party::join(&mut process.communicators, call.comm, call.primitive, true)?;
        neighbourhood::exchange(process, party, exchange)?;
        return call.done();
    }
    let exchange = Rc::new(exchange);
    call.launch(process, 0, move |party| neighbour_exchange(party, exchange.clone()))
}

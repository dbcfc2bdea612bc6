//! Blocking neighbourhood collectives on one node (MPI-5.0, §8.6): blocks go straight to the neighbours, along the edges of the topology in NIC memory
//! ([`nic_emu::edge`]), without a slice of the NIC. One step.
//!
//! Every block is put before any is taken, and what is lent is read without its owner, so members do not wait for each other in a circle.

use super::algorithm::{Exchange, neighbour_exchange};
use crate::error::{MpiError, MpiResult};
use crate::process::Guard;
use crate::progress::party::Party;
use crate::progress::task::drive;
use crate::topology::wiring::{Wires, Wiring, wire};
use nic_emu::edge::{Arrived, EdgeReader, EdgeWriter};
use nic_emu::mismatch::{End, tell_edge};
use nic_emu::port::{PortError, Put, Take};
use nic_emu::status::{Room, WaitingFor};
use std::mem::replace;
use std::rc::Rc;

/// Sends block j to destination j, and receives block i from source i.
///
/// # Errors
/// The two ends of an edge do not fit; the NIC fails.
pub fn exchange(process: &mut Guard, party: Party, exchange: Exchange) -> MpiResult {
    let party = party.in_neighbourhood();
    let what = party.waiting();
    if !party.is_on_one_node() || party.size == 1 || !process.port.uses_edges() {
        return drive(process, &what, neighbour_exchange(party, Rc::new(exchange)));
    }
    let mut wires = match replace(&mut process.communicator_mut(party.comm)?.wiring, Wiring::InUse) {
        Wiring::Made(wires) => wires,
        Wiring::Unmade => drive(process, &what, wire(party.clone(), exchange.neighbours.clone()))?,
        // Another thread is in such a call, which only a program does that is wrong.
        Wiring::InUse => return drive(process, &what, neighbour_exchange(party, Rc::new(exchange))),
    };
    let result = along(process, &party, &what, &exchange, &mut wires);
    match process.communicator_mut(party.comm) {
        Ok(communicator) => communicator.wiring = Wiring::Made(wires),
        Err(_) => wires.close(&mut process.port),
    }
    result
}

/// The messages that a call has under way.
type Requests = Vec<u32>;

fn along(
    process: &mut Guard,
    party: &Party,
    what: &WaitingFor,
    exchange: &Exchange,
    wires: &mut Wires,
) -> MpiResult {
    let Exchange { neighbours, send, receive } = exchange;
    let (outgoing, landings) = (send.wires(), receive.landings());
    let (mut requests, mut lent) = (Requests::new(), Vec::new());
    for (edge, _) in neighbours.incoming.iter().zip(&wires.incoming).filter(|(_, wire)| wire.is_none()) {
        let (signature, bytes) = (receive.signature(edge.block), receive.bytes(edge.block));
        let to = landings.at(edge.block);
        // SAFETY: the promise of `Side::new`; all requests are complete when this call returns.
        requests.push(unsafe { party.receive_along(process, edge.peer, signature, to, bytes)? });
    }
    for (i, (edge, wire)) in neighbours.outgoing.iter().zip(&mut wires.outgoing).enumerate() {
        let (signature, bytes) = (send.signature(edge.block), send.bytes(edge.block));
        let from = outgoing.at(edge.block);
        let put = match wire {
            // SAFETY: the promise of `Side::new`; what is lent was read when this call returns.
            Some(wire) => unsafe { put(process, party, what, wire, signature, (from, bytes))? },
            None => Put::AsMessage,
        };
        match put {
            Put::Lent => lent.push(i),
            Put::AsMessage => {
                // SAFETY: as above; all requests are complete when this call returns.
                requests.extend(unsafe { party.send_along(process, edge.peer, signature, from, bytes)? });
            }
            Put::Buffered | Put::Full => {}
        }
    }
    exchange.copy_own(party, process)?;
    for (edge, wire) in neighbours.incoming.iter().zip(&mut wires.incoming) {
        let Some(wire) = wire else { continue };
        let (signature, bytes) = (receive.signature(edge.block), receive.bytes(edge.block));
        let to = landings.at(edge.block);
        // SAFETY: the promise of `Side::new`.
        if !unsafe { take(process, party, what, wire, edge.peer, signature, (to, bytes))? } {
            // SAFETY: as above.
            requests.push(unsafe { party.receive_along(process, edge.peer, signature, to, bytes)? });
        }
    }
    for i in lent {
        let (edge, Some(wire)) = (neighbours.outgoing[i], &wires.outgoing[i]) else { continue };
        let shared = process.is_shared();
        process.port.watch_lent(wire, shared)?;
        if !process.wait(what, |process| Ok(process.port.was_read(wire)?))? {
            let (signature, bytes) = (send.signature(edge.block), send.bytes(edge.block));
            let from = outgoing.at(edge.block);
            // SAFETY: as above.
            requests.extend(unsafe { party.send_along(process, edge.peer, signature, from, bytes)? });
        }
    }
    let count = requests.len();
    for request in requests {
        process.wait_for(request, (party.call(), count), |process| Ok(process.port.test(request)?))?;
    }
    neighbours.incoming.iter().for_each(|edge| receive.land(&landings, edge.block));
    Ok(())
}

/// Puts a block on an edge.
unsafe fn put(
    process: &mut Guard,
    party: &Party,
    what: &WaitingFor,
    edge: &mut EdgeWriter,
    signature: u16,
    (data, bytes): (*const u8, usize),
) -> MpiResult<Put> {
    loop {
        // SAFETY: the caller's promise.
        match unsafe { process.port.put_along(edge, party.check(signature), data, bytes)? } {
            Put::Full => {
                let what = WaitingFor { room: Room::Edge, ..*what };
                process.wait(&what, |process| Ok(process.port.edge_has_room(edge)?.then_some(())))?;
            }
            put => return Ok(put),
        }
    }
}

/// Takes a block from an edge; false when it comes as a message.
unsafe fn take(
    process: &mut Guard,
    party: &Party,
    what: &WaitingFor,
    edge: &mut EdgeReader,
    peer: u32,
    signature: u16,
    (to, bytes): (*mut u8, usize),
) -> MpiResult<bool> {
    let arrived = match process.port.arrived_along(edge)? {
        Some(arrived) => arrived,
        None => {
            let shared = process.is_shared();
            process.port.watch_edge(edge, shared)?;
            process.wait(what, |process| Ok(process.port.arrived_along(edge)?))?
        }
    };
    if arrived.bytes != bytes as u64 || !arrived.check.fits(party.check(signature)) {
        return Err(misfit(process, party, &arrived, peer, signature, bytes));
    }
    // SAFETY: the caller's promise; the message has as many bytes.
    let mut take = unsafe { process.port.take_along(edge, &arrived, to)? };
    if take == Take::Partly {
        take = process.wait(what, |process| {
            // SAFETY: as above.
            let take = unsafe { process.port.take_along(edge, &arrived, to)? };
            Ok((take != Take::Partly).then_some(take))
        })?;
    }
    Ok(take == Take::Whole)
}

#[cold]
fn misfit(
    process: &Guard,
    party: &Party,
    arrived: &Arrived,
    peer: u32,
    signature: u16,
    bytes: usize,
) -> MpiError {
    let sender = End { rank: party.job_rank(peer), check: arrived.check, bytes: arrived.bytes };
    let check = party.check(signature);
    let receiver = End { rank: process.place.rank, check, bytes: bytes as u64 };
    tell_edge(process.port.memory(), party.context(), &sender, &receiver);
    PortError::Aborted.into()
}

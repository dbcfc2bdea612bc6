//! Blocking neighbourhood collectives on one node (MPI-5.0, §8.6): blocks go straight to the neighbours,
//! along the edges of the topology in NIC memory ([`nic_emu::edge`]), without a slice of the NIC. One
//! step.
//!
//! Every block is put before any is taken, so members do not wait for each other in a circle.
//!
//! The wiring ([`crate::object::topology::wiring`]) is made when a communicator has its first such call:
//! every member opens an edge for each of those that it receives along, and tells the sender which. It goes
//! with the communicator.

use super::algorithm::{AlongEdges, misfit, neighbour_exchange};
use super::side;
use crate::error::MpiResult;
use crate::object::topology::Neighbours;
use crate::object::topology::wiring::{EdgeEnds, Wiring};
use crate::process::{Guard, Process, drive, with};
use crate::progress::{Join, Joins, Memory, Party, Pending};
use bcs_core::LocalRank;
use mds::Primitive;
use nic_emu::descriptor::Check;
use nic_emu::edge::{EdgeReader, EdgeWriter};
use nic_emu::memory::numbers::CommRank;
use nic_emu::mismatch::EdgeEnd;
use nic_emu::port::{Put, Take};
use nic_emu::status::{Room, WaitingFor};
use std::mem::replace;
use std::rc::Rc;
use std::sync::Arc;

/// Sends block j to destination j, and receives block i from source i.
///
/// # Errors
/// The two ends of an edge do not fit; the NIC fails.
pub fn exchange(process: &mut Guard, party: Party, exchange: AlongEdges) -> MpiResult {
    let party = party.tagged_as(Primitive::NeighborAlltoall);
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

fn along(
    process: &mut Guard,
    party: &Party,
    what: &WaitingFor,
    exchange: &AlongEdges,
    wires: &mut EdgeEnds,
) -> MpiResult {
    let AlongEdges { neighbours, send, receive } = exchange;
    let (outgoing, landings) = (send.wires()?, receive.landings()?);
    let mut messages = Join::new();
    let moved = put_and_take(process, party, what, exchange, wires, (&outgoing, &landings), &mut messages);
    // Also where that has failed.
    drive(process, what, messages.all())?;
    moved?;
    neighbours.incoming.iter().for_each(|edge| receive.land(&landings, edge.block));
    Ok(())
}

/// Puts every block on its edge, and takes those of others; answers what goes by messages in `messages`. What
/// goes, and where it does, has to live until these are complete.
fn put_and_take(
    process: &mut Guard,
    party: &Party,
    what: &WaitingFor,
    exchange: &AlongEdges,
    wires: &mut EdgeEnds,
    (outgoing, landings): (&side::Wires, &side::Wires),
    messages: &mut Join<'_, Pending>,
) -> MpiResult {
    let AlongEdges { neighbours, send, receive } = exchange;
    let sent = |block: u32| (outgoing.at(block), party.check(send.signature(block)));
    let wanted = |block: u32| (landings.at(block), party.check(receive.signature(block)));
    for (edge, _) in neighbours.incoming.iter().zip(&wires.incoming).filter(|(_, wire)| wire.is_none()) {
        messages.add(party.receive_checked(process, edge.peer, wanted(edge.block))?);
    }
    for (edge, wire) in neighbours.outgoing.iter().zip(&mut wires.outgoing) {
        let block = sent(edge.block);
        let put = match wire {
            Some(wire) => put(process, party, what, wire, block)?,
            None => Put::AsMessage,
        };
        if put == Put::AsMessage {
            messages.add(party.send_checked(process, edge.peer, block)?);
        }
    }
    exchange.copy_own(party, process)?;
    for (edge, wire) in neighbours.incoming.iter().zip(&mut wires.incoming) {
        let Some(wire) = wire else { continue };
        let block = wanted(edge.block);
        if !take(process, party, what, wire, edge.peer, block)? {
            messages.add(party.receive_checked(process, edge.peer, block)?);
        }
    }
    Ok(())
}

/// What a wait along an edge has found, if its communicator is whole: at the other end nobody may come.
fn found<T>(process: &Process, party: &Party, found: Option<T>) -> MpiResult<Option<T>> {
    if found.is_none() {
        process.port.check_whole(party.context())?;
    }
    Ok(found)
}

/// Puts a block on an edge.
fn put(
    process: &mut Guard,
    party: &Party,
    what: &WaitingFor,
    edge: &mut EdgeWriter,
    (data, check): (Memory, Check),
) -> MpiResult<Put> {
    loop {
        // SAFETY: the promise of `Memory::new`.
        match unsafe { process.port.put_along(edge, check, data.first(), data.bytes())? } {
            Put::Full => {
                let what = WaitingFor { room: Room::Edge, ..*what };
                process.wait(&what, |process| {
                    let has_room = process.port.edge_has_room(edge)?;
                    found(process, party, has_room.then_some(()))
                })?;
            }
            put => return Ok(put),
        }
    }
}

/// Takes a block from an edge; false when it comes as a message.
fn take(
    process: &mut Guard,
    party: &Party,
    what: &WaitingFor,
    edge: &mut EdgeReader,
    peer: CommRank,
    (to, check): (Memory, Check),
) -> MpiResult<bool> {
    let arrived = match process.port.arrived_along(edge)? {
        Some(arrived) => arrived,
        None => {
            let shared = process.is_shared();
            process.port.watch_edge(edge, shared)?;
            process.wait(what, |process| {
                let arrived = process.port.arrived_along(edge)?;
                found(process, party, arrived)
            })?
        }
    };
    let sender = EdgeEnd { rank: party.job_rank(peer), check: arrived.check, bytes: arrived.bytes };
    let receiver = EdgeEnd { rank: process.place.rank, check, bytes: to.bytes() as u64 };
    if !sender.fits(&receiver) {
        return Err(misfit(process, party, &sender, &receiver));
    }
    // SAFETY: the promise of `Memory::new`; the message has as many bytes.
    let mut look = |process: &mut Process| unsafe { process.port.take_along(edge, &arrived, to.first()) };
    let mut take = look(process)?;
    if take == Take::Partly {
        take = process.wait(what, |process| Ok(Some(look(process)?).filter(|take| *take != Take::Partly)))?;
    }
    Ok(take == Take::Whole)
}

/// Opens the edges to a process and tells their senders; learns of those from it. All members do so in the
/// same call.
///
/// # Errors
/// The NIC fails.
async fn wire(party: Party, neighbours: Arc<Neighbours>) -> MpiResult<Box<EdgeEnds>> {
    let party = party.tagged_as(Primitive::NeighborAllgather);
    let local = |process: &Process, peer: CommRank| -> MpiResult<Option<LocalRank>> {
        Ok(process.port.memory().local_rank(party.job_rank(peer))?)
    };
    let mut incoming = Vec::with_capacity(neighbours.incoming.len());
    for edge in &neighbours.incoming {
        incoming.push(with(|process| match local(process, edge.peer)? {
            Some(sender) => Ok(process.port.open_edge(sender)?),
            None => Ok(None),
        })?);
    }
    // 1 + the number of the edge, or 0.
    let tell = |edge: &Option<EdgeReader>| edge.as_ref().map_or(0, |edge| edge.edge + 1).to_ne_bytes();
    let told: Vec<[u8; 4]> = incoming.iter().map(tell).collect();
    let mut heard = vec![[0u8; 4]; neighbours.outgoing.len()];
    let mut join = Join::new();
    for (edge, number) in neighbours.outgoing.iter().zip(&mut heard) {
        join.receive(&party, edge.peer, number)?;
    }
    for (edge, number) in neighbours.incoming.iter().zip(&told) {
        join.send(&party, edge.peer, number)?;
    }
    join.all().await?;
    let mut outgoing = Vec::with_capacity(heard.len());
    for (edge, number) in neighbours.outgoing.iter().zip(heard) {
        let receiver = with(|process| local(process, edge.peer))?;
        let number = u32::from_ne_bytes(number).checked_sub(1);
        outgoing.push(receiver.zip(number).map(|(receiver, number)| EdgeWriter::new(receiver, number)));
    }
    Ok(Box::new(EdgeEnds { incoming: incoming.into(), outgoing: outgoing.into() }))
}

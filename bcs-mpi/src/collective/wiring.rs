//! How a topology's communicator is wired ([`crate::object::topology::wiring`]).
//!
//! Wiring is made when a blocking neighbourhood collective is called for the first time: every member opens
//! an edge for each of those that it receives along, and tells the sender which. It goes with the
//! communicator.

use crate::error::MpiResult;
use crate::object::topology::Neighbours;
use crate::object::topology::wiring::EdgeEnds;
use crate::process::Process;
use crate::process::task::with;
use crate::progress::{Join, Party};
use nic_emu::edge::{EdgeReader, EdgeWriter};
use nic_emu::port::PortError;
use std::sync::Arc;

/// Opens the edges to a process and tells their senders; learns of those from it. All members do so in the
/// same call.
///
/// # Errors
/// The NIC fails.
pub async fn wire(party: Party, neighbours: Arc<Neighbours>) -> MpiResult<Box<EdgeEnds>> {
    let party = party.for_wiring();
    let local = |process: &Process, peer: u32| -> MpiResult<Option<u32>> {
        let rank = party.job_rank(peer);
        Ok(process.port.memory().local_index(rank).map_err(PortError::from)?)
    };
    let mut incoming = Vec::with_capacity(neighbours.incoming.len());
    for edge in &neighbours.incoming {
        incoming.push(with(|process| match local(process, edge.peer)? {
            Some(sender) => Ok(process.port.open_edge(sender)?),
            None => Ok(None),
        })?);
    }
    // 1 + the number of the edge, or 0; and how many messages have gone along it before.
    let told: Vec<[u8; 8]> = incoming.iter().map(|edge| told(edge.as_ref()).to_ne_bytes()).collect();
    let mut heard = vec![[0u8; 8]; neighbours.outgoing.len()];
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
        let heard = u64::from_ne_bytes(number);
        let number = (heard as u32).checked_sub(1);
        let writer = |(receiver, number)| EdgeWriter::new(receiver, number, (heard >> 32) as u32);
        outgoing.push(receiver.zip(number).map(writer));
    }
    Ok(Box::new(EdgeEnds { incoming: incoming.into(), outgoing: outgoing.into() }))
}

fn told(edge: Option<&EdgeReader>) -> u64 {
    edge.map_or(0, |edge| (edge.edge as u64 + 1) | (edge.taken as u64) << 32)
}

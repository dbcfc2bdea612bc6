//! Wiring: the edges of a topology's communicator in NIC memory ([`nic_emu::edge`]), where all members are on one node.
//!
//! It is made when a blocking neighbourhood collective is called for the first time: every member opens an edge for each of those that it receives
//! along, and tells the sender which. It goes with the communicator.

use super::neighbours::Neighbours;
use crate::error::MpiResult;
use crate::process::Process;
use crate::progress::members::Members;
use crate::progress::party::Party;
use crate::progress::pending::Join;
use crate::progress::task::with;
use nic_emu::edge::{EdgeReader, EdgeWriter};
use nic_emu::port::{Port, PortError};
use std::sync::Arc;

/// The edges of a communicator, as this process knows them.
#[derive(Debug, Default)]
pub enum Wiring {
    /// Nobody has asked for them yet.
    #[default]
    Unmade,
    /// A call uses them.
    InUse,
    /// They are there.
    Made(Box<Wires>),
}

/// Both ends' edges, in the order of [`Neighbours`]; none where what goes along them goes as messages.
#[derive(Debug)]
pub struct Wires {
    /// Those that this process receives along.
    pub incoming: Box<[Option<EdgeReader>]>,
    /// Those that it sends along.
    pub outgoing: Box<[Option<EdgeWriter>]>,
}

impl Wires {
    /// Closes the edges: all that came along them was taken.
    pub fn close(&self, port: &mut Port) {
        self.incoming.iter().flatten().for_each(|edge| port.close_edge(edge));
    }
}

/// Opens the edges to a process and tells their senders; learns of those from it. All members do so in the same call.
///
/// # Errors
/// The NIC fails.
pub async fn wire(party: Party, neighbours: Arc<Neighbours>) -> MpiResult<Box<Wires>> {
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
        // SAFETY: the numbers live until the join is complete.
        join.add(unsafe { party.post_receive(edge.peer, number.as_mut_ptr(), number.len())? });
    }
    for (edge, number) in neighbours.incoming.iter().zip(&told) {
        // SAFETY: as above.
        join.add(unsafe { party.post_send(edge.peer, number.as_ptr(), number.len())? });
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
    Ok(Box::new(Wires { incoming: incoming.into(), outgoing: outgoing.into() }))
}

fn told(edge: Option<&EdgeReader>) -> u64 {
    edge.map_or(0, |edge| (edge.edge as u64 + 1) | (edge.taken as u64) << 32)
}

//! Neighbourhood collectives of all kinds (MPI-5.0, §8.6): a message along every edge of the topology.
//! One step.
//!
//! The calls of both ends, their sizes and signatures are compared where the messages are matched.

use crate::collective::Side;
use crate::error::{MpiError, MpiResult};
use crate::object::topology::Neighbours;
use crate::process::{Process, with};
use crate::progress::{Join, Party};
use mds::Primitive;
use nic_emu::mismatch::{EdgeEnd, report_of_edge};
use nic_emu::port::PortError;
use std::rc::Rc;
use std::sync::Arc;

/// What a call exchanges: resolved once, and kept as long as the operation, and each later start of it,
/// is under way.
#[derive(Debug)]
pub struct AlongEdges {
    /// With whom.
    pub neighbours: Arc<Neighbours>,
    /// What is sent.
    pub send: Side,
    /// What is received.
    pub receive: Side,
}

impl AlongEdges {
    /// Copies what goes along edges of the process to itself.
    ///
    /// # Errors
    /// Its two ends do not fit.
    pub fn copy_own(&self, party: &Party, process: &mut Process) -> MpiResult {
        let rank = process.place.rank;
        for &(to, from) in &self.neighbours.own {
            let end = |side: &Side, block: u32| EdgeEnd {
                rank,
                check: party.check(side.signature(block)),
                bytes: side.bytes(block) as u64,
            };
            let (sender, receiver) = (end(&self.send, to), end(&self.receive, from));
            if !sender.fits(&receiver) {
                return Err(misfit(process, party, &sender, &receiver));
            }
            self.send.block(to).copy_to(&self.receive.block(from), party.rank)?;
        }
        Ok(())
    }
}

/// Sends block j to destination j, and receives block i from source i.
///
/// # Errors
/// The two ends of an edge do not fit; the NIC fails.
pub async fn neighbour_exchange(party: Party, exchange: Rc<AlongEdges>) -> MpiResult {
    let party = party.tagged_as(Primitive::NeighborAlltoall);
    let AlongEdges { neighbours, send, receive } = &*exchange;
    let mut join = Join::new();
    let (landings, wires) = (receive.landings()?, send.wires()?);
    for edge in &neighbours.incoming {
        let place = (landings.at(edge.block), party.check(receive.signature(edge.block)));
        join.add(with(|process| party.receive_checked(process, edge.peer, place))?);
    }
    for edge in &neighbours.outgoing {
        let block = (wires.at(edge.block), party.check(send.signature(edge.block)));
        join.add(with(|process| party.send_checked(process, edge.peer, block))?);
    }
    let copied = with(|process| exchange.copy_own(&party, process));
    join.all().await?;
    copied?;
    for edge in &neighbours.incoming {
        receive.land(&landings, edge.block);
    }
    Ok(())
}

/// The error of a communicator that the two ends of an edge break.
#[cold]
pub fn misfit(process: &mut Process, party: &Party, sender: &EdgeEnd, receiver: &EdgeEnd) -> MpiError {
    let report = report_of_edge(party.context(), sender, receiver);
    let broken = process.port.break_context(party.context(), &report);
    match broken.and_then(|()| process.port.check_whole(party.context())) {
        Err(error) => error.into(),
        // There was no room to note it: the job is over.
        Ok(()) => PortError::Aborted.into(),
    }
}

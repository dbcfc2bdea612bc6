//! Alltoall, of all kinds: every member takes its block of every other's, as [`policy`](super::super::policy)
//! says: from a board, in an exchange, or as messages, beginning with the next member. One step, in which a
//! member sends each of the n - 1 others its block.

use super::super::block::Agreed;
use super::super::policy::{self, BlocksWay};
use super::super::side::Side;
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::exchange::{Contribution, Destination};
use crate::progress::party::Party;
use crate::progress::pending::Join;
use crate::progress::released::take_board;
use crate::progress::task::with;

/// Brings block j of member i to place i at member j. `send` is none where it is in place: then blocks of
/// `receive` are exchanged.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn alltoall(party: Party, send: Option<Side>, receive: Side, agreed: Agreed) -> MpiResult {
    let (rank, size) = (party.rank, party.size);
    let placed = match &send {
        Some(send) => send.copy_own(rank, &receive),
        None => Ok(()),
    };
    let outgoing = send.as_ref().unwrap_or(&receive);
    let way = policy::way_of_blocks(&party, agreed, agreed.bytes.saturating_mul(size as usize));
    let arrival = Arrival { operation: agreed.signature, most_bytes: agreed.bytes, ..Arrival::default() };
    let landings = receive.landings();
    if way == BlocksWay::Board {
        let row = outgoing.in_a_row(size);
        // SAFETY: the row lives until the message is buffered.
        let release = unsafe { party.meet(&arrival, row.data(), row.bytes(), true) }.await?;
        if let Some(release) = release {
            let own = rank as usize * agreed.bytes..(rank as usize + 1) * agreed.bytes;
            let pieces = party.others().map(|member| (member, own.clone(), landings.at(member)));
            // SAFETY: the landings have as many bytes.
            with(|process| unsafe { take_board(process, release, row.bytes(), pieces) })?;
        }
    } else {
        // In place, what is sent goes before anything arrives where it was.
        let wires = if send.is_some() { outgoing.wires() } else { outgoing.snapshots(size) };
        if way == BlocksWay::Exchange {
            let exchange = party.exchange(&arrival).await?;
            let readers: Vec<u32> = party.others().collect();
            let blocks: Vec<_> = (0..size).map(|member| (wires.at(member), outgoing.bytes(member))).collect();
            let place = |member: &u32| (*member, landings.at(*member), receive.bytes(*member));
            let destinations: Vec<Destination> = readers.iter().map(place).collect();
            // SAFETY: wires and landings live until the step is over.
            unsafe { exchange.move_blocks(Contribution::blocks(&blocks, &readers), &destinations).await? };
        } else {
            party.announce(0, agreed.signature, agreed.bytes)?;
            let mut join = Join::new();
            for member in party.others().filter(|member| agreed.is_message(receive.bytes(*member))) {
                let (to, bytes) = (landings.at(member), receive.bytes(member));
                // SAFETY: the landings live until the join is complete.
                join.add(unsafe { party.post_receive(member, to, bytes)? }.exactly());
            }
            for member in party.others().filter(|member| agreed.is_message(outgoing.bytes(*member))) {
                // SAFETY: the wires live until the join is complete.
                join.add(unsafe { party.post_send(member, wires.at(member), outgoing.bytes(member))? });
            }
            join.all().await?;
        }
    }
    for member in party.others() {
        receive.land(&landings, member);
    }
    placed
}

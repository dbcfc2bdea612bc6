//! Allgather: every member takes every other's block, as [`policy`](super::super::policy) says: from a board,
//! in an exchange, or as messages that cross the network once for a node ([`super::to_all`]).

use super::super::block::{Agreed, Block};
use super::super::policy::{self, BlocksWay};
use super::super::side::Side;
use super::to_all::to_all;
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::exchange::{Contribution, Destination};
use crate::progress::party::Party;
use crate::progress::released::take_board;
use crate::progress::task::with;

/// Brings every member's block to all. `own` is none where it is in place: then it is this member's of `all`.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn allgather(party: Party, own: Option<Block>, all: Side, agreed: Agreed) -> MpiResult {
    let rank = party.rank;
    let placed = own.as_ref().map_or(Ok(()), |own| all.take_own(rank, own, rank));
    let wire = own.as_ref().map_or_else(|| all.wire(rank), Block::wire);
    let landings = all.landings();
    let way = policy::way_of_blocks(&party, agreed, agreed.bytes);
    let arrival = Arrival { operation: agreed.signature, most_bytes: agreed.bytes, ..Arrival::default() };
    match way {
        BlocksWay::Board => {
            // SAFETY: the wire lives until the message is buffered.
            let release = unsafe { party.meet(&arrival, wire.data(), wire.bytes(), true) }.await?;
            if let Some(release) = release {
                let pieces = party.others().map(|member| (member, 0..agreed.bytes, landings.at(member)));
                // SAFETY: the landings have as many bytes.
                with(|process| unsafe { take_board(process, release, agreed.bytes, pieces) })?;
            }
        }
        BlocksWay::Exchange => {
            let exchange = party.exchange(&arrival).await?;
            let readers: Vec<u32> = party.others().collect();
            let place = |member: &u32| (*member, landings.at(*member), all.bytes(*member));
            let destinations: Vec<Destination> = readers.iter().map(place).collect();
            let contribution = Contribution::whole(wire.data(), wire.bytes(), &readers);
            // SAFETY: wire and landings live until the step is over.
            unsafe { exchange.move_blocks(contribution, &destinations).await? };
        }
        BlocksWay::Messages => {
            party.announce(0, agreed.signature, agreed.bytes)?;
            let place = |member: u32| (landings.at(member), all.bytes(member));
            // SAFETY: wire and landings live until the answer is there.
            unsafe { to_all(&party, (wire.data(), wire.bytes()), place, agreed.differs).await? };
        }
    }
    for member in party.others() {
        all.land(&landings, member);
    }
    placed
}

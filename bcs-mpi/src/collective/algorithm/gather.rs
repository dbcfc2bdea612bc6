//! Gather: the root takes every member's block, as [`policy`](super::super::policy) says: from a board, in an
//! exchange, or as a message from each, for which it has posted all receives. One step; a member sends its
//! block, the root nothing.

use super::super::block::{Agreed, Block, post_wire};
use super::super::policy::{self, BlocksWay};
use super::super::side::Side;
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::exchange::{Contribution, Destination};
use crate::progress::party::Party;
use crate::progress::pending::Join;
use crate::progress::released::take_board;
use crate::progress::task::with;
use std::ptr::null;

/// Brings every member's block to the root. `own` is none where it is in place; `all` matters at the root.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn gather(party: Party, own: Option<Block>, all: Side, root: u32, agreed: Agreed) -> MpiResult {
    let is_root = party.rank == root;
    let placed = match &own {
        Some(own) if is_root => all.take_own(root, own, root),
        _ => Ok(()),
    };
    let wire = own.as_ref().filter(|_| !is_root).map(Block::wire);
    let landings = all.landings();
    let others = party.others().filter(|_| is_root);
    let way = policy::way_of_blocks(&party, agreed, agreed.bytes);
    let arrival =
        Arrival { operation: agreed.signature, root, most_bytes: agreed.bytes, ..Arrival::default() };
    match way {
        BlocksWay::Board => {
            let given = wire.as_ref().map_or((null(), 0), |wire| (wire.data(), wire.bytes()));
            // SAFETY: the wire lives until the message is buffered.
            if let Some(release) = unsafe { party.meet(&arrival, given.0, given.1, is_root) }.await? {
                let pieces = others.map(|member| (member, 0..agreed.bytes, landings.at(member)));
                // SAFETY: the landings have as many bytes.
                with(|process| unsafe { take_board(process, release, agreed.bytes, pieces) })?;
            }
        }
        BlocksWay::Exchange => {
            let exchange = party.exchange(&arrival).await?;
            let destinations: Vec<Destination> =
                others.map(|member| (member, landings.at(member), all.bytes(member))).collect();
            let (given, readers) = match &wire {
                Some(wire) => ((wire.data(), wire.bytes()), vec![root]),
                None => ((null(), 0), Vec::new()),
            };
            let contribution = Contribution::whole(given.0, given.1, &readers);
            // SAFETY: wire and landings live until the step is over.
            unsafe { exchange.move_blocks(contribution, &destinations).await? };
        }
        BlocksWay::Messages => {
            party.announce(root, agreed.signature, agreed.bytes)?;
            let mut join = Join::new();
            if let Some(wire) = wire.filter(|wire| agreed.is_message(wire.bytes())) {
                // SAFETY: the wire lives until the join is complete.
                unsafe { post_wire(&party, &mut join, root, &wire)? };
                return join.all().await;
            }
            for member in others.filter(|member| agreed.is_message(all.bytes(*member))) {
                let (to, bytes) = (landings.at(member), all.bytes(member));
                // SAFETY: the landings live until the join is complete.
                join.add(unsafe { party.post_receive(member, to, bytes)? }.exactly());
            }
            join.all().await?;
        }
    }
    for member in party.others().filter(|_| is_root) {
        all.land(&landings, member);
    }
    placed
}

//! Scatter: every member takes its block of the root's, as [`policy`](super::super::policy) says: from a
//! broadcast of all of them by the NIC, in an exchange, or as a message. One step; the root sends each member
//! its block.

use super::super::block::{Agreed, Block};
use super::super::policy::{self, BlocksWay};
use super::super::side::Side;
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::exchange::{Contribution, Destination};
use crate::progress::party::Party;
use crate::progress::pending::Join;
use nic_emu::descriptor::CollectiveKind;
use std::ptr::{null, null_mut};

/// Brings every member its block of the root's. `own` is none where it is in place; `all` matters at the
/// root.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn scatter(party: Party, all: Side, own: Option<Block>, root: u32, agreed: Agreed) -> MpiResult {
    let (rank, size, is_root) = (party.rank, party.size, party.rank == root);
    let placed = match &own {
        Some(own) if is_root => all.give_own(root, own, root),
        _ => Ok(()),
    };
    let total = agreed.bytes.saturating_mul(size as usize);
    if size > 1 && party.blocks() && (1..=policy::most_on_nic(&party)).contains(&total) {
        let (kind, operation) = (CollectiveKind::Broadcast, agreed.signature);
        let arrival = Arrival { kind, operation, root, ..Arrival::default() };
        if is_root {
            let row = all.in_a_row(size);
            // SAFETY: the row lives until the message is buffered.
            unsafe { party.on_nic(&arrival, (row.data(), total), 0, (null_mut(), 0)).await? };
        } else if let Some(own) = own {
            let landing = own.landing();
            let (from, room) = (rank as usize * agreed.bytes, (landing.data(), own.bytes));
            // SAFETY: the landing lives until the answer is there; nothing is given.
            unsafe { party.on_nic(&arrival, (null(), total), from, room).await? };
            own.land(&landing);
        }
        return placed;
    }
    let landing = own.as_ref().filter(|_| !is_root).map(Block::landing);
    let wires = all.wires();
    if policy::way_of_blocks(&party, agreed, total) == BlocksWay::Exchange {
        let (operation, most_bytes) = (agreed.signature, agreed.bytes);
        let arrival = Arrival { operation, root, most_bytes, ..Arrival::default() };
        let exchange = party.exchange(&arrival).await?;
        let readers: Vec<u32> = party.others().filter(|_| is_root).collect();
        let blocks: Vec<_> =
            (0..size).filter(|_| is_root).map(|member| (wires.at(member), all.bytes(member))).collect();
        let bytes = own.as_ref().map_or(0, |own| own.bytes);
        let destinations: Vec<Destination> =
            landing.iter().map(|landing| (root, landing.data(), bytes)).collect();
        // SAFETY: wires and landing live until the step is over.
        unsafe { exchange.move_blocks(Contribution::blocks(&blocks, &readers), &destinations).await? };
    } else {
        party.announce(root, agreed.signature, agreed.bytes)?;
        let mut join = Join::new();
        if let (Some(own), Some(landing)) = (&own, &landing)
            && agreed.is_message(own.bytes)
        {
            // SAFETY: the landing lives until the join is complete.
            join.add(unsafe { party.post_receive(root, landing.data(), own.bytes)? }.exactly());
        }
        let members = party.others().filter(|_| is_root);
        for member in members.filter(|member| agreed.is_message(all.bytes(*member))) {
            // SAFETY: the wires live until the join is complete.
            join.add(unsafe { party.post_send(member, wires.at(member), all.bytes(member))? });
        }
        join.all().await?;
    }
    if let (Some(own), Some(landing)) = (&own, &landing) {
        own.land(landing);
    }
    placed
}

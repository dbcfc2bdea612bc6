//! Broadcast: by the NIC what [`policy`] says; larger ones in an exchange in which all take from the root at
//! once, or along binomial trees, of the nodes and of the members of each node: log2 N + log2 n steps for N
//! nodes of n members. A block crosses the network once for a node.

use super::super::block::{Block, post_landing, post_wire};
use super::super::policy;
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::nodes::binomial;
use crate::progress::party::Party;
use crate::progress::pending::Join;
use nic_emu::descriptor::CollectiveKind;
use std::ptr::{null, null_mut};

/// Brings the root's block to all.
///
/// # Errors
/// The root sent more than there is room for; the NIC fails.
pub async fn broadcast(party: Party, block: Block, root: u32) -> MpiResult {
    if party.size == 1 {
        return Ok(());
    }
    if block.bytes == 0 {
        return party.announce(root, (0, 0), 0);
    }
    if block.bytes <= policy::most_on_nic(&party) {
        let operation = block.agreed().signature;
        let arrival = Arrival { kind: CollectiveKind::Broadcast, operation, root, ..Arrival::default() };
        if party.rank == root {
            let wire = block.wire();
            // SAFETY: the wire lives until the message is buffered.
            return unsafe { party.on_nic(&arrival, (wire.data(), block.bytes), 0, (null_mut(), 0)).await };
        }
        let landing = block.landing();
        // SAFETY: the landing lives until the answer is there; a member that is not the root contributes
        // nothing.
        unsafe { party.on_nic(&arrival, (null(), block.bytes), 0, (landing.data(), block.bytes)).await? };
        block.land(&landing);
        return Ok(());
    }
    if policy::exchanges(&party, block.bytes) {
        return in_exchange(&party, &block, root).await;
    }
    party.announce(root, block.agreed().signature, block.bytes)?;
    along_trees(&party, &block, root).await
}

async fn along_trees(party: &Party, block: &Block, root: u32) -> MpiResult {
    let nodes = party.nodes()?;
    // The first of a node, or the root, takes it from another node, and the others of the node from that one.
    let (root_node, _) = nodes.place(root);
    let first = |node: usize| if node == root_node { root } else { nodes.members(node)[0] };
    let node = nodes.place(party.rank).0;
    let (head, members) = (first(node), nodes.members(node));
    // Places are counted from the root's node on, and from the first member of the node.
    let place_of_head = members.iter().position(|member| *member == head).unwrap_or(0);
    let of_node = |place: usize| first((root_node + place) % nodes.len());
    let of_member = |place: usize| members[(place_of_head + place) % members.len()];
    let place = nodes.place(party.rank).1 + members.len() - place_of_head;
    let (beside, children) = binomial(place % members.len(), members.len());
    let mut parent = beside.map(of_member);
    let mut children: Vec<u32> = children.into_iter().map(of_member).collect();
    if party.rank == head {
        let (above, below) = binomial((node + nodes.len() - root_node) % nodes.len(), nodes.len());
        parent = above.map(of_node);
        children.splice(0..0, below.into_iter().map(of_node));
    }
    let mut received = Ok(());
    if let Some(parent) = parent {
        let (landing, mut join) = (block.landing(), Join::new());
        // SAFETY: the landing lives until the join is complete.
        unsafe { post_landing(party, &mut join, parent, &landing)? };
        // Others wait for it whatever has come.
        received = join.all().await;
        block.land(&landing);
    }
    let (wire, mut join) = (block.wire(), Join::new());
    for child in children {
        // SAFETY: the wire lives until the join is complete.
        unsafe { post_wire(party, &mut join, child, &wire)? };
    }
    received.and(join.all().await)
}

async fn in_exchange(party: &Party, block: &Block, root: u32) -> MpiResult {
    let (operation, most_bytes) = (block.agreed().signature, block.bytes);
    let arrival = Arrival { operation, root, most_bytes, ..Arrival::default() };
    let exchange = party.exchange(&arrival).await?;
    if party.rank == root {
        let wire = block.wire();
        // SAFETY: the wire lives until all have taken it.
        return unsafe { exchange.stream(root, wire.data(), null_mut(), block.bytes).await };
    }
    let landing = block.landing();
    // SAFETY: the landing lives until all of it has come.
    unsafe { exchange.stream(root, null(), landing.data(), block.bytes).await? };
    block.land(&landing);
    Ok(())
}

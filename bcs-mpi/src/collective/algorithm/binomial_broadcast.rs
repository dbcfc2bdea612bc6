//! Broadcast along binomial trees, of the nodes and of the members of each node: log2 N + log2 n steps for N
//! nodes of n members. A block crosses the network once for a node; the root sends it log2 N + log2 n times.
//! (Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", 2005.)

use crate::collective::Broadcast;
use crate::error::MpiResult;
use crate::progress::{Join, Members, Message, binomial};

/// Brings a block to all.
///
/// # Errors
/// The root's is longer or shorter; the NIC fails.
pub async fn binomial_broadcast(members: &impl Members, broadcast: &Broadcast) -> MpiResult {
    let &Broadcast { root, memory, .. } = broadcast;
    let (nodes, rank) = (members.nodes()?, members.rank());
    // The first of a node, or the root, takes it from another node, and the others of the node from that one.
    let (root_node, _) = nodes.place(root);
    let first = |node: usize| if node == root_node { root } else { nodes.members(node)[0] };
    let node = nodes.place(rank).0;
    let (head, beside) = (first(node), nodes.members(node));
    // Places are counted from the root's node on, and from the first member of the node.
    let place_of_head = beside.iter().position(|member| *member == head).unwrap_or(0);
    let of_node = |place: usize| first((root_node + place) % nodes.count());
    let of_member = |place: usize| beside[(place_of_head + place) % beside.len()];
    let place = nodes.place(rank).1 + beside.len() - place_of_head;
    let (parent, children) = binomial(place % beside.len(), beside.len());
    let mut parent = parent.map(of_member);
    let mut children: Vec<_> = children.into_iter().map(of_member).collect();
    if rank == head {
        let (above, below) = binomial((node + nodes.count() - root_node) % nodes.count(), nodes.count());
        parent = above.map(of_node);
        children.splice(0..0, below.into_iter().map(of_node));
    }
    let mut received = Ok(());
    if let Some(parent) = parent {
        // Others wait for it whatever has come.
        received = members.post_receive(parent, memory)?.exactly().await;
    }
    let mut join = Join::new();
    for child in children {
        join.add(members.post_send(child, memory)?);
    }
    received.and(join.all().await)
}

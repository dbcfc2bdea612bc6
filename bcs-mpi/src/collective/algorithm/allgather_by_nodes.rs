//! What every member has goes to all, by messages: to the others of its node, and to one member of every
//! other node, which hands it on to those beside it. So it crosses the network once for a node (J. L.
//! Träff, "Efficient Allgather for Regular SMP-Clusters", EuroPVM/MPI 2006); members of a node take
//! turns, so none is everybody's gate. Two steps. Of b bytes a member sends b to each of the others of
//! its node and once to each other node; what it receives from another node it sends to the others of its
//! own.
//!
//! With a member a node, or all on one node, that is one step, from each to all others, beginning with the
//! next one.

use crate::collective::{Agreed, Movement, Vector};
use crate::error::{MpiResult, Problem};
use crate::progress::{Join, Members, Memory, Message};
use nic_emu::memory::numbers::CommRank;

/// Allgather of blocks of any length.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn allgather_by_nodes(members: &impl Members, movement: &Movement<'_>) -> MpiResult {
    let own = movement.outgoing(members.rank());
    to_all(members, own, |member| movement.incoming(member), movement.agreed).await
}

/// Brings this member's bytes to all, and theirs to their places: `place` says where a member's go, and how
/// many they are. Of nothing there is no message, unless nobody can know that it is nothing.
///
/// # Errors
/// A member gives more or less than that; the NIC fails.
pub async fn to_all(
    members: &impl Members,
    own: Memory,
    place: impl Fn(CommRank) -> Memory,
    agreed: Agreed,
) -> MpiResult {
    let (nodes, rank) = (members.nodes()?, members.rank());
    let beside = || nodes.beside(rank);
    let (mut misfits, mut to_hand_on, mut join) = (Vec::new(), Vec::new(), Join::new());
    let receive = |member: CommRank, from: CommRank| {
        let to = place(member);
        let receive = || members.post_receive(from, to).map(|receive| receive.exactly().given_by(member));
        agreed.is_message(to.bytes()).then(receive).transpose()
    };
    for from in beside() {
        // Messages between two members keep their order: a member's own first, then what it hands on.
        for member in nodes.wards(from) {
            receive(member, from)?.into_iter().for_each(|receive| join.add(receive));
        }
    }
    for member in nodes.wards(rank).skip(1) {
        to_hand_on.extend(receive(member, member)?.map(|receive| (member, receive)));
    }
    if agreed.is_message(own.bytes()) {
        let elsewhere = nodes.elsewhere(nodes.place(rank).0);
        for member in elsewhere.map(|node| nodes.carrier(rank, node)).chain(beside()) {
            join.add(members.post_send(member, own)?);
        }
    }
    let mut handed_on = Ok(());
    for (member, receive) in to_hand_on {
        let received = receive.await;
        let mut data = place(member);
        if let Err(error) = &received
            && let &Problem::BlockMisfit { sent, .. } = error.problem()
            && let Ok(misfit) = Vector::apart(sent as usize)
        {
            // Those beside this member are to find the same, and to say how long it was.
            data = misfit.1;
            misfits.push(misfit);
        }
        handed_on = handed_on.and(received);
        for member in beside() {
            // What was posted is over before this call is, whatever has come.
            match members.post_send(member, data) {
                Ok(send) => join.add(send),
                Err(error) => handed_on = handed_on.and(Err(error)),
            }
        }
    }
    join.all().await.and(handed_on)
}

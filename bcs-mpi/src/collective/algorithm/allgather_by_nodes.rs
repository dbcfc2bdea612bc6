//! What every member has goes to all, by messages: to the others of its node, and to one member of every
//! other node, which hands it on to those beside it. So it crosses the network once for a node (J. L.
//! Träff, "Efficient Allgather for Regular SMP-Clusters", EuroPVM/MPI 2006); members of a node take
//! turns, so none is everybody's gate. Two steps. Of b bytes a member sends b to each of the others of
//! its node and once to each other node; what it receives from another node it sends to the others of its
//! own.
//!
//! With a member a node, or all on one node, that is one step, from each to all others, beginning with the
//! next one.

use super::super::movement::Movement;
use crate::error::{MpiError, MpiResult, Problem};
use crate::progress::members::Members;
use crate::progress::message::Join;
use crate::progress::message::Message;

/// Allgather of blocks of any length.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn allgather_by_nodes(members: &impl Members, movement: &Movement<'_>) -> MpiResult {
    let place = |member| movement.incoming(member);
    // SAFETY: the promise of `Movement::new`.
    unsafe { to_all(members, movement.outgoing(members.rank()), place, movement.agreed.differs).await }
}

/// Brings this member's bytes to all, and theirs to their places: `place` says where a member's go, and how
/// many they are. Of nothing there is no message, unless nobody can know that it is nothing: `differs`.
///
/// # Safety
/// What is given must be readable, and all other members' places writable and used by nobody else, until the
/// answer is there.
///
/// # Errors
/// A member gives more or less than that; the NIC fails.
pub async unsafe fn to_all(
    members: &impl Members,
    (data, bytes): (*const u8, usize),
    place: impl Fn(u32) -> (*mut u8, usize),
    differs: bool,
) -> MpiResult {
    let (nodes, rank, size) = (members.nodes()?, members.rank(), members.size());
    let here = nodes.place(rank).0;
    let beside = || nodes.members(here).iter().copied().filter(move |member| *member != rank);
    let is_message = |bytes: usize| bytes > 0 || differs;
    let (mut join, mut to_hand_on) = (Join::new(), Vec::new());
    // Messages between two members keep their order: a member's own first, then what it hands on, from the
    // next one on.
    let carried_by = |carrier: u32| {
        let others = (1..size).map(move |step| (carrier + step) % size);
        let nodes = &nodes;
        others.filter(move |of| nodes.place(*of).0 != here && nodes.carrier(*of, here) == carrier)
    };
    let receive = |member: u32, from: u32| {
        let (to, room) = place(member);
        // SAFETY: the caller's promise.
        let receive = || unsafe { members.post_receive(from, to, room) };
        is_message(room)
            .then(receive)
            .transpose()
            .map(|receive| receive.map(|receive| receive.exactly().given_by(member)))
    };
    for from in beside() {
        for member in std::iter::once(from).chain(carried_by(from)) {
            receive(member, from)?.into_iter().for_each(|receive| join.add(receive));
        }
    }
    for member in carried_by(rank) {
        to_hand_on.extend(receive(member, member)?.map(|receive| (member, receive)));
    }
    if is_message(bytes) {
        let elsewhere = (1..nodes.len()).map(|step| (here + step) % nodes.len());
        for member in elsewhere.map(|node| nodes.carrier(rank, node)).chain(beside()) {
            // SAFETY: as above.
            join.add(unsafe { members.post_send(member, data, bytes)? });
        }
    }
    let (mut handed_on, mut misfits) = (Ok(()), Vec::new());
    for (member, receive) in to_hand_on {
        let received = receive.await;
        let (mut from, mut bytes) = place(member);
        if let Err(error) = &received
            && let Some(misfit) = as_long_as_sent(error)
        {
            // Those beside this member are to find the same, and to say how long it was.
            misfits.push(misfit);
            let misfit = misfits.last_mut().expect("just pushed");
            (from, bytes) = (misfit.as_mut_ptr(), misfit.len());
        }
        handed_on = handed_on.and(received);
        for member in beside() {
            // What was posted is over before this call is, whatever has come.
            // SAFETY: as above: nobody writes there any more; misfits live until the join is complete.
            match unsafe { members.post_send(member, from, bytes) } {
                Ok(send) => join.add(send),
                Err(error) => handed_on = handed_on.and(Err(error)),
            }
        }
    }
    join.all().await.and(handed_on)
}

/// As many bytes as a block has that did not fit; none if that is not what went wrong.
fn as_long_as_sent(error: &MpiError) -> Option<Vec<u8>> {
    let &Problem::BlockMisfit { sent, .. } = error.problem() else { return None };
    let (sent, mut bytes) = (usize::try_from(sent).ok()?, Vec::new());
    bytes.try_reserve_exact(sent).ok()?;
    bytes.resize(sent, 0);
    Some(bytes)
}

//! Alltoall of members that share nodes, by messages: a member gives each other one of its node the blocks of
//! all whom that one carries for, and a carrier sends each of these the blocks of its whole node in one
//! message (J. L. Träff, S. Hunold, "Decomposing MPI Collectives for Exploiting Multi-lane Communication",
//! CLUSTER 2020). Members of a node take turns as carriers, so none is everybody's gate.
//!
//! Two steps, of n - 1 and N - 1 messages for N nodes of n members, where `direct` takes n N - 1 in one. A
//! block crosses the network once, as there, but goes to a carrier before: a member sends (n - 1) N blocks
//! to others of its node, and n (N - 1) to other nodes.
//!
//! Where each has blocks that nobody else knows of, their lengths go in front of them. So a carrier learns
//! how many bytes come, and a member by whom a block was given that does not fit. Behind one that is too
//! long, blocks of the same node are cut off: the call has failed, and its buffer is undefined.

use crate::collective::{Agreed, Movement, Vector};
use crate::error::{MpiResult, Problem};
use crate::progress::{Join, Members, Memory, Nodes, misfit};
use nic_emu::memory::numbers::CommRank;

/// Exchanges blocks of any length.
///
/// # Errors
/// A block is not as long as its place; no memory is left; the NIC fails.
pub async fn alltoall_by_nodes(members: &impl Members, movement: &Movement<'_>) -> MpiResult {
    let (nodes, rank, agreed) = (members.nodes()?, members.rank(), movement.agreed);
    if !agreed.is_message(agreed.bytes) {
        return Ok(());
    }
    let here = nodes.place(rank).0;
    let elsewhere = || nodes.elsewhere(here);
    let landing = |node| {
        let places = nodes.members(node).iter().map(|from| movement.incoming(*from).bytes());
        Vector::new(header_bytes(agreed, places.len()) + places.sum::<usize>())
    };
    let mut landings: Vec<Vector> = elsewhere().map(landing).collect::<MpiResult<_>>()?;
    let parcel = |mate: CommRank| {
        let blocks: Vec<Memory> = nodes.wards(mate).map(|to| movement.outgoing(to)).collect();
        Ok((mate, header_bytes(agreed, blocks.len()), pack(agreed, &blocks)?))
    };
    let parcels: Vec<(CommRank, usize, Vector)> = nodes.beside(rank).map(parcel).collect::<MpiResult<_>>()?;
    let (mut coming, mut going) = (Join::new(), Join::new());
    for (node, landing) in elsewhere().zip(&mut landings) {
        coming.receive(members, nodes.carrier(rank, node), landing)?;
    }
    for (mate, header, parcel) in &parcels {
        let (lengths, blocks) = parcel.split_at(*header);
        for part in [lengths, blocks].into_iter().filter(|part| !part.is_empty()) {
            going.send(members, *mate, part)?;
        }
    }
    // What was posted is over before this call is, whatever has come.
    let carried = carry(members, movement, &nodes).await;
    let gone = going.all().await;
    let came = coming.all().await.or_else(|error| match error.problem() {
        // Which of the blocks it is, their lengths say.
        Problem::BlockMisfit { .. } => Ok(()),
        _ => Err(error),
    });
    let mut ended = gone.and(came).and(carried);
    for (node, landing) in elsewhere().zip(&mut landings) {
        let givers = nodes.members(node);
        let lengths = lengths(agreed, landing, givers.len());
        let all = landing.memory();
        let blocks = all.part(header_bytes(agreed, givers.len())..all.bytes());
        for ((from, sent), block) in givers.iter().zip(&lengths).zip(cut(blocks, &lengths)) {
            ended = ended.and(deliver(movement, *from, (block, *sent)));
        }
    }
    ended
}

/// Takes what the others of this node have for this member and for those that it carries for, and hands it
/// on.
async fn carry(members: &impl Members, movement: &Movement<'_>, nodes: &Nodes) -> MpiResult {
    let (rank, agreed) = (members.rank(), movement.agreed);
    let wards: Vec<CommRank> = nodes.wards(rank).collect();
    let header = Vector::new(header_bytes(agreed, wards.len()))?;
    let mut headers = vec![header; nodes.beside(rank).count()];
    let mut join = Join::new();
    for (mate, header) in nodes.beside(rank).zip(&mut headers).filter(|_| agreed.differs) {
        join.receive(members, mate, header)?;
    }
    join.all().await?;
    let lengths: Vec<Vec<usize>> =
        headers.iter().map(|header| lengths(agreed, header, wards.len())).collect();
    let room = |lengths: &Vec<usize>| Vector::apart(lengths.iter().sum());
    let rooms: Vec<(Vector, Memory)> = lengths.iter().map(room).collect::<MpiResult<_>>()?;
    let mut join = Join::new();
    for (mate, (_, room)) in nodes.beside(rank).zip(&rooms).filter(|(_, (_, room))| room.bytes() > 0) {
        join.add(members.post_receive(mate, *room)?);
    }
    join.all().await?;
    let mut delivered = Ok(());
    // The blocks of each member of this node, by rank.
    let mut given = vec![(rank, wards.iter().map(|to| movement.outgoing(*to)).collect::<Vec<_>>())];
    for ((mate, (_, room)), lengths) in nodes.beside(rank).zip(&rooms).zip(&lengths) {
        let blocks: Vec<Memory> = cut(*room, lengths).collect();
        delivered = delivered.and(deliver(movement, mate, (blocks[0], lengths[0])));
        given.push((mate, blocks));
    }
    given.sort_by_key(|(from, _)| *from);
    let of_ward = |number| given.iter().map(|(_, blocks)| blocks[number]).collect::<Vec<Memory>>();
    let parcels: Vec<Vector> =
        (1..wards.len()).map(|number| pack(agreed, &of_ward(number))).collect::<MpiResult<_>>()?;
    let mut join = Join::new();
    for (to, parcel) in wards[1..].iter().zip(&parcels) {
        join.send(members, *to, parcel)?;
    }
    join.all().await.and(delivered)
}

/// Puts a block where it is wanted, of which so many bytes were sent.
fn deliver(movement: &Movement<'_>, from: CommRank, (block, sent): (Memory, usize)) -> MpiResult {
    let place = movement.incoming(from);
    block.copy_to(place);
    if sent == place.bytes() { Ok(()) } else { Err(misfit(sent, place.bytes(), from)) }
}

/// Bytes of a length.
const LENGTH_BYTES: usize = size_of::<u64>();

/// Bytes in front of so many blocks: their lengths, where nobody else knows these.
fn header_bytes(agreed: Agreed, blocks: usize) -> usize {
    if agreed.differs { blocks * LENGTH_BYTES } else { 0 }
}

/// Blocks one behind the other, behind their header.
fn pack(agreed: Agreed, blocks: &[Memory]) -> MpiResult<Vector> {
    let length = |block: &Memory| if agreed.differs { block.bytes() } else { agreed.bytes };
    let lengths: Vec<usize> = blocks.iter().map(length).collect();
    let header = header_bytes(agreed, blocks.len());
    let mut parcel = Vector::new(header + lengths.iter().sum::<usize>())?;
    for (length, place) in lengths.iter().zip(parcel[..header].chunks_exact_mut(LENGTH_BYTES)) {
        place.copy_from_slice(&(*length as u64).to_le_bytes());
    }
    let all = parcel.memory();
    for (block, place) in blocks.iter().zip(cut(all.part(header..all.bytes()), &lengths)) {
        block.copy_to(place);
    }
    Ok(parcel)
}

/// How long so many blocks behind this header are.
fn lengths(agreed: Agreed, header: &[u8], blocks: usize) -> Vec<usize> {
    if !agreed.differs {
        return vec![agreed.bytes; blocks];
    }
    let (lengths, _) = header.as_chunks::<LENGTH_BYTES>();
    lengths[..blocks].iter().map(|length| u64::from_le_bytes(*length) as usize).collect()
}

/// Blocks of these lengths that lie one behind the other.
fn cut(blocks: Memory, lengths: &[usize]) -> impl Iterator<Item = Memory> {
    lengths.iter().scan(0usize, move |end, length| {
        let start = std::mem::replace(end, end.saturating_add(*length));
        Some(blocks.part(start..*end))
    })
}

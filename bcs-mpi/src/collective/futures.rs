//! The operations of an intracommunicator, as the futures that calls launch: each takes the algorithm that
//! [`policy`] says.

use super::algorithm;
use super::policy::{self, Situation, Transport};
use crate::collective::algorithm::Synchronization;
use crate::collective::{Agreed, Block, Broadcast, Combination, Movement, Pattern, Results, Side, Wires};
use crate::error::MpiResult;
use crate::object::collective::Collective;
use crate::progress::{Arrival, Members, Party};
use nic_emu::memory::numbers::CommRank;

/// Brings the blocks that this member gives, as the pattern says, to where others take them, and theirs to
/// where it does. In place, what it would give itself is there, and what it gives may lie where it takes
/// something.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn bring(
    party: Party,
    pattern: Pattern,
    (given, taken): (Side, Side),
    is_in_place: bool,
    agreed: Agreed,
) -> MpiResult {
    let rank = party.rank;
    let placed = match pattern.has_own(rank) && !is_in_place {
        true => given.block(rank.0).copy_to(&taken.block(rank.0), rank),
        false => Ok(()),
    };
    let bytes = agreed.of_all(if pattern.gives_the_same() { 1 } else { party.size });
    let number = policy::choice(pattern.collective(), &Situation::of(&party, bytes, None));
    let by_slabs = policy::algorithms(pattern.collective())[number].transport == Transport::Slab;
    let wires = match &given {
        _ if !pattern.gives(rank) => Side::NOTHING.wires()?,
        Side::Each(each) if by_slabs && !pattern.gives_the_same() => Wires::row_of(each)?,
        // What is sent goes before anything arrives where it was.
        _ if is_in_place && pattern == Pattern::Alltoall => given.snapshots(party.size)?,
        _ => given.wires()?,
    };
    let landings = if pattern.takes(rank) { taken.landings()? } else { Side::NOTHING.landings()? };
    let (outgoing, incoming) = (|to: CommRank| wires.at(to.0), |from: CommRank| landings.at(from.0));
    let movement = Movement::new(pattern, agreed, &outgoing, &incoming);
    match pattern {
        Pattern::Gather(_) => policy::gather::run(number, &party, &movement).await?,
        Pattern::Scatter(_) => policy::scatter::run(number, &party, &movement).await?,
        Pattern::Allgather => policy::allgather::run(number, &party, &movement).await?,
        Pattern::Alltoall => policy::alltoall::run(number, &party, &movement).await?,
    }
    for member in party.others().filter(|member| pattern.goes(*member, rank)) {
        taken.land(&landings, member.0);
    }
    placed
}

/// Members meet, in a call that blocks. By messages they compare what they have announced before; where that
/// is not the same, the NIC says whether it fits, so that nobody leaves a barrier behind a call that does
/// not.
///
/// # Errors
/// Members have announced what does not fit; the NIC fails.
pub async fn synchronize(party: Party) -> MpiResult {
    let number = policy::choice(Collective::barrier, &Situation::of(&party, None, None));
    let synchronization = Synchronization::of(party.history()?);
    policy::barrier::run(number, &party, &synchronization).await?;
    if synchronization.differs() {
        algorithm::barrier_on_nic(&party, &synchronization).await?;
        party.begin_history()?;
    }
    Ok(())
}

/// Brings the root's block to all.
///
/// # Errors
/// The root sent more than there is room for; the NIC fails.
pub async fn broadcast(party: Party, block: Block, root: CommRank) -> MpiResult {
    if party.size == 1 {
        return Ok(());
    }
    if block.bytes == 0 {
        return party.announce(&Arrival::board(root, (0, 0), 0));
    }
    let is_root = party.rank == root;
    let wire = if is_root { block.wire()? } else { block.landing()? };
    let broadcast = Broadcast { root, signature: block.agreed().signature, memory: wire.memory };
    let number = policy::choice(Collective::bcast, &Situation::of(&party, Some(block.bytes), None));
    policy::bcast::run(number, &party, &broadcast).await?;
    if !is_root {
        block.land(&wire);
    }
    Ok(())
}

/// Combines all members' vectors, and gives each what it gets of that. Of nothing, members only tell each
/// other; alone, a member has the result.
///
/// # Errors
/// Another member's vector, or share, is longer; the NIC fails.
pub async fn combine(party: Party, combination: Combination) -> MpiResult {
    let Combination { reduction, results, count, .. } = &combination;
    if combination.bytes() == 0 {
        let operation = if matches!(results, Results::Shares(_)) { reduction.said() } else { (0, 0) };
        return party.announce(&Arrival::board(combination.root(), operation, 0));
    }
    if party.size == 1 && combination.gets_all(party.rank) {
        combination.store(&combination.load(0, *count)?, 0);
        return Ok(());
    }
    let situation = Situation::of(&party, Some(combination.bytes()), Some(reduction)).with_results(results);
    let number = policy::choice(results.collective(), &situation);
    match results {
        Results::All => policy::allreduce::run(number, &party, &combination).await,
        Results::Root(_) => policy::reduce::run(number, &party, &combination).await,
        Results::Shares(_) => policy::reduce_scatter::run(number, &party, &combination).await,
        Results::Prefix(_) => policy::scan::run(number, &party, &combination).await,
    }
}

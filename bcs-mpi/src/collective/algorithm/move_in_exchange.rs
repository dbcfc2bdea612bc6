//! Blocks in an exchange, as all members are on one node: each lends or lays what it gives in its lane,
//! and who takes copies its block from there. One step; each byte is copied once, or twice through a
//! lane.

use super::move_directly::move_directly;
use crate::collective::Movement;
use crate::error::MpiResult;
use crate::progress::{Contribution, Destination, Exchange, Members, Party};
use nic_emu::memory::numbers::CommRank;
use nic_emu::port::Giving;

/// Moves blocks of any length.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn move_in_exchange(party: &Party, movement: &Movement<'_>) -> MpiResult {
    match party.exchange(&movement.arrival()).await? {
        Some(exchange) => move_blocks(&exchange, movement).await,
        None => move_directly(party, movement).await,
    }
}

/// The same in an exchange that members have met for. A step of it.
///
/// # Errors
/// As [`move_in_exchange`].
pub async fn move_blocks(exchange: &Exchange, movement: &Movement<'_>) -> MpiResult {
    let (party, pattern) = (&exchange.party, movement.pattern);
    let rank = party.rank;
    let readers: Vec<_> = party.others().filter(|member| pattern.goes(rank, *member)).collect();
    let givers = party.others().filter(|member| pattern.goes(*member, rank));
    let destinations: Vec<Destination> = givers.map(|member| (member, movement.incoming(member))).collect();
    let each_its_own = !pattern.gives_the_same() && !readers.is_empty();
    let given = |member| (movement.outgoing(member).first().cast_const(), movement.outgoing(member).bytes());
    let blocks: Vec<_> = CommRank::all(party.size).filter(|_| each_its_own).map(given).collect();
    let giving = match readers.first() {
        Some(&reader) if !each_its_own => {
            let (data, bytes) = given(reader);
            Giving::Same { data, bytes }
        }
        _ => Giving::Each { blocks: &blocks, combined: false },
    };
    let contribution = Contribution { giving, readers: &readers };
    // SAFETY: the promise of `Memory::new`.
    unsafe { exchange.move_operands(contribution, &destinations, false, |_| Ok(())).await }
}

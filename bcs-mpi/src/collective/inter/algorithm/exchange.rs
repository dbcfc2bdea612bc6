//! Gather, scatter, allgather and alltoall of all kinds: a message from every member that gives to every one of the other group that takes. One step.

use super::super::{Role, Sides};
use crate::collective::block::{Agreed, Block, post_landing, post_wire};
use crate::error::MpiResult;
use crate::progress::pending::Join;
use std::ops::Range;

/// Blocks that go to members of the other group, or come from them.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// One for each rank there, or a single one for all.
    pub blocks: Vec<Block>,
    /// Which members.
    pub peers: Range<u32>,
}

impl Ends {
    /// The members that there is a message for, from the one opposite on, so that no member is
    /// everybody's first; and the block of each.
    fn each(&self, rank: u32, agreed: Agreed) -> impl Iterator<Item = (u32, usize)> {
        let (first, count) = (self.peers.start, self.peers.len() as u32);
        let block = |peer: u32| if self.blocks.len() == 1 { 0 } else { peer as usize };
        let peers = (0..count).map(move |step| first + (rank + step) % count);
        let has_message = move |block: usize| agreed.is_message(self.blocks[block].bytes);
        peers.map(move |peer| (peer, block(peer))).filter(move |(_, block)| has_message(*block))
    }
}

/// What both groups have to say alike of blocks that go across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alike {
    /// The root's group, and, unless each has its own, the length and the type of all blocks.
    Rooted(Role, Agreed),
    /// Length and type of the blocks that each group gives.
    EachWay,
    /// Nothing: each block is alike at its two ends alone.
    Nothing,
}

/// Sends one group of blocks and receives another.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn exchange(sides: Sides, alike: Alike, outgoing: Ends, incoming: Ends) -> MpiResult {
    let mut agreed = Agreed::EACH_ITS_OWN;
    match (alike, outgoing.blocks.first(), incoming.blocks.first()) {
        (Alike::Rooted(role, of_all), ..) => {
            agreed = of_all;
            sides.announce_rooted(role, agreed.signature, agreed.bytes)?;
        }
        (Alike::EachWay, Some(given), Some(taken)) => sides.announce_both_ways(given, taken)?,
        _ => sides.announce((0, 0), 0)?,
    }
    let remote = sides.remote;
    let mut join = Join::new();
    let landings: Vec<_> = incoming.blocks.iter().map(Block::landing).collect::<MpiResult<_>>()?;
    for (peer, block) in incoming.each(remote.rank, agreed) {
        // SAFETY: the landings live until the join is complete.
        unsafe { post_landing(&remote, &mut join, peer, &landings[block])? };
    }
    let wires: Vec<_> = outgoing.blocks.iter().map(Block::wire).collect::<MpiResult<_>>()?;
    for (peer, block) in outgoing.each(remote.rank, agreed) {
        // SAFETY: the wires live until the join is complete.
        unsafe { post_wire(&remote, &mut join, peer, &wires[block])? };
    }
    join.all().await?;
    for (block, landing) in incoming.blocks.iter().zip(&landings) {
        block.land(landing);
    }
    Ok(())
}

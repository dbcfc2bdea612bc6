//! Gather, scatter, allgather and alltoall of all kinds: a message from every member that gives to every one
//! of the other group that takes. One step.

use super::sides::{Role, Sides};
use crate::collective::{Agreed, Everyone, Side};
use crate::error::MpiResult;
use crate::progress::{Arrival, Join, Members, Message};
use nic_emu::memory::numbers::CommRank;
use nic_emu::root::NO_ROOT;
use std::ops::Range;

/// Blocks that go to members of the other group, or come from them.
#[derive(Clone, Debug)]
pub struct Ends {
    /// One for each of these members, or the same for all.
    pub side: Side,
    /// Which members, by rank.
    pub peers: Range<u32>,
}

impl Ends {
    /// No blocks.
    pub const NONE: Self = Self { side: Side::NOTHING, peers: 0..0 };

    /// The members that there is a message for, from the one opposite on, so that no member is
    /// everybody's first; and the block of each.
    fn each(&self, rank: CommRank, agreed: Agreed) -> impl Iterator<Item = (CommRank, u32)> {
        let (first, count) = (self.peers.start, self.peers.len() as u32);
        let blocks = (0..count).map(move |step| rank.after(step, count).0);
        let messages = blocks.filter(move |block| agreed.is_message(self.side.bytes(*block)));
        messages.map(move |block| (CommRank(first + block), block))
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

impl Alike {
    /// Where each group gives to the other, and blocks are received like this.
    pub fn each_way<P>(received: &Everyone<P>) -> Self {
        if received.each().is_some() { Alike::EachWay } else { Alike::Nothing }
    }
}

/// Sends one group of blocks and receives another.
///
/// # Errors
/// A block is not as long as its place; the NIC fails.
pub async fn exchange(sides: Sides, alike: Alike, outgoing: Ends, incoming: Ends) -> MpiResult {
    let agreed = if let Alike::Rooted(_, agreed) = alike { agreed } else { Agreed::EACH_ITS_OWN };
    match alike {
        Alike::Rooted(role, _) => sides.announce_rooted(role, agreed.signature, agreed.bytes)?,
        Alike::EachWay => sides.announce_both_ways(outgoing.side.about(0), incoming.side.about(0))?,
        Alike::Nothing => sides.remote.announce(&Arrival::board(NO_ROOT, (0, 0), 0))?,
    }
    let remote = sides.remote;
    let mut join = Join::new();
    let (landings, wires) = (incoming.side.landings()?, outgoing.side.wires()?);
    for (peer, block) in incoming.each(remote.rank, agreed) {
        join.add(remote.post_receive(peer, landings.at(block))?.exactly());
    }
    for (peer, block) in outgoing.each(remote.rank, agreed) {
        join.add(remote.post_send(peer, wires.at(block))?);
    }
    join.all().await?;
    for block in 0..incoming.peers.len() as u32 {
        incoming.side.land(&landings, block);
    }
    Ok(())
}

//! Calls in which blocks go from member to member: gather, scatter, allgather and alltoall, with their v
//! and w forms (MPI-5.0, §6.5 to §6.8). Blocks become addresses and lengths here; how they go, [`policy`]
//! says.

use super::block::Agreed;
use super::policy::{self, Collective, Situation, Transport};
use super::side::{Side, Wires};
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::members::Members;
use crate::progress::party::Party;

/// Which members give blocks to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All to this root.
    Gather(u32),
    /// This root to all, each its own.
    Scatter(u32),
    /// Each the same to all.
    Allgather,
    /// Each to all, each its own.
    Alltoall,
}

impl Pattern {
    /// Whether a member gives others a block.
    pub fn gives(self, member: u32) -> bool {
        match self {
            Self::Gather(root) => member != root,
            Self::Scatter(root) => member == root,
            Self::Allgather | Self::Alltoall => true,
        }
    }

    /// Whether a member takes others' blocks.
    pub fn takes(self, member: u32) -> bool {
        match self {
            Self::Gather(root) => member == root,
            Self::Scatter(root) => member != root,
            Self::Allgather | Self::Alltoall => true,
        }
    }

    /// Whether a block of a member's is its own.
    pub fn has_own(self, member: u32) -> bool {
        matches!(self, Self::Allgather | Self::Alltoall) || member == self.root()
    }

    /// Whether one member gives another one a block.
    pub fn goes(self, from: u32, to: u32) -> bool {
        from != to && self.gives(from) && self.takes(to)
    }

    /// Whether a member gives all others the same.
    pub fn gives_the_same(self) -> bool {
        matches!(self, Self::Gather(_) | Self::Allgather)
    }

    /// The collective that does this.
    pub fn collective(self) -> Collective {
        match self {
            Self::Gather(_) => Collective::gather,
            Self::Scatter(_) => Collective::scatter,
            Self::Allgather => Collective::allgather,
            Self::Alltoall => Collective::alltoall,
        }
    }

    /// The root, or 0.
    pub fn root(self) -> u32 {
        match self {
            Self::Gather(root) | Self::Scatter(root) => root,
            Self::Allgather | Self::Alltoall => 0,
        }
    }
}

/// What a member gives and takes.
pub struct Movement<'a> {
    /// Who gives to whom.
    pub pattern: Pattern,
    /// What members say alike of a block.
    pub agreed: Agreed,
    outgoing: &'a dyn Fn(u32) -> (*const u8, usize),
    incoming: &'a dyn Fn(u32) -> (*mut u8, usize),
}

impl<'a> Movement<'a> {
    /// The first byte and the length of the block that goes to a member, and of that which comes from one.
    ///
    /// # Safety
    /// What is given must be readable, and what is taken writable and used by nobody else, as long as the
    /// operation is under way.
    pub unsafe fn new(
        pattern: Pattern,
        agreed: Agreed,
        outgoing: &'a dyn Fn(u32) -> (*const u8, usize),
        incoming: &'a dyn Fn(u32) -> (*mut u8, usize),
    ) -> Self {
        Self { pattern, agreed, outgoing, incoming }
    }

    /// The block that goes to a member.
    pub fn outgoing(&self, member: u32) -> (*const u8, usize) {
        (self.outgoing)(member)
    }

    /// The place of the block that comes from a member.
    pub fn incoming(&self, member: u32) -> (*mut u8, usize) {
        (self.incoming)(member)
    }

    /// What members say when they meet.
    pub fn arrival(&self) -> Arrival {
        let Agreed { signature, bytes, .. } = self.agreed;
        let root = self.pattern.root();
        Arrival { operation: signature, root, most_bytes: bytes, ..Arrival::default() }
    }
}

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
        true => given.block(rank).copy_to(&taken.block(rank), rank),
        false => Ok(()),
    };
    let bytes = agreed.of_all(if pattern.gives_the_same() { 1 } else { party.size });
    let number = pattern.collective().choice(&Situation::of_blocks(&party, bytes));
    let by_slabs = pattern.collective().algorithms()[number].transport == Transport::Slab;
    let wires = match &given {
        _ if !pattern.gives(rank) => Side::NOTHING.wires()?,
        Side::Each(each) if by_slabs && !pattern.gives_the_same() => Wires::row_of(each)?,
        // What is sent goes before anything arrives where it was.
        _ if is_in_place && pattern == Pattern::Alltoall => given.snapshots(party.size)?,
        _ => given.wires()?,
    };
    let landings = if pattern.takes(rank) { taken.landings()? } else { Side::NOTHING.landings()? };
    let outgoing = |member| (wires.at(member).cast_const(), given.bytes(member));
    let incoming = |member| (landings.at(member), taken.bytes(member));
    // SAFETY: wires and landings live until the operation is over.
    let movement = unsafe { Movement::new(pattern, agreed, &outgoing, &incoming) };
    match pattern {
        Pattern::Gather(_) => policy::gather::run(number, &party, &movement).await?,
        Pattern::Scatter(_) => policy::scatter::run(number, &party, &movement).await?,
        Pattern::Allgather => policy::allgather::run(number, &party, &movement).await?,
        Pattern::Alltoall => policy::alltoall::run(number, &party, &movement).await?,
    }
    for member in party.others().filter(|member| pattern.goes(*member, rank)) {
        taken.land(&landings, member);
    }
    placed
}

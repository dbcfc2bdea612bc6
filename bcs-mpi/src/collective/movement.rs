//! Calls in which blocks go from member to member: broadcast, gather, scatter, allgather and alltoall, with
//! their v and w forms (MPI-5.0, §6.4 to §6.8). Blocks become addresses and lengths here; how they go,
//! `policy` says.

use super::block::Agreed;
use crate::object::collective::Collective;
use crate::progress::{Arrival, Memory};
use nic_emu::memory::numbers::CommRank;

/// Which members give blocks to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All to this root.
    Gather(CommRank),
    /// This root to all, each its own.
    Scatter(CommRank),
    /// Each the same to all.
    Allgather,
    /// Each to all, each its own.
    Alltoall,
}

impl Pattern {
    /// Whether a member gives others a block.
    pub fn gives(self, member: CommRank) -> bool {
        match self {
            Self::Gather(root) => member != root,
            Self::Scatter(root) => member == root,
            Self::Allgather | Self::Alltoall => true,
        }
    }

    /// Whether a member takes others' blocks.
    pub fn takes(self, member: CommRank) -> bool {
        match self {
            Self::Gather(root) => member == root,
            Self::Scatter(root) => member != root,
            Self::Allgather | Self::Alltoall => true,
        }
    }

    /// Whether a block of a member's is its own.
    pub fn has_own(self, member: CommRank) -> bool {
        matches!(self, Self::Allgather | Self::Alltoall) || member == self.root()
    }

    /// Whether one member gives another one a block.
    pub fn goes(self, from: CommRank, to: CommRank) -> bool {
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
    pub fn root(self) -> CommRank {
        match self {
            Self::Gather(root) | Self::Scatter(root) => root,
            Self::Allgather | Self::Alltoall => CommRank(0),
        }
    }
}

/// What a member gives and takes.
pub struct Movement<'a> {
    /// Who gives to whom.
    pub pattern: Pattern,
    /// What members say alike of a block.
    pub agreed: Agreed,
    outgoing: &'a dyn Fn(CommRank) -> Memory,
    incoming: &'a dyn Fn(CommRank) -> Memory,
}

impl<'a> Movement<'a> {
    /// The block that goes to a member, and the place of that which comes from one.
    pub fn new(
        pattern: Pattern,
        agreed: Agreed,
        outgoing: &'a dyn Fn(CommRank) -> Memory,
        incoming: &'a dyn Fn(CommRank) -> Memory,
    ) -> Self {
        Self { pattern, agreed, outgoing, incoming }
    }

    /// The block that goes to a member.
    pub fn outgoing(&self, member: CommRank) -> Memory {
        (self.outgoing)(member)
    }

    /// The place of the block that comes from a member.
    pub fn incoming(&self, member: CommRank) -> Memory {
        (self.incoming)(member)
    }

    /// The blocks that go to so many members, from the first one on.
    ///
    /// # Safety
    /// They must lie one behind the other.
    pub(super) unsafe fn row(&self, members: u32) -> Memory {
        // SAFETY: the caller's promise.
        unsafe { Memory::new(self.outgoing(CommRank(0)).first(), self.agreed.bytes * members as usize) }
    }

    /// What members say when they meet.
    pub fn arrival(&self) -> Arrival {
        Arrival::board(self.pattern.root(), self.agreed.signature, self.agreed.bytes)
    }
}

/// A block that goes from one member to all others.
pub struct Broadcast {
    /// Who has it.
    pub root: CommRank,
    /// As a descriptor's operation carries it.
    pub signature: (u8, u8),
    /// Where it is, or goes.
    pub memory: Memory,
}

impl Broadcast {
    /// What members say when they meet.
    pub fn arrival(&self) -> Arrival {
        Arrival::board(self.root, self.signature, self.memory.bytes())
    }
}

//! Calls in which blocks go from member to member: gather, scatter, allgather and alltoall, with their v
//! and w forms (MPI-5.0, §6.5 to §6.8). Blocks become addresses and lengths here; how they go, `policy`
//! says.

use super::block::Agreed;
use crate::object::collective::Collective;
use crate::progress::meeting::Arrival;

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

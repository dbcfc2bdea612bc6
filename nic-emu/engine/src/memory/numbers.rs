//! Numbers of members, requests and slabs: a type for each, so that none is taken for another. Bare numbers
//! are in words of NIC memory and in records between nodes.

use bcs_core::id;

id! {
    /// A member of a communicator by its rank there: the sender of a message, or whom a call waits for.
    CommRank(u32), ""
}
id! {
    /// A request slot of a rank.
    RequestId(u32), ""
}
id! {
    /// A slab of a rank; of a run the first one.
    SlabId(u32), ""
}

impl CommRank {
    /// Of a receive: whoever sends (`MPI_ANY_SOURCE`).
    pub const ANY_SOURCE: Self = Self(u32::MAX);
    /// Of calls without a peer.
    pub const NOBODY: Self = Self(u32::MAX - 1);

    /// All members of a communicator of so many.
    pub fn all(size: u32) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..size).map(Self)
    }

    /// The member so many steps after this one, of so many in a ring.
    pub const fn after(self, steps: u32, size: u32) -> Self {
        Self((self.0 + steps) % size)
    }

    /// The one so many steps before it: as many at most as there are members.
    pub const fn before(self, steps: u32, size: u32) -> Self {
        Self((self.0 + size - steps) % size)
    }

    /// Steps from another member of the ring to this one.
    pub const fn steps_from(self, other: Self, size: u32) -> u32 {
        self.before(other.0, size).0
    }

    /// The member of the other half, of two blocks side by side of a power of two members each, that has this
    /// one's place there.
    pub const fn across(self, block: u32) -> Self {
        Self(self.0 ^ block)
    }
}

impl RequestId {
    /// No request: of a send that was complete when it was posted, and where nobody waits.
    pub const NONE: Self = Self(u32::MAX);
}

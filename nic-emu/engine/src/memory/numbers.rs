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
}

impl RequestId {
    /// No request: of a send that was complete when it was posted, and where nobody waits.
    pub const NONE: Self = Self(u32::MAX);
}

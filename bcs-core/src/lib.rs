//! The core of buffered coscheduling: the nouns that every other crate shares. Packages beside this one have
//! the three primitives and their networks (`bcs-fabric`, `bcs-quic`), who may be on them
//! (`bcs-credentials`), what daemons say to each other (`bcs-stream`), and a cluster's configuration file
//! (`bcs-config`).
//!
//! | module | holds |
//! |---|---|
//! | [`ids`] | names: ranks, nodes, jobs, slices |
//! | [`type_check`] | how closely the types of messages are compared |
//! | [`units`] | times, sizes and slices as users write them |
//! | [`node_set`] | sets of nodes, written `0-3,7` |
//! | [`placement`] | which ranks of a job run on which of its nodes |
//! | [`network_card`] | network cards for RDMA, and providers of libfabric |
//! | [`transport`] | what carries the networks of jobs |
//! | [`port_range`] | where networks listen |
//! | [`event`] | counting events |
//! | [`global_memory`] | data at the same address on all nodes |
//! | [`wire`] | how messages travel: rkyv, validated |
//!
//! The feature `damage` adds what the tests of decoders damage messages with.

#[cfg(any(test, feature = "damage"))]
pub mod damage;
pub mod event;
pub mod global_memory;
pub mod ids;
pub mod network_card;
pub mod node_set;
pub mod placement;
pub mod port_range;
pub mod transport;
pub mod type_check;
pub mod units;
pub mod wire;

pub use event::{EventId, EventTable};
pub use global_memory::{FlatMemory, GlobalAddress, GlobalMemory, GlobalVariable, SparseMemory};
pub use ids::{JobId, LocalRank, NodeId, Rank, SliceIndex};
pub use network_card::{NetworkCard, Provider};
pub use node_set::NodeSet;
pub use placement::{Placement, PlacementError};
pub use port_range::{PortRange, PortRangeError};
pub use transport::{Transport, TransportChoice, TransportError};
pub use type_check::TypeCheck;
pub use units::{ByteCount, SliceLength, TimeSpan};

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: damage::CountingAllocator = damage::CountingAllocator;

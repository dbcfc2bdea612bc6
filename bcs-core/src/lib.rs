//! The core of buffered coscheduling: the nouns that every other crate shares, and the three primitives.
//!
//! | module | holds |
//! |---|---|
//! | [`ids`] | names: ranks, nodes, jobs, contexts, slices |
//! | [`type_check`] | how closely the types of messages are compared |
//! | [`units`] | times, sizes and slices as users write them |
//! | [`config`] | a cluster's configuration file |
//! | [`credentials`] | who may be on a network |
//! | [`node_set`] | sets of nodes, written `0-3,7` |
//! | [`placement`] | which ranks of a job run on which of its nodes |
//! | [`event`] | counting events |
//! | [`global_memory`] | data at the same address on all nodes |
//! | `stream` | streams of messages between daemons, with TLS (a cargo feature) |
//! | [`wire`] | how messages travel: rkyv, validated |
//! | [`fabric`] | the three primitives as a trait, and the networks that implement it |
//!
//! The feature `conformance` adds `fabric::conformance`, the suite that every backend passes; the feature `damage`, what the tests of decoders
//! damage messages with.

pub mod config;
pub mod credentials;
#[cfg(any(test, feature = "damage"))]
pub mod damage;
pub mod event;
pub mod fabric;
pub mod global_memory;
pub mod ids;
pub mod mapped_memory;
pub mod node_set;
pub mod placement;
#[cfg(feature = "stream")]
pub mod stream;
mod tls;
pub mod type_check;
pub mod units;
pub mod wire;

pub use config::{Config, ConfigError};
pub use credentials::{Authority, Credential, CredentialError};
pub use event::{EventId, EventTable};
pub use fabric::{Assignment, Bytes, Comparison, Condition, Driven, Fabric, FabricError, Source, Ticket};
pub use global_memory::{FlatMemory, GlobalAddress, GlobalMemory, GlobalVariable, MemoryView, SparseMemory};
pub use ids::{ContextId, JobId, NodeId, Rank, SliceIndex};
pub use mapped_memory::{MapError, MappedMemory};
pub use node_set::NodeSet;
pub use placement::{Placement, PlacementError};
pub use type_check::TypeCheck;
pub use units::{ByteCount, SliceLength, TimeSpan};

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: damage::CountingAllocator = damage::CountingAllocator;

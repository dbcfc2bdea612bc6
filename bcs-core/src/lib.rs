//! The core of buffered coscheduling: the nouns that every other crate shares, and the three primitives.

pub mod ids;

pub use ids::{ContextId, JobId, NodeId, Rank, SliceIndex};

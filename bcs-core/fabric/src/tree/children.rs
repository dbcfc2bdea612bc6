//! The children of a node.

use bcs_core::ids::NodeId;
use smallvec::SmallVec;

/// The number of children of a node in the tree, unless the configuration says another one.
pub const DEFAULT_FANOUT: usize = 4;

/// The children of a node in one wave: those it still waits for.
pub(super) type Children = SmallVec<[NodeId; 4]>;

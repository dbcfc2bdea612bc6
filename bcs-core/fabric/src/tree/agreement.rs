//! What a node knows of an agreement about the operations of dead nodes.

use super::children::Children;
use super::message::{Commit, Round};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use std::collections::BTreeSet;

/// A round that this node leads.
#[derive(Debug)]
pub(super) struct Lead {
    pub(super) round: Round,
    pub(super) awaiting: Children,
    pub(super) commits: BTreeSet<Commit>,
}

/// The latest round that has reached this node.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) round: Round,
    /// The dead that the round is about; this node may know of more.
    pub(super) dead: NodeSet,
    pub(super) parent: NodeId,
    pub(super) awaiting: Children,
    pub(super) commits: BTreeSet<Commit>,
    pub(super) stage: PartStage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartStage {
    Inquired,
    Testified,
    Resolved,
}

/// This node's part in recoveries.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    pub(super) last_number: u64,
    pub(super) lead: Option<Lead>,
    pub(super) part: Option<Part>,
    /// The nodes that this node's own failure detector found dead: every arbiter is told.
    pub(super) declared: NodeSet,
    /// The dead nodes that still talk, and have been told.
    pub(super) notified: NodeSet,
}

/// Whether `from` was awaited; it is no longer. Everybody is asked once, and heard once.
pub(super) fn take_answer(awaiting: &mut Children, from: NodeId) -> bool {
    let before = awaiting.len();
    awaiting.retain(|child| *child != from);
    awaiting.len() < before
}

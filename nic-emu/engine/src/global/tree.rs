//! Trees of nodes: of those of a communicator, and of all of the job.

use bcs_core::{NodeId, NodeSet};

/// A node's place in the tree of a communicator's nodes: the lowest is the lead and the root.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Where this node sends what it has combined.
    pub parent: Option<NodeId>,
    /// The nodes that send to this one.
    pub children: Vec<NodeId>,
}

/// Children of a node in a tree of nodes.
pub(crate) const FANOUT: usize = 4;

impl Tree {
    /// The place of one of a group's nodes; none when it is not in the group.
    pub fn new(nodes: &NodeSet, here: NodeId) -> Option<Self> {
        let index = nodes.iter().position(|node| node == here)?;
        let parent = index.checked_sub(1).and_then(|before| nodes.iter().nth(before / FANOUT));
        let children = nodes.iter().skip(index * FANOUT + 1).take(FANOUT).collect();
        Some(Self { parent, children })
    }

    /// Whether this node is the lead.
    pub(crate) fn is_lead(&self) -> bool {
        self.parent.is_none()
    }
}

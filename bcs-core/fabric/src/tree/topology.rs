//! The tree: how a set of nodes is split below its root.
//!
//! A node that has `below` to reach sends to at most `fanout` children and leaves to each a contiguous part
//! of the rest, so the depth is logarithmic in the number of nodes, neighbours by number are neighbours in
//! the tree, and no node needs to know more of the set than its own part. Invariant: children and their parts
//! together are `below`, each node once.

use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;

/// Splits the nodes below a root: each child with the nodes below it.
pub fn children(below: &NodeSet, fanout: usize) -> Vec<(NodeId, NodeSet)> {
    debug_assert!(fanout > 0, "a tree that does not branch reaches nobody");
    let total = below.len();
    let count = fanout.min(total);
    let mut nodes = below.iter();
    (0..count)
        .filter_map(|child| {
            // The first `total % count` parts are one node larger.
            let size = total / count + usize::from(child < total % count);
            let head = nodes.next()?;
            Some((head, nodes.by_ref().take(size - 1).collect()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn walk(below: &NodeSet, fanout: usize, depth: u32, reached: &mut Vec<NodeId>, deepest: &mut u32) {
        *deepest = (*deepest).max(depth);
        let children = children(below, fanout);
        assert!(children.len() <= fanout);
        for (head, rest) in children {
            reached.push(head);
            walk(&rest, fanout, depth + 1, reached, deepest);
        }
    }

    proptest! {
        #[test]
        fn a_tree_reaches_every_node_once_in_logarithmic_depth(
            nodes in proptest::collection::btree_set(0..2000u32, 0..400), fanout in 2..9usize
        ) {
            let below: NodeSet = nodes.iter().map(|node| NodeId(*node)).collect();
            let (mut reached, mut deepest) = (Vec::new(), 0);
            walk(&below, fanout, 0, &mut reached, &mut deepest);
            reached.sort();
            prop_assert_eq!(reached, below.iter().collect::<Vec<_>>());
            let bound = ((nodes.len() + 1) as f64).log(fanout as f64).ceil() as u32 + 1;
            prop_assert!(deepest <= bound, "{} nodes, fanout {fanout}: depth {deepest}", nodes.len());
        }
    }
}

//! Which links to other nodes are up before a job's ranks start.

use super::port::JobFabric;
use bcs_core::{NodeId, NodeSet};
use nic_emu::global::{GlobalLayout, neighbours};

/// Nodes of a job up to which all links are up before its ranks start, where ranks can drive them: they
/// inherit those that are up. To bring up a link takes each end some 0.5 ms.
pub const MESHED_NODES: u32 = 8;

/// The nodes of a job of so many to which this one needs a link before its ranks start: with few nodes all of
/// them, else those next to it in the tree of global slices. Other links come up when they are needed.
pub fn linked_at_start(fabric: &JobFabric, nodes: u32) -> NodeSet {
    linked(fabric.node(), nodes, fabric.has_links_to_share())
}

fn linked(node: NodeId, nodes: u32, ranks_drive: bool) -> NodeSet {
    match ranks_drive && nodes <= MESHED_NODES {
        true => NodeSet::all(nodes).iter().filter(|other| *other != node).collect(),
        false => neighbours(GlobalLayout::new(nodes), node),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_few_nodes_find_all_links_up_and_those_of_many_the_tree() {
        for (nodes, ranks_drive) in [
            (2, true),
            (MESHED_NODES, true),
            (MESHED_NODES + 1, true),
            (2, false),
            (MESHED_NODES, false),
            (300, true),
        ] {
            let is_meshed = ranks_drive && nodes <= MESHED_NODES;
            let of_all: Vec<NodeSet> =
                (0..nodes).map(|node| linked(NodeId(node), nodes, ranks_drive)).collect();
            for (node, linked) in (0..).map(NodeId).zip(&of_all) {
                assert!(!linked.contains(node), "{node} of {nodes}");
                assert!(linked.iter().all(|other| of_all[other.index()].contains(node)), "{node} of {nodes}");
                let of_tree = neighbours(GlobalLayout::new(nodes), node);
                assert!(of_tree.iter().all(|other| linked.contains(other)), "{node} of {nodes}");
                match is_meshed {
                    true => assert_eq!(linked.iter().count() as u32, nodes - 1, "{node} of {nodes}"),
                    false => assert_eq!(*linked, of_tree, "{node} of {nodes}"),
                }
            }
        }
    }
}

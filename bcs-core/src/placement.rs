//! Placement: which ranks of a job run on which of its nodes (paper, §4.1).
//!
//! Within a job nodes are numbered from 0, the lead node; on a node, ranks have local ranks in the order of
//! their numbers. Invariant: every rank is on exactly one node, and every node has at least one rank.

use crate::ids::{LocalRank, NodeId, Rank};
use serde::{Deserialize, Serialize};

/// Where the ranks of a job are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u32>", into = "Vec<u32>")]
pub struct Placement {
    /// By rank: the node, and the local rank there.
    places: Vec<(u32, u32)>,
    /// By node: its ranks.
    nodes: Vec<Vec<Rank>>,
}

/// Why nodes of ranks are no placement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// There are no ranks.
    #[error("a job of no ranks cannot be placed: it needs at least one")]
    Empty,
    /// Nodes are not numbered through.
    #[error("{node} of the job has no rank, but {last} has one: number the nodes that are used from 0")]
    Gap {
        /// The node without ranks.
        node: NodeId,
        /// The highest one.
        last: NodeId,
    },
}

impl Placement {
    /// All ranks on one node.
    pub fn one_node(ranks: u32) -> Self {
        Self {
            places: (0..ranks).map(|rank| (0, rank)).collect(),
            nodes: vec![(0..ranks).map(Rank).collect()],
        }
    }

    /// The placement that has each rank on this node of the job.
    ///
    /// # Errors
    /// There is no rank, or a node has none.
    pub fn by_rank(nodes_of_ranks: &[u32]) -> Result<Self, PlacementError> {
        let last = *nodes_of_ranks.iter().max().ok_or(PlacementError::Empty)?;
        // A gap is found before anything is sized by a number that somebody sent: nodes cannot be more than
        // ranks.
        let count = (last as usize).min(nodes_of_ranks.len());
        let mut nodes = vec![Vec::new(); count + 1];
        let mut places = Vec::with_capacity(nodes_of_ranks.len());
        for (rank, &node) in (0..).zip(nodes_of_ranks) {
            let Some(ranks) = nodes.get_mut(node as usize) else { continue };
            places.push((node, ranks.len() as u32));
            ranks.push(Rank(rank));
        }
        match nodes.iter().position(Vec::is_empty) {
            Some(gap) => Err(PlacementError::Gap { node: NodeId(gap as u32), last: NodeId(last) }),
            None => Ok(Self { places, nodes }),
        }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.places.len() as u32
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The ranks of a node, by local rank; none for a node that the job does not have.
    pub fn ranks_of(&self, node: NodeId) -> &[Rank] {
        self.nodes.get(node.index()).map_or(&[], Vec::as_slice)
    }

    /// How many ranks a node has.
    pub fn ranks_on(&self, node: NodeId) -> u32 {
        self.ranks_of(node).len() as u32
    }

    /// The node of a rank and its number there, if the job has it.
    pub fn place(&self, rank: Rank) -> Option<(NodeId, LocalRank)> {
        self.places.get(rank.index()).map(|&(node, local)| (NodeId(node), LocalRank(local)))
    }
}

impl TryFrom<Vec<u32>> for Placement {
    type Error = PlacementError;

    fn try_from(nodes_of_ranks: Vec<u32>) -> Result<Self, PlacementError> {
        Self::by_rank(&nodes_of_ranks)
    }
}

impl From<Placement> for Vec<u32> {
    fn from(placement: Placement) -> Self {
        placement.places.into_iter().map(|(node, _)| node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_have_local_indices_in_the_order_of_their_numbers() {
        let placement = Placement::by_rank(&[1, 0, 1, 1, 0]).unwrap();
        assert_eq!(placement.ranks_of(NodeId(0)), [Rank(1), Rank(4)]);
        assert_eq!(placement.ranks_of(NodeId(1)), [Rank(0), Rank(2), Rank(3)]);
        assert_eq!(placement.place(Rank(3)), Some((NodeId(1), LocalRank(2))));
        assert_eq!([0, 1, 2].map(|node| placement.ranks_on(NodeId(node))), [2, 3, 0]);
        assert_eq!(placement.place(Rank(5)), None);
        assert_eq!(Placement::one_node(3), Placement::by_rank(&[0, 0, 0]).unwrap());
    }

    #[test]
    fn nodes_without_ranks_are_refused_whatever_their_number() {
        assert_eq!(Placement::by_rank(&[]), Err(PlacementError::Empty));
        let gap = |node, last| Err(PlacementError::Gap { node: NodeId(node), last: NodeId(last) });
        assert_eq!(Placement::by_rank(&[0, 2]), gap(1, 2));
        assert_eq!(Placement::by_rank(&[u32::MAX]), gap(0, u32::MAX));
        assert_eq!(Placement::by_rank(&[0, u32::MAX]), gap(1, u32::MAX));
    }

    proptest! {
        #[test]
        fn a_placement_is_what_its_nodes_by_rank_make(nodes in proptest::collection::vec(0u32..6, 0..40)) {
            if let Ok(placement) = Placement::by_rank(&nodes) {
                prop_assert_eq!(Vec::from(placement.clone()), nodes.clone());
                for rank in (0..placement.ranks()).map(Rank) {
                    let (node, local) = placement.place(rank).unwrap();
                    prop_assert_eq!(placement.ranks_of(node)[local.index()], rank);
                }
            } else {
                let last = nodes.iter().max().copied().unwrap_or(0);
                prop_assert!((0..=last).any(|node| !nodes.contains(&node)));
            }
        }
    }
}

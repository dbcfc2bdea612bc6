//! The neighbours of a process in neighbourhood collectives (MPI-5.0, §8.6): what does not change from call
//! to call, computed when the topology is made.
//!
//! Several edges may join the same two members; what goes along them arrives in the order of posting. On a
//! grid, what goes down a dimension arrives from above: with a periodic dimension of two members, or one, the
//! two edges have the same ends, and are received in that order.

use super::cached::Topology;
use nic_emu::memory::numbers::CommRank;

/// An edge to another member: its index among the process's blocks, and the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Which block.
    pub block: u32,
    /// The member's rank.
    pub peer: CommRank,
}

/// The edges of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// Blocks that it receives: one for each source, MPI_PROC_NULL included.
    pub sources: usize,
    /// Blocks that it sends.
    pub destinations: usize,
    /// Edges from other members, those from the same one in the order in which their messages come.
    pub incoming: Box<[Edge]>,
    /// Edges to other members.
    pub outgoing: Box<[Edge]>,
    /// Edges to itself: the block that it sends, and the one that it receives.
    pub own: Box<[(u32, u32)]>,
}

impl Neighbours {
    /// Those of a process in a topology, in the standard's order: in a grid the neighbours one step back and
    /// one step on, dimension by dimension, none beyond a border; in a graph the neighbours in the order in
    /// which they were given, as sources and as destinations; in a distributed graph what
    /// MPI_Dist_graph_neighbors answers.
    pub fn of(topology: &Topology, rank: CommRank) -> Self {
        let all = |of: &[CommRank]| -> Vec<Option<CommRank>> { of.iter().copied().map(Some).collect() };
        match topology {
            Topology::Cartesian(grid) => {
                let steps = (0..grid.dims.len()).flat_map(|dimension| [(dimension, -1), (dimension, 1)]);
                let peers: Vec<_> = steps.map(|(d, steps)| grid.neighbour(rank, d, steps)).collect();
                Self::along(rank, &peers, |edge| edge ^ 1, &peers)
            }
            Topology::Graph(graph) => {
                let peers = all(graph.neighbours(rank));
                Self::along(rank, &peers, |edge| edge, &peers)
            }
            Topology::Distributed(of) => {
                Self::along(rank, &all(&of.sources), |edge| edge, &all(&of.destinations))
            }
        }
    }

    /// `nth` says which source is received from as the nth.
    fn along(
        rank: CommRank,
        sources: &[Option<CommRank>],
        nth: impl Fn(usize) -> usize,
        destinations: &[Option<CommRank>],
    ) -> Self {
        let edge = |block: usize, peer: Option<CommRank>| peer.map(|peer| Edge { block: block as u32, peer });
        let order = (0..sources.len()).map(nth);
        let mut incoming: Vec<Edge> = order.filter_map(|block| edge(block, sources[block])).collect();
        let mut outgoing: Vec<Edge> =
            destinations.iter().enumerate().filter_map(|(block, &peer)| edge(block, peer)).collect();
        let mut own = Vec::new();
        // One end of an edge to itself without the other stays: it waits for ever, which is told.
        let is_own = |edge: &Edge| edge.peer == rank;
        while let (Some(to), Some(from)) =
            (outgoing.iter().position(is_own), incoming.iter().position(is_own))
        {
            own.push((outgoing.remove(to).block, incoming.remove(from).block));
        }
        Self {
            sources: sources.len(),
            destinations: destinations.len(),
            incoming: incoming.into(),
            outgoing: outgoing.into(),
            own: own.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Neighbourhood;
    use super::super::grid::tests::grids;
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    proptest! {
        #[test]
        fn on_a_grid_what_goes_down_a_dimension_arrives_from_above(grid in grids()) {
            let topology = Topology::Cartesian(Arc::new(grid.clone()));
            let all: Vec<_> =
                CommRank::all(grid.size()).map(|rank| Neighbours::of(&topology, rank)).collect();
            for (rank, of) in CommRank::all(grid.size()).zip(&all) {
                prop_assert!(of.own.iter().all(|(to, from)| to ^ 1 == *from));
                for (at, edge) in of.outgoing.iter().enumerate() {
                    // The how-manieth edge to that member it is says which one it is there.
                    let before = of.outgoing[..at].iter().filter(|other| other.peer == edge.peer).count();
                    let there = all[edge.peer.index()].incoming.iter().filter(|other| other.peer == rank).nth(before);
                    prop_assert_eq!(there.map(|there| there.block), Some(edge.block ^ 1));
                }
                let outgoing = all.iter().flat_map(|other| &other.outgoing);
                let incoming = outgoing.filter(|edge| edge.peer == rank).count();
                prop_assert_eq!(incoming, of.incoming.len());
            }
        }
    }

    #[test]
    fn edges_of_a_member_to_itself_need_two_ends() {
        let of = |sources: &[u32], destinations: &[u32]| {
            let ranks = |of: &[u32]| of.iter().copied().map(CommRank).collect();
            let (sources, destinations) = (ranks(sources), ranks(destinations));
            let graph = Neighbourhood { sources, destinations, weights: None };
            Neighbours::of(&Topology::Distributed(Arc::new(graph)), CommRank(1))
        };
        let edge = |block, peer| Edge { block, peer: CommRank(peer) };
        let both = of(&[0, 1, 0, 1], &[1, 2, 1]);
        assert_eq!(*both.own, [(0, 1), (2, 3)]);
        assert_eq!((&*both.incoming, &*both.outgoing), (&[edge(0, 0), edge(2, 0)][..], &[edge(1, 2)][..]));
        let one = of(&[1], &[0]);
        assert_eq!((one.own.len(), &*one.incoming), (0, &[edge(0, 1)][..]));
    }
}

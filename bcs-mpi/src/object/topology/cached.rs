//! What is cached with a communicator that has a topology: a grid, or a graph (MPI-5.0, §8.5).

use super::Grid;
use crate::constants::{MPI_CART, MPI_DIST_GRAPH, MPI_GRAPH};
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_int;
use std::sync::Arc;

/// A topology.
#[derive(Clone, Debug)]
pub enum Topology {
    /// Of MPI_Cart_create and MPI_Cart_sub.
    Cartesian(Arc<Grid>),
    /// Of MPI_Graph_create.
    Graph(Arc<Graph>),
    /// Of MPI_Dist_graph_create and MPI_Dist_graph_create_adjacent.
    Distributed(Arc<Neighbourhood>),
}

impl Topology {
    /// What MPI_Topo_test answers, and what messages call it.
    pub fn about(&self) -> (c_int, &'static str) {
        match self {
            Topology::Cartesian(_) => (MPI_CART, "a Cartesian topology"),
            Topology::Graph(_) => (MPI_GRAPH, "a graph topology"),
            Topology::Distributed(_) => (MPI_DIST_GRAPH, "a distributed graph topology"),
        }
    }
}

/// A graph over the ranks of a communicator, of which every process knows all (§8.5.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the neighbours of each node end in `edges`.
    pub ends: Box<[u32]>,
    /// The neighbours of all nodes, one after the other.
    pub edges: Box<[CommRank]>,
}

impl Graph {
    /// The neighbours of a node, in the order in which they were given.
    pub fn neighbours(&self, node: CommRank) -> &[CommRank] {
        let start = node.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.edges[start as usize..self.ends[node.index()] as usize]
    }
}

/// What a process knows of a distributed graph: its own edges (§8.5.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbourhood {
    /// Where edges come from.
    pub sources: Box<[CommRank]>,
    /// Where edges lead to.
    pub destinations: Box<[CommRank]>,
    /// The weights of both, where the graph has weights.
    pub weights: Option<[Box<[c_int]>; 2]>,
}

//! What is cached with a communicator that has a topology.

use super::{Graph, Grid, Neighbourhood};
use crate::constants::{MPI_CART, MPI_DIST_GRAPH, MPI_GRAPH};
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
    /// What MPI_Topo_test answers.
    pub fn kind(&self) -> c_int {
        match self {
            Topology::Cartesian(_) => MPI_CART,
            Topology::Graph(_) => MPI_GRAPH,
            Topology::Distributed(_) => MPI_DIST_GRAPH,
        }
    }

    /// What messages call it.
    pub fn noun(&self) -> &'static str {
        match self {
            Topology::Cartesian(_) => "a Cartesian topology",
            Topology::Graph(_) => "a graph topology",
            Topology::Distributed(_) => "a distributed graph topology",
        }
    }
}

//! Process topologies: grids and graphs over the ranks of a communicator (MPI-5.0, chapter 8).
//!
//! A topology is cached with its communicator and goes with it when that is duplicated. Ranks are not reordered: processes of one node are equally near
//! to each other.

pub mod cartesian;
pub mod dims;
pub mod distributed;
pub mod graph;
pub mod grid;
pub mod neighbours;
pub mod wiring;

use crate::communicator::Communicator;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::process::{self, Process};
use grid::Grid;
use neighbours::Neighbours;
use std::ffi::c_int;
use std::sync::Arc;

pub use dims::dims_create;

/// What is cached with a communicator.
#[derive(Clone, Debug)]
pub enum Topology {
    /// Of MPI_Cart_create and MPI_Cart_sub.
    Cartesian(Arc<Grid>),
    /// Of MPI_Graph_create.
    Graph(Arc<graph::Graph>),
    /// Of MPI_Dist_graph_create and MPI_Dist_graph_create_adjacent.
    Distributed(Arc<distributed::Neighbourhood>),
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

    fn noun(&self) -> &'static str {
        match self {
            Topology::Cartesian(_) => "a Cartesian topology",
            Topology::Graph(_) => "a graph topology",
            Topology::Distributed(_) => "a distributed graph topology",
        }
    }
}

/// A communicator without the topology that a call is about.
#[cold]
fn wrong_topology(communicator: &Communicator, wanted: &str) -> MpiError {
    let has = communicator.topology.as_ref().map_or("no topology", Topology::noun);
    let value = format!("{}, which has {has}", communicator.title());
    MpiError::argument(MPI_ERR_TOPOLOGY, "comm", value, format!("it has to be one with {wanted}"))
}

/// MPI_Topo_test.
///
/// # Errors
/// No such communicator.
pub fn test(comm: MPI_Comm) -> MpiResult<c_int> {
    Ok(process::enter()?.communicator(comm)?.topology.as_ref().map_or(MPI_UNDEFINED, Topology::kind))
}

fn named(rank: Option<u32>) -> c_int {
    rank.map_or(MPI_PROC_NULL, |rank| rank as c_int)
}

/// The neighbours of this process in neighbourhood collectives of a communicator.
///
/// # Errors
/// No such communicator, or one without a topology.
pub fn neighbours(process: &Process, comm: MPI_Comm) -> MpiResult<Arc<Neighbours>> {
    let communicator = process.communicator(comm)?;
    match &communicator.neighbours {
        Some(neighbours) => Ok(neighbours.clone()),
        None => Err(wrong_topology(communicator, "a topology")),
    }
}

/// The rank of an argument in a communicator.
fn member(communicator: &Communicator, argument: &'static str, value: c_int) -> MpiResult<u32> {
    communicator.peer(argument, value)?.ok_or_else(|| {
        let allowed = format!("{} has ranks 0..{}", communicator.title(), communicator.size - 1);
        MpiError::argument(MPI_ERR_RANK, argument, "MPI_PROC_NULL", allowed)
    })
}

/// An array of results that is too short.
#[cold]
fn too_short(class: c_int, argument: &'static str, value: c_int, wanted: usize) -> MpiError {
    MpiError::argument(
        class,
        argument,
        value,
        format!("the topology has {wanted}, which the array has to hold"),
    )
}

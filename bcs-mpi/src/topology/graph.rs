//! Graph topologies, of which every process knows all (MPI-5.0, §8.5.3, §8.5.5).

use super::{ints, too_short};
use crate::communicator::new::{self, Kin};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::Communicator;
use crate::object::topology::{Graph, Topology};
use crate::process;
use mds::Primitive;
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_int;
use std::sync::Arc;

/// The graph of a call's arguments, for at most as many processes as the communicator has. `edges` reads so
/// many.
fn checked_graph(
    communicator: &Communicator,
    index: &[c_int],
    edges: impl FnOnce(usize) -> MpiResult<Vec<c_int>>,
) -> MpiResult<Graph> {
    let nodes = index.len();
    if nodes > communicator.size as usize {
        let allowed = format!("{} has {} processes", communicator.title(), communicator.size);
        return Err(MpiError::argument(MPI_ERR_TOPOLOGY, "nnodes", nodes, allowed));
    }
    let mut before = 0;
    for &end in index {
        if end < before {
            let allowed =
                format!("the ends of nodes' edges must not decrease, and the one before is {before}");
            return Err(MpiError::argument(MPI_ERR_ARG, "indx", end, allowed));
        }
        before = end;
    }
    let edges = edges(before as usize)?;
    if let Some(edge) = edges.iter().find(|&&edge| edge < 0 || edge as usize >= nodes) {
        let allowed = format!("the graph has the nodes 0..{}", nodes as i64 - 1);
        return Err(MpiError::argument(MPI_ERR_ARG, "edges", edge, allowed));
    }
    Ok(Graph {
        ends: index.iter().map(|&end| end as u32).collect(),
        edges: edges.iter().map(|&edge| CommRank(edge as u32)).collect(),
    })
}

/// MPI_Graph_create; ranks keep their order, and those beyond the graph get MPI_COMM_NULL.
///
/// # Errors
/// No such intracommunicator, more nodes than processes, or arrays that describe no graph.
pub fn create(
    comm: MPI_Comm,
    index: &[c_int],
    edges: impl FnOnce(usize) -> MpiResult<Vec<c_int>>,
) -> MpiResult<MPI_Comm> {
    let mut process = process::enter()?;
    let communicator = process.intracommunicator("comm_old", comm)?;
    let graph = checked_graph(communicator, index, edges)?;
    let group = communicator.group.first(index.len() as u32);
    let kin = Kin { topology: Some(Topology::Graph(Arc::new(graph))), ..Kin::default() };
    new::part_of(&mut process, Primitive::GraphCreate, comm, group, kin)
}

/// MPI_Graph_map: the rank that [`create()`] would give this process.
///
/// # Errors
/// As [`create()`].
pub fn map(
    comm: MPI_Comm,
    index: &[c_int],
    edges: impl FnOnce(usize) -> MpiResult<Vec<c_int>>,
) -> MpiResult<c_int> {
    let process = process::enter()?;
    let communicator = process.intracommunicator("comm", comm)?;
    checked_graph(communicator, index, edges)?;
    let CommRank(rank) = communicator.rank;
    Ok(if (rank as usize) < index.len() { rank as c_int } else { MPI_UNDEFINED })
}

/// The graph of a communicator.
fn graph_of(communicator: &Communicator) -> MpiResult<&Arc<Graph>> {
    match &communicator.topology {
        Some(Topology::Graph(graph)) => Ok(graph),
        _ => Err(communicator.wrong_topology("a graph topology")),
    }
}

/// The graph itself: MPI_Graphdims_get and MPI_Graph_get.
///
/// # Errors
/// No such communicator, or one without a graph.
pub fn get(comm: MPI_Comm) -> MpiResult<Arc<Graph>> {
    Ok(graph_of(process::enter()?.communicator(comm)?)?.clone())
}

/// A node's neighbours: MPI_Graph_neighbors_count and MPI_Graph_neighbors.
///
/// # Errors
/// No such communicator, one without a graph, or a rank out of range.
pub fn neighbours(comm: MPI_Comm, rank: c_int) -> MpiResult<Vec<c_int>> {
    let process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let graph = graph_of(communicator)?;
    let node = communicator.member("rank", rank)?;
    Ok(ints(graph.neighbours(node)))
}

/// The part of an array of results that there is room for.
///
/// # Errors
/// A negative room.
pub fn fitting<'a, T>(argument: &'static str, room: c_int, values: &'a [T]) -> MpiResult<&'a [T]> {
    match usize::try_from(room) {
        Ok(room) => Ok(&values[..values.len().min(room)]),
        Err(_) => Err(too_short(MPI_ERR_ARG, argument, room, values.len())),
    }
}

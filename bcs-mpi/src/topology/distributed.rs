//! Distributed graph topologies, of which every process knows its own edges (MPI-5.0, §8.5.4, §8.5.5).
//!
//! MPI_Dist_graph_create sends every edge to both its ends, in one exchange of counts and one of edges. A
//! process's edges are then in the order of the ranks that gave them, and of each rank's in the order in
//! which it gave them.

use crate::collective::buffers::Everyone;
use crate::collective::forms::{Call, alltoall};
use crate::collective::places::{Numbers, Places};
use crate::communicator::hints::tell_of_new;
use crate::communicator::new::{self, Kin};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::hints::Hints;
use crate::object::topology::{Neighbourhood, Topology};
use crate::process;
use mds::Primitive;
use nic_emu::memory::numbers::CommRank;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// The ranks of an argument, which members of the intracommunicator have to have.
fn checked(comm: MPI_Comm, argument: &'static str, ranks: &[c_int]) -> MpiResult<Box<[CommRank]>> {
    let process = process::enter()?;
    let communicator = process.intracommunicator("comm_old", comm)?;
    ranks.iter().map(|&rank| communicator.member(argument, rank)).collect()
}

fn checked_weights(argument: &'static str, weights: Option<&[c_int]>) -> MpiResult {
    match weights.and_then(|weights| weights.iter().find(|&&weight| weight < 0)) {
        Some(weight) => {
            Err(MpiError::argument(MPI_ERR_ARG, argument, weight, "weights must not be negative"))
        }
        None => Ok(()),
    }
}

/// Edges at one side of a process: the other ends, and the weights unless the graph has none.
pub type EdgesAtSide<'a> = (&'a [c_int], Option<&'a [c_int]>);

/// MPI_Dist_graph_create_adjacent.
///
/// # Errors
/// No such intracommunicator, a rank out of range, negative weights, or weights at one side only.
pub fn create_adjacent(
    comm: MPI_Comm,
    sources: EdgesAtSide<'_>,
    destinations: EdgesAtSide<'_>,
    info: MPI_Info,
) -> MpiResult<MPI_Comm> {
    let from = checked(comm, "sources", sources.0)?;
    let to = checked(comm, "destinations", destinations.0)?;
    checked_weights("sourceweights", sources.1)?;
    checked_weights("destweights", destinations.1)?;
    let weights = match (sources.1, destinations.1) {
        (Some(sources), Some(destinations)) => Some([sources.into(), destinations.into()]),
        (None, None) => None,
        _ => {
            let value = "of another kind than 'sourceweights'";
            let allowed = "MPI_UNWEIGHTED stands for all weights of a graph or for none";
            return Err(MpiError::argument(MPI_ERR_ARG, "destweights", value, allowed));
        }
    };
    let own = Neighbourhood { sources: from, destinations: to, weights };
    made(Primitive::DistGraphCreateAdjacent, comm, own, info)
}

/// The new communicator of a process with these edges and hints.
fn made(call: Primitive, comm: MPI_Comm, own: Neighbourhood, info: MPI_Info) -> MpiResult<MPI_Comm> {
    let topology = Some(Topology::Distributed(Arc::new(own)));
    let kin = Kin { topology, hints: Hints::of(info)?, ..Kin::default() };
    let mut process = process::enter()?;
    let group = process.communicator(comm)?.group.clone();
    let new = new::part_of(&mut process, call, comm, group, kin)?;
    tell_of_new(&mut process, call, new)?;
    Ok(new)
}

/// Numbers of an edge on its way to one of its ends: whether that is where it leads to, the other end, its
/// weight.
const NUMBERS: usize = 3;

/// MPI_Dist_graph_create: `degrees[i]` edges lead from `sources[i]`, to the next so many `destinations`.
///
/// # Errors
/// No such intracommunicator, a rank out of range, or a negative degree or weight.
pub fn create(
    comm: MPI_Comm,
    sources: &[c_int],
    degrees: &[c_int],
    destinations: &[c_int],
    weights: Option<&[c_int]>,
    info: MPI_Info,
) -> MpiResult<MPI_Comm> {
    let from = checked(comm, "sources", sources)?;
    let to = checked(comm, "destinations", destinations)?;
    checked_weights("weights", weights)?;
    let starts =
        from.iter().zip(degrees).flat_map(|(&from, &degree)| std::iter::repeat_n(from, degree as usize));
    let mut outgoing: Vec<(CommRank, [c_int; NUMBERS])> = Vec::with_capacity(2 * to.len());
    for (i, (start, &end)) in starts.zip(&to).enumerate() {
        let weight = weights.map_or(0, |weights| weights[i]);
        outgoing.push((start, [0, end.0 as c_int, weight]));
        outgoing.push((end, [1, start.0 as c_int, weight]));
    }
    // Stable: a rank's edges stay in their order.
    outgoing.sort_by_key(|(rank, _)| *rank);
    let incoming = bring(comm, &outgoing)?;
    let side = |side: c_int| incoming.iter().filter(move |edge| edge[0] == side);
    let ranks = |at: c_int| side(at).map(|edge| CommRank(edge[1] as u32)).collect();
    let weights_at = |at: c_int| -> Box<[c_int]> { side(at).map(|edge| edge[2]).collect() };
    let own = Neighbourhood {
        sources: ranks(1),
        destinations: ranks(0),
        weights: weights.map(|_| [weights_at(1), weights_at(0)]),
    };
    made(Primitive::DistGraphCreate, comm, own, info)
}

/// Brings edges, sorted by rank, to their ranks.
fn bring(comm: MPI_Comm, outgoing: &[(CommRank, [c_int; NUMBERS])]) -> MpiResult<Vec<[c_int; NUMBERS]>> {
    let size = process::enter()?.communicator(comm)?.size as usize;
    let exchange = |from: *const c_void, sent: Places, to: *mut c_void, received: Places| {
        let call = Call::blocking(Primitive::DistGraphCreate, comm);
        // SAFETY: the buffers have what their places say, which are of every member.
        unsafe { alltoall(call, &Everyone::new(from, sent), &Everyone::new(to, received)) }
    };
    let mut send_counts = vec![0_i64; size];
    outgoing.iter().for_each(|(rank, _)| send_counts[rank.index()] += NUMBERS as i64);
    let mut receive_counts = vec![0_i64; size];
    let each = Places::Equal(1, MPI_INT64_T);
    exchange(send_counts.as_ptr().cast(), each, receive_counts.as_mut_ptr().cast(), each)?;
    let (send_starts, _) = starts(&send_counts);
    let (receive_starts, total) = starts(&receive_counts);
    let numbers: Vec<c_int> = outgoing.iter().flat_map(|(_, edge)| *edge).collect();
    let mut edges = vec![[0; NUMBERS]; total / NUMBERS];
    let vector = |counts: &[i64], starts: &[i64]| {
        let (counts, starts) = (Numbers::Large(counts.as_ptr()), Numbers::Large(starts.as_ptr()));
        Places::Vector(counts, starts, MPI_INT)
    };
    let (sent, received) = (vector(&send_counts, &send_starts), vector(&receive_counts, &receive_starts));
    exchange(numbers.as_ptr().cast(), sent, edges.as_mut_ptr().cast(), received)?;
    Ok(edges)
}

/// Where blocks of these counts begin, one after the other, and where the last one ends.
fn starts(counts: &[i64]) -> (Vec<i64>, usize) {
    let mut next = 0;
    let start = |count| {
        next += count;
        next - count
    };
    let starts = counts.iter().map(start).collect();
    (starts, next as usize)
}

/// This process's edges: MPI_Dist_graph_neighbors_count and MPI_Dist_graph_neighbors.
///
/// # Errors
/// No such communicator, or one without a distributed graph.
pub fn get(comm: MPI_Comm) -> MpiResult<Arc<Neighbourhood>> {
    let process = process::enter()?;
    let communicator = process.communicator(comm)?;
    match &communicator.topology {
        Some(Topology::Distributed(own)) => Ok(own.clone()),
        _ => Err(communicator.wrong_topology("a distributed graph topology")),
    }
}

//! Chapter 8: process topologies.

use crate::edge::{array, handle, place, read_only, store_all};
use bcs_mpi::constants::*;
use bcs_mpi::error::{MpiError, MpiResult};
use bcs_mpi::info;
use bcs_mpi::topology::{self, cartesian, distributed, graph};
use std::ffi::c_int;

/// An array of the program that is read, of a number of dimensions.
unsafe fn dimensions<'a>(at: *const c_int, count: c_int, name: &'static str) -> MpiResult<&'a [c_int]> {
    if count < 0 {
        return Err(MpiError::argument(MPI_ERR_DIMS, "ndims", count, "it must not be negative"));
    }
    // SAFETY: the caller's promise.
    unsafe { read_only(at, count.into(), [name, "ndims"]) }
}

/// Weights of so many edges; none for MPI_UNWEIGHTED.
unsafe fn weights<'a>(at: *const c_int, count: c_int, name: &'static str) -> MpiResult<Option<&'a [c_int]>> {
    if at.cast_mut() == MPI_UNWEIGHTED {
        return Ok(None);
    }
    if at.cast_mut() == MPI_WEIGHTS_EMPTY {
        if count == 0 {
            return Ok(Some(&[]));
        }
        let allowed = format!("it stands for no weights, and there are {count} edges");
        return Err(MpiError::argument(MPI_ERR_ARG, name, "MPI_WEIGHTS_EMPTY", allowed));
    }
    // SAFETY: the caller's promise.
    unsafe { read_only(at, count.into(), [name, "n"]) }.map(Some)
}

/// Stores weights, unless the program does not want them.
unsafe fn store_weights(all: &[c_int], to: *mut c_int, name: &'static str) -> MpiResult {
    if to == MPI_UNWEIGHTED || to == MPI_WEIGHTS_EMPTY {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { store_all(all, to, name) }
}

/// As many numbers as the topology asks for.
unsafe fn read(at: *const c_int, name: &'static str) -> impl FnOnce(usize) -> MpiResult<Vec<c_int>> {
    // SAFETY: the caller's promise: the array has what the call is to read.
    move |count| Ok(unsafe { read_only(at, count as i64, [name, "count"])? }.to_vec())
}

fn sum(degrees: &[c_int]) -> MpiResult<c_int> {
    let mut sum: c_int = 0;
    for &degree in degrees {
        let next = if degree < 0 { None } else { sum.checked_add(degree) };
        let allowed = "degrees must not be negative, nor more than an int in all";
        sum = next.ok_or_else(|| MpiError::argument(MPI_ERR_ARG, "degrees", degree, allowed))?;
    }
    Ok(sum)
}

fn as_ints(of: &[u32]) -> Vec<c_int> {
    of.iter().map(|&rank| rank as c_int).collect()
}

calls! {
    call MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) [] {
        dimensions(dims, ndims, "dims")?;
        topology::dims_create(nnodes, array(dims, ndims, ["dims", "ndims"])?)?
    }
    call MPI_Topo_test(comm: MPI_Comm, status: *mut c_int) [on comm] {
        place(status, "status")?.set(topology::test(comm)?)
    }
    call MPI_Cart_create(
        comm_old: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, _reorder: c_int,
        comm_cart: *mut MPI_Comm,
    ) [time CartCreate(0) on comm_old] {
        let comm_cart = handle(comm_cart, "comm_cart")?;
        let (dims, periods) = (dimensions(dims, ndims, "dims")?, dimensions(periods, ndims, "periods")?);
        comm_cart.set(cartesian::create(comm_old, dims, periods)?)
    }
    call MPI_Cart_map(
        comm: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, newrank: *mut c_int,
    ) [on comm] {
        let newrank = place(newrank, "newrank")?;
        let (dims, periods) = (dimensions(dims, ndims, "dims")?, dimensions(periods, ndims, "periods")?);
        newrank.set(cartesian::map(comm, dims, periods)?)
    }
    call MPI_Cart_sub(comm: MPI_Comm, remain_dims: *const c_int, newcomm: *mut MPI_Comm)
    [time CartSub(0) on comm] {
        let newcomm = handle(newcomm, "newcomm")?;
        let remain = |count| Ok(read(remain_dims, "remain_dims")(count)?.iter().map(|&keep| keep != 0).collect());
        newcomm.set(cartesian::sub(comm, remain)?)
    }
    call MPI_Cartdim_get(comm: MPI_Comm, ndims: *mut c_int) [on comm] {
        place(ndims, "ndims")?.set(cartesian::dimensions(comm)?)
    }
    call MPI_Cart_get(
        comm: MPI_Comm, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int,
    ) [on comm] {
        let position = cartesian::get(comm, maxdims)?;
        store_all(&position.dims, dims, "dims")?;
        store_all(&position.periods, periods, "periods")?;
        store_all(&position.coords, coords, "coords")?
    }
    call MPI_Cart_coords(comm: MPI_Comm, rank: c_int, maxdims: c_int, coords: *mut c_int) [on comm] {
        store_all(&cartesian::coords(comm, rank, maxdims)?, coords, "coords")?
    }
    call MPI_Cart_rank(comm: MPI_Comm, coords: *const c_int, rank: *mut c_int) [on comm] {
        place(rank, "rank")?.set(cartesian::rank(comm, read(coords, "coords"))?)
    }
    call MPI_Cart_shift(
        comm: MPI_Comm, direction: c_int, disp: c_int, rank_source: *mut c_int, rank_dest: *mut c_int,
    ) [on comm] {
        let (from, to) = (place(rank_source, "rank_source")?, place(rank_dest, "rank_dest")?);
        let (source, destination) = cartesian::shift(comm, direction, disp)?;
        from.set(source);
        to.set(destination)
    }
    call MPI_Graph_create(
        comm_old: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, _reorder: c_int,
        comm_graph: *mut MPI_Comm,
    ) [time GraphCreate(0) on comm_old] {
        let comm_graph = handle(comm_graph, "comm_graph")?;
        comm_graph.set(graph::create(comm_old, read_only(indx, nnodes.into(), ["indx", "nnodes"])?, read(edges, "edges"))?)
    }
    call MPI_Graph_map(
        comm: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, newrank: *mut c_int,
    ) [on comm] {
        let newrank = place(newrank, "newrank")?;
        newrank.set(graph::map(comm, read_only(indx, nnodes.into(), ["indx", "nnodes"])?, read(edges, "edges"))?)
    }
    call MPI_Graphdims_get(comm: MPI_Comm, nnodes: *mut c_int, nedges: *mut c_int) [on comm] {
        let (nodes, edges) = (place(nnodes, "nnodes")?, place(nedges, "nedges")?);
        let graph = graph::get(comm)?;
        nodes.set(graph.ends.len() as c_int);
        edges.set(graph.edges.len() as c_int)
    }
    call MPI_Graph_get(comm: MPI_Comm, maxindex: c_int, maxedges: c_int, indx: *mut c_int, edges: *mut c_int)
    [on comm] {
        let graph = graph::get(comm)?;
        store_all(graph::fitting("maxindex", maxindex, &as_ints(&graph.ends))?, indx, "indx")?;
        store_all(graph::fitting("maxedges", maxedges, &as_ints(&graph.edges))?, edges, "edges")?
    }
    call MPI_Graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: *mut c_int) [on comm] {
        place(nneighbors, "nneighbors")?.set(graph::neighbours(comm, rank)?.len() as c_int)
    }
    call MPI_Graph_neighbors(
        comm: MPI_Comm, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int,
    ) [on comm] {
        let all = graph::neighbours(comm, rank)?;
        store_all(graph::fitting("maxneighbors", maxneighbors, &all)?, neighbors, "neighbors")?
    }
    call MPI_Dist_graph_create(
        comm_old: MPI_Comm, n: c_int, sources: *const c_int, degrees: *const c_int, destinations: *const c_int,
        weights_: *const c_int, info: MPI_Info, _reorder: c_int, comm_dist_graph: *mut MPI_Comm,
    ) [time DistGraphCreate(0) on comm_old] {
        let comm_dist_graph = handle(comm_dist_graph, "comm_dist_graph")?;
        let (sources, degrees) = (read_only(sources, n.into(), ["sources", "n"])?, read_only(degrees, n.into(), ["degrees", "n"])?);
        let edges = sum(degrees)?;
        let destinations = read_only(destinations, edges.into(), ["destinations", "degrees"])?;
        let weights = weights(weights_, edges, "weights")?;
        info::check(info)?;
        comm_dist_graph.set(distributed::create(comm_old, sources, degrees, destinations, weights)?)
    }
    call MPI_Dist_graph_create_adjacent(
        comm_old: MPI_Comm, indegree: c_int, sources: *const c_int, sourceweights: *const c_int, outdegree: c_int,
        destinations: *const c_int, destweights: *const c_int, info: MPI_Info, _reorder: c_int,
        comm_dist_graph: *mut MPI_Comm,
    ) [time DistGraphCreateAdjacent(0) on comm_old] {
        let comm_dist_graph = handle(comm_dist_graph, "comm_dist_graph")?;
        let sources = read_only(sources, indegree.into(), ["sources", "indegree"])?;
        let destinations = read_only(destinations, outdegree.into(), ["destinations", "outdegree"])?;
        let from = (sources, weights(sourceweights, indegree, "sourceweights")?);
        let to = (destinations, weights(destweights, outdegree, "destweights")?);
        info::check(info)?;
        comm_dist_graph.set(distributed::create_adjacent(comm_old, from, to)?)
    }
    call MPI_Dist_graph_neighbors_count(
        comm: MPI_Comm, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int,
    ) [on comm] {
        let (indegree, outdegree) = (place(indegree, "indegree")?, place(outdegree, "outdegree")?);
        let weighted = place(weighted, "weighted")?;
        let own = distributed::get(comm)?;
        indegree.set(own.sources.len() as c_int);
        outdegree.set(own.destinations.len() as c_int);
        weighted.set(own.weights.is_some().into())
    }
    call MPI_Dist_graph_neighbors(
        comm: MPI_Comm, maxindegree: c_int, sources: *mut c_int, sourceweights: *mut c_int, maxoutdegree: c_int,
        destinations: *mut c_int, destweights: *mut c_int,
    ) [on comm] {
        let own = distributed::get(comm)?;
        store_all(graph::fitting("maxindegree", maxindegree, &as_ints(&own.sources))?, sources, "sources")?;
        let to = as_ints(&own.destinations);
        store_all(graph::fitting("maxoutdegree", maxoutdegree, &to)?, destinations, "destinations")?;
        if let Some((from, to)) = &own.weights {
            store_weights(graph::fitting("maxindegree", maxindegree, from)?, sourceweights, "sourceweights")?;
            store_weights(graph::fitting("maxoutdegree", maxoutdegree, to)?, destweights, "destweights")?;
        }
    }
}

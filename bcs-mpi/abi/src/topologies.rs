//! Chapter 8: process topologies.

use crate::edge::{array, read_only, store_all};
use bcs_mpi::constants::*;
use bcs_mpi::error::{MpiError, MpiResult};
use bcs_mpi::info;
use bcs_mpi::topology::{self, cartesian, distributed, graph, ints};
use std::ffi::c_int;

/// An array of the program that is read, of a number of dimensions.
unsafe fn dimensions<'a>(at: *const c_int, count: c_int, name: &'static str) -> MpiResult<&'a [c_int]> {
    if count < 0 {
        return Err(MpiError::argument(MPI_ERR_DIMS, "ndims", count, "it must not be negative"));
    }
    // SAFETY: the caller's promise.
    unsafe { read_only(at, count, [name, "ndims"]) }
}

/// Weights of so many edges; none for MPI_UNWEIGHTED.
unsafe fn read_weights<'a>(
    at: *const c_int,
    count: c_int,
    name: &'static str,
) -> MpiResult<Option<&'a [c_int]>> {
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
    unsafe { read_only(at, count, [name, "n"]) }.map(Some)
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

answers! {
    MPI_Topo_test(comm) -> status [on comm] = topology::test(comm);
    MPI_Cartdim_get(comm) -> ndims [on comm] = cartesian::dimensions(comm);
    MPI_Cart_coords(comm, rank, maxdims, coords) [on comm] =
        store_all(&cartesian::coords(comm, rank, maxdims)?, coords, "coords");
    MPI_Cart_rank(comm, coords) -> rank [on comm] = cartesian::rank(comm, read(coords, "coords"));
    MPI_Cart_create(comm_old, ndims, dims, periods, _reorder) -> comm_cart [timed(0) on comm_old] =
        cartesian::create(comm_old, dimensions(dims, ndims, "dims")?, dimensions(periods, ndims, "periods")?);
    MPI_Cart_map(comm, ndims, dims, periods) -> newrank [on comm] =
        cartesian::map(comm, dimensions(dims, ndims, "dims")?, dimensions(periods, ndims, "periods")?);
    MPI_Cart_sub(comm, remain_dims) -> newcomm [timed(0) on comm] =
        cartesian::sub(comm, read(remain_dims, "remain_dims"));
    MPI_Graph_create(comm_old, nnodes, indx: [nnodes], edges, _reorder) -> comm_graph [timed(0) on comm_old] =
        graph::create(comm_old, indx, read(edges, "edges"));
    MPI_Graph_map(comm, nnodes, indx: [nnodes], edges) -> newrank [on comm] =
        graph::map(comm, indx, read(edges, "edges"));
    MPI_Graph_neighbors_count(comm, rank) -> nneighbors [on comm] =
        graph::neighbours(comm, rank).map(|all| all.len() as c_int);
}

calls! {
    MPI_Dims_create(nnodes, ndims, dims) [] {
        dimensions(dims, ndims, "dims")?;
        topology::dims_create(nnodes, array(dims, ndims, ["dims", "ndims"])?)?
    }
    MPI_Cart_get(comm, maxdims, dims, periods, coords) [on comm] {
        let [of_dims, of_periods, own] = cartesian::get(comm, maxdims)?;
        store_all(&of_dims, dims, "dims")?;
        store_all(&of_periods, periods, "periods")?;
        store_all(&own, coords, "coords")?
    }
    MPI_Cart_shift(comm, direction, disp, rank_source: OUT, rank_dest: OUT) [on comm] {
        let (source, destination) = cartesian::shift(comm, direction, disp)?;
        rank_source.set(source);
        rank_dest.set(destination)
    }
    MPI_Graphdims_get(comm, nnodes: OUT, nedges: OUT) [on comm] {
        let graph = graph::get(comm)?;
        nnodes.set(graph.ends.len() as c_int);
        nedges.set(graph.edges.len() as c_int)
    }
    MPI_Graph_get(comm, maxindex, maxedges, indx, edges) [on comm] {
        let graph = graph::get(comm)?;
        store_all(graph::fitting("maxindex", maxindex, &ints(&graph.ends))?, indx, "indx")?;
        store_all(graph::fitting("maxedges", maxedges, &ints(&graph.edges))?, edges, "edges")?
    }
    MPI_Graph_neighbors(comm, rank, maxneighbors, neighbors) [on comm] {
        let all = graph::neighbours(comm, rank)?;
        store_all(graph::fitting("maxneighbors", maxneighbors, &all)?, neighbors, "neighbors")?
    }
    MPI_Dist_graph_create(
        comm_old, n, sources: [n], degrees: [n], destinations, weights, info, _reorder, comm_dist_graph: OUT,
    ) [timed(0) on comm_old] {
        let edges = sum(degrees)?;
        let destinations = read_only(destinations, edges, ["destinations", "degrees"])?;
        let weights = read_weights(weights, edges, "weights")?;
        info::check(info)?;
        comm_dist_graph.set(distributed::create(comm_old, sources, degrees, destinations, weights, info)?)
    }
    MPI_Dist_graph_create_adjacent(
        comm_old, indegree, sources: [indegree], sourceweights, outdegree, destinations: [outdegree],
        destweights, info, _reorder, comm_dist_graph: OUT,
    ) [timed(0) on comm_old] {
        let from = (sources, read_weights(sourceweights, indegree, "sourceweights")?);
        let to = (destinations, read_weights(destweights, outdegree, "destweights")?);
        info::check(info)?;
        comm_dist_graph.set(distributed::create_adjacent(comm_old, from, to, info)?)
    }
    MPI_Dist_graph_neighbors_count(comm, indegree: OUT, outdegree: OUT, weighted: OUT) [on comm] {
        let own = distributed::get(comm)?;
        indegree.set(own.sources.len() as c_int);
        outdegree.set(own.destinations.len() as c_int);
        weighted.set(own.weights.is_some().into())
    }
    MPI_Dist_graph_neighbors(
        comm, maxindegree, sources, sourceweights, maxoutdegree, destinations, destweights,
    ) [on comm] {
        let own = distributed::get(comm)?;
        store_all(graph::fitting("maxindegree", maxindegree, &ints(&own.sources))?, sources, "sources")?;
        let to = ints(&own.destinations);
        store_all(graph::fitting("maxoutdegree", maxoutdegree, &to)?, destinations, "destinations")?;
        if let Some([from, to]) = &own.weights {
            store_weights(graph::fitting("maxindegree", maxindegree, from)?, sourceweights, "sourceweights")?;
            store_weights(graph::fitting("maxoutdegree", maxoutdegree, to)?, destweights, "destweights")?;
        }
    }
}

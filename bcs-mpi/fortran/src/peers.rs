//! How many members a collective call has to do with, and how far its blocks reach.

use crate::c::*;
use crate::convert::{Handle, room};
use std::ffi::c_int;

/// How many blocks a collective has: members of the communicator, or of its remote group. Of no communicator
/// none: the call tells that.
pub fn members(comm: MPI_Comm) -> i64 {
    let (mut between, mut size) = (0, 0);
    if comm == MPI_Comm::NULL {
        return 0;
    }
    // SAFETY: the results have places.
    unsafe {
        PMPI_Comm_test_inter(comm, &mut between);
        if between != 0 {
            PMPI_Comm_remote_size(comm, &mut size)
        } else {
            PMPI_Comm_size(comm, &mut size)
        };
    }
    i64::from(size)
}

/// The neighbours of the calling process: those it receives from, and those it sends to.
fn neighbours(comm: MPI_Comm) -> (i64, i64) {
    let (mut kind, mut one, mut other, mut weighted) = (MPI_UNDEFINED, 0, 0, 0);
    if comm == MPI_Comm::NULL {
        return (0, 0);
    }
    // SAFETY: the results have places.
    unsafe {
        PMPI_Topo_test(comm, &mut kind);
        match kind {
            MPI_CART => {
                PMPI_Cartdim_get(comm, &mut one);
                (one, other) = (2 * one, 2 * one);
            }
            MPI_GRAPH => {
                PMPI_Comm_rank(comm, &mut other);
                PMPI_Graph_neighbors_count(comm, other, &mut one);
                other = one;
            }
            MPI_DIST_GRAPH => {
                PMPI_Dist_graph_neighbors_count(comm, &mut one, &mut other, &mut weighted);
            }
            _ => {}
        }
    }
    (i64::from(one), i64::from(other))
}

/// Neighbours that the calling process receives from.
pub fn sources(comm: MPI_Comm) -> i64 {
    neighbours(comm).0
}

/// Neighbours that it sends to.
pub fn destinations(comm: MPI_Comm) -> i64 {
    neighbours(comm).1
}

fn rank(comm: MPI_Comm) -> c_int {
    let mut rank = MPI_UNDEFINED;
    if comm != MPI_Comm::NULL {
        // SAFETY: the result has a place.
        unsafe { PMPI_Comm_rank(comm, &mut rank) };
    }
    rank
}

/// Whether the calling process is the root.
pub fn is_root(comm: MPI_Comm, root: c_int) -> bool {
    root == MPI_ROOT || (root >= 0 && rank(comm) == root)
}

/// The elements up to the end of the last block.
///
/// # Safety
/// The arrays must have `blocks` elements.
pub unsafe fn furthest<C: Copy + Into<i64>, D: Copy + Into<i64>>(
    counts: *const C,
    places: *const D,
    blocks: i64,
) -> Option<i64> {
    // SAFETY: the caller's promise.
    let ends = (0..room(blocks)).map(|at| unsafe { ((*counts.add(at)).into(), (*places.add(at)).into()) });
    ends.filter(|(count, _)| *count > 0).map(|(count, place): (i64, i64)| count.saturating_add(place)).max()
}

/// The elements of all blocks.
///
/// # Safety
/// The array must have `blocks` elements.
pub unsafe fn sum<C: Copy + Into<i64>>(counts: *const C, blocks: i64) -> i64 {
    // SAFETY: the caller's promise.
    (0..room(blocks)).map(|at| unsafe { (*counts.add(at)).into() }).fold(0, i64::saturating_add)
}

/// The elements of the calling process's block.
///
/// # Safety
/// The array must have as many elements as the communicator has members.
pub unsafe fn own<C: Copy + Into<i64>>(counts: *const C, comm: MPI_Comm) -> i64 {
    match usize::try_from(rank(comm)) {
        // SAFETY: the caller's promise.
        Ok(rank) => unsafe { (*counts.add(rank)).into() },
        Err(_) => 0,
    }
}

//! The calls about Cartesian topologies (MPI-5.0, §8.5.1, §8.5.5 to §8.5.8). Making one, and taking it apart,
//! costs one meeting: who goes where is computed.

use super::{ints, too_short};
use crate::communicator::new::{self, Kin};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::Communicator;
use crate::object::topology::{Grid, Topology};
use crate::process::{self, Process};
use mds::Primitive;
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_int;
use std::sync::Arc;

/// The grid of a communicator.
fn grid_of(communicator: &Communicator) -> MpiResult<&Arc<Grid>> {
    match &communicator.topology {
        Some(Topology::Cartesian(grid)) => Ok(grid),
        _ => Err(communicator.wrong_topology("a Cartesian topology")),
    }
}

/// The grid of a call's arguments, for at most as many processes as there are. With a dimension of 0 it is
/// nobody's, as in MPICH and Open MPI.
fn checked_grid(communicator: &Communicator, dims: &[c_int], periods: &[c_int]) -> MpiResult<Grid> {
    let mut product: u64 = 1;
    for &dim in dims {
        if dim < 0 {
            return Err(MpiError::argument(MPI_ERR_DIMS, "dims", dim, "dimensions must not be negative"));
        }
        product = product.saturating_mul(dim as u64);
    }
    if product > communicator.size as u64 {
        let (title, size) = (communicator.title(), communicator.size);
        let value = format!("a grid of {product} positions");
        return Err(MpiError::argument(MPI_ERR_DIMS, "dims", value, format!("{title} has {size} processes")));
    }
    Ok(Grid {
        dims: dims.iter().map(|&dim| dim as u32).collect(),
        periods: periods.iter().map(|&period| period != 0).collect(),
    })
}

/// MPI_Cart_create; ranks keep their order, and those beyond the grid get MPI_COMM_NULL.
///
/// # Errors
/// No such intracommunicator, a negative dimension, or a grid of more processes than there are.
pub fn create(comm: MPI_Comm, dims: &[c_int], periods: &[c_int]) -> MpiResult<MPI_Comm> {
    let mut process = process::enter()?;
    let communicator = process.intracommunicator("comm_old", comm)?;
    let grid = checked_grid(communicator, dims, periods)?;
    let group = communicator.group.first(grid.size());
    let kin = Kin { topology: Some(Topology::Cartesian(Arc::new(grid))), ..Kin::default() };
    new::part_of(&mut process, Primitive::CartCreate, comm, group, kin)
}

/// MPI_Cart_map: the rank that [`create()`] would give this process.
///
/// # Errors
/// As [`create()`].
pub fn map(comm: MPI_Comm, dims: &[c_int], periods: &[c_int]) -> MpiResult<c_int> {
    let process = process::enter()?;
    let communicator = process.intracommunicator("comm", comm)?;
    let grid = checked_grid(communicator, dims, periods)?;
    let CommRank(rank) = communicator.rank;
    Ok(if rank < grid.size() { rank as c_int } else { MPI_UNDEFINED })
}

/// MPI_Cart_sub: `remain` answers for as many dimensions as the grid has which of them stay: those not 0.
///
/// # Errors
/// No such communicator, or one without a grid.
pub fn sub(comm: MPI_Comm, remain: impl FnOnce(usize) -> MpiResult<Vec<c_int>>) -> MpiResult<MPI_Comm> {
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let grid = grid_of(communicator)?;
    let remain: Vec<bool> = remain(grid.dims.len())?.iter().map(|&keep| keep != 0).collect();
    let (part, members) = grid.part(communicator.rank, &remain);
    let group = communicator.group.choose(&members);
    let kin = Kin { topology: Some(Topology::Cartesian(Arc::new(part))), ..Kin::default() };
    new::part_of(&mut process, Primitive::CartSub, comm, group, kin)
}

/// MPI_Cartdim_get.
///
/// # Errors
/// No such communicator, or one without a grid.
pub fn dimensions(comm: MPI_Comm) -> MpiResult<c_int> {
    Ok(grid_of(process::enter()?.communicator(comm)?)?.dims.len() as c_int)
}

fn room(grid: &Grid, maxdims: c_int) -> MpiResult {
    if i64::from(maxdims) < grid.dims.len() as i64 {
        return Err(too_short(MPI_ERR_DIMS, "maxdims", maxdims, grid.dims.len()));
    }
    Ok(())
}

/// MPI_Cart_get: processes in each dimension, whether it is a ring, and the calling process's coordinates.
///
/// # Errors
/// No such communicator, one without a grid, or one of more dimensions than the arrays hold.
pub fn get(comm: MPI_Comm, maxdims: c_int) -> MpiResult<[Vec<c_int>; 3]> {
    let process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let grid = grid_of(communicator)?;
    room(grid, maxdims)?;
    let periods = grid.periods.iter().map(|&ring| ring.into()).collect();
    Ok([ints(&grid.dims), periods, ints(&grid.coordinates(communicator.rank))])
}

/// MPI_Cart_coords.
///
/// # Errors
/// As [`get`], and a rank out of range.
pub fn coords(comm: MPI_Comm, rank: c_int, maxdims: c_int) -> MpiResult<Vec<c_int>> {
    let process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let grid = grid_of(communicator)?;
    let rank = communicator.member("rank", rank)?;
    room(grid, maxdims)?;
    Ok(ints(&grid.coordinates(rank)))
}

/// MPI_Cart_rank: `read` answers as many coordinates as the grid has dimensions.
///
/// # Errors
/// No such communicator, one without a grid, or a coordinate beyond a border.
pub fn rank(comm: MPI_Comm, read: impl FnOnce(usize) -> MpiResult<Vec<c_int>>) -> MpiResult<c_int> {
    let process = process::enter()?;
    let grid = grid_of(process.communicator(comm)?)?;
    let coordinate = |(d, value): (usize, c_int)| {
        grid.wrap(d, value.into()).ok_or_else(|| {
            let allowed = format!("dimension {d} is no ring and has the coordinates 0..{}", grid.dims[d] - 1);
            MpiError::argument(MPI_ERR_ARG, "coords", value, allowed)
        })
    };
    let given = read(grid.dims.len())?.into_iter().enumerate();
    let coordinates: Vec<u32> = given.map(coordinate).collect::<MpiResult<_>>()?;
    Ok(grid.rank(&coordinates).0 as c_int)
}

/// MPI_Cart_shift: the source and the destination of a shift; MPI_PROC_NULL beyond a border.
///
/// # Errors
/// No such communicator, one without a grid, or no such dimension.
pub fn shift(comm: MPI_Comm, direction: c_int, disp: c_int) -> MpiResult<(c_int, c_int)> {
    let process: &Process = &*process::enter()?;
    let communicator = process.communicator(comm)?;
    let grid = grid_of(communicator)?;
    let Some(dimension) = usize::try_from(direction).ok().filter(|&d| d < grid.dims.len()) else {
        let allowed = format!("the grid has {} dimensions, counted from 0", grid.dims.len());
        return Err(MpiError::argument(MPI_ERR_DIMS, "direction", direction, allowed));
    };
    let neighbour = |steps| grid.neighbour(communicator.rank, dimension, steps);
    let at = |steps| neighbour(steps).map_or(MPI_PROC_NULL, |rank| rank.0 as c_int);
    Ok((at(-i64::from(disp)), at(disp.into())))
}

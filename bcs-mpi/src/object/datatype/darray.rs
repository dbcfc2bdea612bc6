//! MPI_Type_create_darray (MPI-5.0, §5.1.4): a process's share of an array that is distributed over a grid of
//! processes, each dimension in blocks, cyclically or not at all.
//!
//! Blocks are a special case of cyclic: one round. The type has the bounds of the whole array, set by
//! markers. The grid is in row-major order whatever the order of the array.

use super::placement::{Placement, TooLarge, product};
use super::subarray::inside_out;
use crate::constants::*;
use std::ffi::c_int;

/// The arguments of MPI_Type_create_darray.
#[derive(Clone, Debug)]
pub struct Darray {
    /// Processes.
    pub size: c_int,
    /// Whose share it is.
    pub rank: c_int,
    /// Elements of the array, by dimension.
    pub gsizes: Box<[i64]>,
    /// How each dimension is distributed: MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE.
    pub distribs: Box<[c_int]>,
    /// Elements of a block, or MPI_DISTRIBUTE_DFLT_DARG.
    pub dargs: Box<[c_int]>,
    /// Processes, by dimension.
    pub psizes: Box<[c_int]>,
    /// Whether the neighbours of the first dimension lie together (MPI_ORDER_FORTRAN) or of the last
    /// (MPI_ORDER_C).
    pub order: c_int,
}

impl Darray {
    /// The process's place in the grid.
    fn coordinates(&self) -> Vec<i64> {
        let mut rank = self.rank;
        let mut below = self.size;
        let place = |&psize: &c_int| {
            below /= psize;
            let coordinate = rank / below;
            rank %= below;
            coordinate as i64
        };
        self.psizes.iter().map(place).collect()
    }

    /// Elements of a block of a dimension, blocks of all processes in a round, and this process's place among
    /// them.
    fn blocks(&self, dimension: usize, coordinate: i64) -> (i64, i64, i64) {
        let (elements, processes) = (self.gsizes[dimension], self.psizes[dimension] as i64);
        let given = self.dargs[dimension];
        match self.distribs[dimension] {
            MPI_DISTRIBUTE_NONE => (elements, 1, 0),
            MPI_DISTRIBUTE_BLOCK if given == MPI_DISTRIBUTE_DFLT_DARG => {
                ((elements - 1) / processes + 1, processes, coordinate)
            }
            _ if given == MPI_DISTRIBUTE_DFLT_DARG => (1, processes, coordinate),
            _ => (given as i64, processes, coordinate),
        }
    }
}

pub(super) fn place_darray<P: Placement>(darray: &Darray, of: P, mut extent: i64) -> Result<P, TooLarge> {
    let coordinates = darray.coordinates();
    let mut placed = of;
    for dimension in inside_out(darray.gsizes.len(), darray.order) {
        let (block, processes, coordinate) = darray.blocks(dimension, coordinates[dimension]);
        let elements = darray.gsizes[dimension];
        let first = i128::from(block) * i128::from(coordinate);
        let round = i128::from(block) * i128::from(processes);
        let mut series = P::Series::default();
        if first < elements as i128 {
            // Both fit: they are less than the elements.
            let first = first as i64;
            let left = elements - first;
            let rounds = (left as i128 - block as i128).max(-1).div_euclid(round) + 1;
            let whole = rounds as i64;
            if whole > 0 {
                let stride = if whole > 1 { product(round as i64, extent)? } else { 0 };
                let blocks = placed.clone().repeated(block, extent)?.repeated(whole, stride)?;
                blocks.shifted(product(first, extent)?)?.follow(&mut series)?;
            }
            // The last block may be cut by the end of the array.
            let begin = first as i128 + whole as i128 * round;
            if begin < elements as i128 {
                let begin = begin as i64;
                let part = placed.clone().repeated((elements - begin).min(block), extent)?;
                part.shifted(product(begin, extent)?)?.follow(&mut series)?;
            }
        }
        placed = P::of_series(series);
        extent = product(extent, elements)?;
    }
    Ok(placed.bounded(0, extent))
}

//! MPI_Type_create_subarray (MPI-5.0, §5.1.3): a box out of an array of several dimensions.
//!
//! The type has the bounds of the whole array, set by markers.

use super::placement::{Placement, TooLarge, product, sum};
use crate::constants::MPI_ORDER_FORTRAN;
use std::ffi::c_int;

/// The arguments of MPI_Type_create_subarray.
#[derive(Clone, Debug)]
pub struct Subarray {
    /// Elements of the array, by dimension.
    pub sizes: Box<[i64]>,
    /// Elements of the box.
    pub subsizes: Box<[i64]>,
    /// Where the box begins.
    pub starts: Box<[i64]>,
    /// Whether the neighbours of the first dimension lie together (MPI_ORDER_FORTRAN) or of the last
    /// (MPI_ORDER_C).
    pub order: c_int,
}

/// Dimensions from the one whose neighbours lie together outwards.
pub(super) fn inside_out(dimensions: usize, order: c_int) -> impl Iterator<Item = usize> {
    (0..dimensions).map(move |i| if order == MPI_ORDER_FORTRAN { i } else { dimensions - 1 - i })
}

pub(super) fn place_subarray<P: Placement>(
    subarray: &Subarray,
    of: P,
    mut extent: i64,
) -> Result<P, TooLarge> {
    let mut placed = of;
    let mut start = 0;
    for dimension in inside_out(subarray.sizes.len(), subarray.order) {
        placed = placed.repeated(subarray.subsizes[dimension], extent)?;
        start = sum(start, product(subarray.starts[dimension], extent)?)?;
        extent = product(extent, subarray.sizes[dimension])?;
    }
    Ok(placed.shifted(start)?.bounded(0, extent))
}

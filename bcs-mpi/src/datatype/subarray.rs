//! MPI_Type_create_subarray (MPI-5.0, §5.1.3): a box out of an array of several dimensions.
//!
//! The type has the bounds of the whole array, set by markers.

use super::placement::{Placement, TooLarge, product, sum};
use super::typemap::Type;
use std::sync::Arc;

/// The arguments of MPI_Type_create_subarray.
#[derive(Debug)]
pub struct Subarray {
    /// Elements of the array, by dimension.
    pub sizes: Box<[i64]>,
    /// Elements of the box.
    pub subsizes: Box<[i64]>,
    /// Where the box begins.
    pub starts: Box<[i64]>,
    /// Whether the first dimension is the one whose neighbours lie together (MPI_ORDER_FORTRAN).
    pub fortran: bool,
    /// The type of an element.
    pub of: Arc<Type>,
}

/// Dimensions from the one whose neighbours lie together outwards.
pub(super) fn inside_out(dimensions: usize, fortran: bool) -> impl Iterator<Item = usize> {
    (0..dimensions).map(move |i| if fortran { i } else { dimensions - 1 - i })
}

pub(super) fn place_subarray<P: Placement>(
    subarray: &Subarray,
    component: &mut dyn FnMut(&Arc<Type>) -> P,
) -> Result<P, TooLarge> {
    let mut placed = component(&subarray.of);
    let mut extent = subarray.of.extent();
    let mut start = 0;
    for dimension in inside_out(subarray.sizes.len(), subarray.fortran) {
        placed = placed.repeated(subarray.subsizes[dimension], extent)?;
        start = sum(start, product(subarray.starts[dimension], extent)?)?;
        extent = product(extent, subarray.sizes[dimension])?;
    }
    Ok(placed.shifted(start)?.bounded(0, extent))
}

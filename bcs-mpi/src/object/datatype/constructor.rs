//! Constructors: the call that a type was made by, with its arguments (MPI-5.0, §5.1.13), and what it means
//! (§5.1.2 to §5.1.7): copies of component types, placed. Component types are the [`Type`](super::Type)'s.

use super::darray::{Darray, place_darray};
use super::placement::{Placement, TooLarge, product, sum};
use super::subarray::{Subarray, place_subarray};
use crate::constants::Datatype;
use std::ffi::c_int;

/// What strides and displacements count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Extents of the component.
    Extents,
    /// Bytes: the forms with an H, and structs.
    Bytes,
}

/// A constructor call.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Constructor {
    /// None: a predefined type.
    Named(&'static Datatype),
    /// MPI_Type_create_f90_real, _complex or _integer: a predefined type by another name.
    F90 { combiner: c_int, arguments: Vec<c_int>, of: &'static Datatype },
    /// MPI_Type_dup.
    Dup,
    /// MPI_Type_contiguous.
    Contiguous { count: i64 },
    /// MPI_Type_vector, MPI_Type_create_hvector.
    Vector { count: i64, blocklength: i64, stride: i64, unit: Unit },
    /// MPI_Type_indexed, MPI_Type_create_hindexed.
    Indexed { blocklengths: Box<[i64]>, displacements: Box<[i64]>, unit: Unit },
    /// MPI_Type_create_indexed_block, MPI_Type_create_hindexed_block.
    IndexedBlock { blocklength: i64, displacements: Box<[i64]>, unit: Unit },
    /// MPI_Type_create_struct: as many components as blocks; all others have one.
    Struct { blocklengths: Box<[i64]>, displacements: Box<[i64]> },
    /// MPI_Type_create_subarray.
    Subarray(Subarray),
    /// MPI_Type_create_darray.
    Darray(Darray),
    /// MPI_Type_create_resized.
    Resized { lb: i64, extent: i64 },
}

impl Constructor {
    /// Puts the copies of the components in their places. `component` answers what stands for one, and its
    /// extent.
    ///
    /// # Errors
    /// They reach too far.
    pub fn place<T, P: Placement>(
        &self,
        components: &[T],
        component: &mut dyn FnMut(&T) -> (P, i64),
    ) -> Result<P, TooLarge> {
        use Constructor as C;
        if let C::Struct { blocklengths, displacements } = self {
            let mut series = P::Series::default();
            for ((count, at), of) in blocklengths.iter().zip(displacements).zip(components) {
                if *count > 0 {
                    let (placed, extent) = component(of);
                    placed.repeated(*count, extent)?.shifted(*at)?.follow(&mut series)?;
                }
            }
            return Ok(P::of_series(series));
        }
        let [only] = components else { unreachable!("a type without components is not placed") };
        let (placed, extent) = component(only);
        let bytes = |unit: &Unit| if *unit == Unit::Bytes { 1 } else { extent };
        match self {
            C::Named(_) | C::F90 { .. } | C::Struct { .. } | C::Dup => Ok(placed),
            C::Contiguous { count } => placed.repeated(*count, extent),
            C::Vector { count, blocklength, stride, unit } => {
                // A stride between fewer than two blocks does not matter.
                let stride = if *count > 1 && *blocklength > 0 { product(*stride, bytes(unit))? } else { 0 };
                placed.repeated(*blocklength, extent)?.repeated(*count, stride)
            }
            C::Indexed { blocklengths, displacements, unit } => {
                indexed(&placed, extent, blocklengths.iter().zip(displacements), bytes(unit))
            }
            C::IndexedBlock { blocklength, displacements, unit } => {
                indexed(&placed, extent, displacements.iter().map(|at| (blocklength, at)), bytes(unit))
            }
            C::Subarray(subarray) => place_subarray(subarray, placed, extent),
            C::Darray(darray) => place_darray(darray, placed, extent),
            C::Resized { lb, extent } => Ok(placed.bounded(*lb, sum(*lb, *extent)?)),
        }
    }
}

fn indexed<'a, P: Placement>(
    of: &P,
    extent: i64,
    blocks: impl Iterator<Item = (&'a i64, &'a i64)>,
    unit: i64,
) -> Result<P, TooLarge> {
    let mut series = P::Series::default();
    for (&count, &at) in blocks {
        if count > 0 {
            of.clone().repeated(count, extent)?.shifted(product(at, unit)?)?.follow(&mut series)?;
        }
    }
    Ok(P::of_series(series))
}

//! Constructors: the call that a type was made by, with its arguments (MPI-5.0, §5.1.13). Component types are
//! the [`Type`](super::Type)'s.

use super::darray::Darray;
use super::subarray::Subarray;
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

//! The constructor calls (MPI-5.0, §5.1.2 to §5.1.7, §5.1.10): their arguments are checked, and become a `Constructor`.
//!
//! `large` says that the call was the one with large counts (NAME_c): what MPI_Type_get_contents answers depends on it.

mod arrays;
mod fortran;

pub use arrays::{Distribution, create_darray, create_subarray};
pub use fortran::{create_f90_complex, create_f90_integer, create_f90_real, get_value_index, match_size};

use super::constructor::Constructor;
use super::typemap::Type;
use crate::attributes;
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::{self, Process};
use std::sync::Arc;

/// Component of a type by its handle.
fn component(process: &Process, argument: &'static str, handle: MPI_Datatype) -> MpiResult<Arc<Type>> {
    process.datatypes.find(argument, handle).cloned()
}

/// Makes a type.
fn make(process: &mut Process, constructor: Constructor, large: bool) -> MpiResult<MPI_Datatype> {
    let made = Type::new(constructor, large).map_err(|_| MpiError::new(Problem::TypeTooLarge))?;
    Ok(process.datatypes.insert(made, false))
}

/// A count or a length, which must not be negative.
fn not_negative(argument: &'static str, value: i64) -> MpiResult {
    if value < 0 {
        return Err(MpiError::new(Problem::Count { argument, value, allowed: "it must not be negative" }));
    }
    Ok(())
}

#[cold]
fn wrong_element(argument: &'static str, index: usize, value: i64, allowed: &str) -> MpiError {
    MpiError::argument(MPI_ERR_ARG, argument, format!("{value} at index {index}"), allowed)
}

fn none_negative(argument: &'static str, values: &[i64]) -> MpiResult {
    match values.iter().position(|value| *value < 0) {
        Some(index) => Err(wrong_element(argument, index, values[index], "it must not be negative")),
        None => Ok(()),
    }
}

/// MPI_Type_contiguous.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn contiguous(large: bool, count: i64, oldtype: MPI_Datatype) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    not_negative("count", count)?;
    let of = component(&process, "oldtype", oldtype)?;
    make(&mut process, Constructor::Contiguous { count, of }, large)
}

/// MPI_Type_vector: `stride` in extents of `oldtype`.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn vector(
    large: bool,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: MPI_Datatype,
) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    not_negative("count", count)?;
    not_negative("blocklength", blocklength)?;
    let of = component(&process, "oldtype", oldtype)?;
    make(&mut process, Constructor::Vector { count, blocklength, stride, of }, large)
}

/// MPI_Type_create_hvector: `stride` in bytes.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn create_hvector(
    large: bool,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: MPI_Datatype,
) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    not_negative("count", count)?;
    not_negative("blocklength", blocklength)?;
    let of = component(&process, "oldtype", oldtype)?;
    make(&mut process, Constructor::Hvector { count, blocklength, stride, of }, large)
}

/// MPI_Type_indexed: displacements in extents of `oldtype`.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn indexed(
    large: bool,
    blocklengths: Box<[i64]>,
    displacements: Box<[i64]>,
    oldtype: MPI_Datatype,
) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    none_negative("array_of_blocklengths", &blocklengths)?;
    let of = component(&process, "oldtype", oldtype)?;
    make(&mut process, Constructor::Indexed { blocklengths, displacements, of }, large)
}

/// MPI_Type_create_hindexed: displacements in bytes.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn create_hindexed(
    large: bool,
    blocklengths: Box<[i64]>,
    displacements: Box<[i64]>,
    oldtype: MPI_Datatype,
) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    none_negative("array_of_blocklengths", &blocklengths)?;
    let of = component(&process, "oldtype", oldtype)?;
    make(&mut process, Constructor::Hindexed { blocklengths, displacements, of }, large)
}

/// MPI_Type_create_indexed_block: displacements in extents of `oldtype`.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn create_indexed_block(
    large: bool,
    blocklength: i64,
    displacements: Box<[i64]>,
    oldtype: MPI_Datatype,
) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    not_negative("blocklength", blocklength)?;
    let of = component(&process, "oldtype", oldtype)?;
    make(&mut process, Constructor::IndexedBlock { blocklength, displacements, of }, large)
}

/// MPI_Type_create_hindexed_block: displacements in bytes.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn create_hindexed_block(
    large: bool,
    blocklength: i64,
    displacements: Box<[i64]>,
    oldtype: MPI_Datatype,
) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    not_negative("blocklength", blocklength)?;
    let of = component(&process, "oldtype", oldtype)?;
    make(&mut process, Constructor::HindexedBlock { blocklength, displacements, of }, large)
}

/// MPI_Type_create_struct: displacements in bytes.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn create_struct(
    large: bool,
    blocklengths: Box<[i64]>,
    displacements: Box<[i64]>,
    types: &[MPI_Datatype],
) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    none_negative("array_of_blocklengths", &blocklengths)?;
    let types =
        types.iter().map(|of| component(&process, "array_of_types", *of)).collect::<MpiResult<_>>()?;
    make(&mut process, Constructor::Struct { blocklengths, displacements, types }, large)
}

/// MPI_Type_create_resized: bounds set.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn create_resized(large: bool, oldtype: MPI_Datatype, lb: i64, extent: i64) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    let of = component(&process, "oldtype", oldtype)?;
    make(&mut process, Constructor::Resized { lb, extent, of }, large)
}

/// MPI_Type_dup: the same type with copies of the attributes whose keys say so; committed if the old one is.
///
/// # Errors
/// No such datatype, or a copy callback refuses.
pub fn dup(oldtype: MPI_Datatype) -> MpiResult<MPI_Datatype> {
    let (of, committed) = {
        let process = process::enter()?;
        let of = component(&process, "oldtype", oldtype)?;
        (of, process.datatypes.is_committed("oldtype", oldtype)?)
    };
    let copied = attributes::copy_all(oldtype)?;
    let mut process = process::enter()?;
    let handle = make(&mut process, Constructor::Dup(of), false)?;
    if committed {
        process.datatypes.commit("oldtype", handle)?;
    }
    process.datatypes.labels_mut("oldtype", handle)?.attributes = copied;
    Ok(handle)
}

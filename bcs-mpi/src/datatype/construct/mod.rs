//! The constructor calls (MPI-5.0, §5.1.2 to §5.1.7, §5.1.10): their arguments, a [`Constructor`], are
//! checked, and become a type.
//!
//! `large` says that the call was the one with large counts (NAME_c): what MPI_Type_get_contents answers
//! depends on it.

mod arrays;
mod fortran;
mod marked;

pub use fortran::{create_f90_complex, create_f90_integer, create_f90_real, get_value_index, match_size};
pub use marked::create_marked_struct;

pub use crate::object::datatype::constructor::{Constructor, Unit};
pub use crate::object::datatype::darray::Darray;
pub use crate::object::datatype::subarray::Subarray;

use crate::attributes;
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::datatype::buffer::wrong_count;
use crate::object::datatype::typemap::Type;
use crate::process::{self, Process};
use std::sync::Arc;

/// Makes a type.
fn make(
    process: &mut Process,
    constructor: Constructor,
    components: Box<[Arc<Type>]>,
    large: bool,
) -> MpiResult<MPI_Datatype> {
    let made = Type::new(constructor, components, large);
    let made = made.map_err(|_| MpiError::new(Problem::TypeTooLarge))?;
    Ok(process.datatypes.insert(made, false))
}

/// A count or a length, which must not be negative.
fn not_negative(argument: &'static str, value: i64) -> MpiResult {
    if value < 0 {
        return Err(wrong_count(argument, value));
    }
    Ok(())
}

#[cold]
fn wrong_element(argument: &'static str, index: usize, value: i64, allowed: &str) -> MpiError {
    MpiError::argument(MPI_ERR_ARG, argument, format!("{value} at index {index}"), allowed)
}

/// Checks the arguments of a call.
fn check(constructor: &Constructor) -> MpiResult {
    use Constructor as C;
    match constructor {
        C::Contiguous { count } => not_negative("count", *count),
        C::Vector { count, blocklength, .. } => {
            not_negative("count", *count)?;
            not_negative("blocklength", *blocklength)
        }
        C::Indexed { blocklengths, .. } | C::Struct { blocklengths, .. } => {
            match blocklengths.iter().position(|length| *length < 0) {
                Some(at) => {
                    let allowed = "it must not be negative";
                    Err(wrong_element("array_of_blocklengths", at, blocklengths[at], allowed))
                }
                None => Ok(()),
            }
        }
        C::IndexedBlock { blocklength, .. } => not_negative("blocklength", *blocklength),
        C::Subarray(subarray) => subarray.check(),
        C::Darray(darray) => darray.check(),
        C::Named(_) | C::F90 { .. } | C::Dup | C::Resized { .. } => Ok(()),
    }
}

/// MPI_Type_contiguous, MPI_Type_vector and the like: a type of these components, the argument of this name.
///
/// # Errors
/// Wrong arguments, or a type that is too large.
pub fn create(
    large: bool,
    constructor: Constructor,
    (argument, types): (&'static str, &[MPI_Datatype]),
) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    check(&constructor)?;
    let components = types.iter().map(|of| process.datatypes.find(argument, *of).cloned());
    let components = components.collect::<MpiResult<_>>()?;
    make(&mut process, constructor, components, large)
}

/// MPI_Type_dup: the same type with copies of the attributes whose keys say so; committed if the old one is.
///
/// # Errors
/// No such datatype, or a copy callback refuses.
pub fn dup(oldtype: MPI_Datatype) -> MpiResult<MPI_Datatype> {
    let (of, committed) = {
        let process = process::enter()?;
        let of = process.datatypes.find("oldtype", oldtype)?.clone();
        (of, process.datatypes.committed("oldtype", oldtype).is_ok())
    };
    let copied = attributes::copy_all(oldtype)?;
    let mut process = process::enter()?;
    let handle = make(&mut process, Constructor::Dup, [of].into(), false)?;
    if committed {
        process.datatypes.commit("oldtype", handle)?;
    }
    process.datatypes.labels_mut("oldtype", handle)?.attributes = copied;
    Ok(handle)
}

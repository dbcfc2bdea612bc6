//! Types of Fortran by what they can hold (MPI-5.0, §19.1.9), and pairs by their halves (§6.9.4).
//!
//! Kinds are those of the Fortran compilers of x86-64 Linux that have the 80-bit format: integers of 1 to 16
//! bytes, reals of 4, 8, 10 (in 16 bytes) and 16. The type is a predefined one under another name: the same
//! arguments give the same handle, committed, never freed.

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::{basic, contiguous_bytes};
use crate::process;
use std::ffi::c_int;

/// Decimal digits and decimal exponent of a format, with the real and the complex type that have it.
const REALS: [(c_int, c_int, MPI_Datatype, MPI_Datatype); 4] = [
    (6, 37, MPI_REAL4, MPI_COMPLEX8),
    (15, 307, MPI_REAL8, MPI_COMPLEX16),
    (18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX),
    (33, 4931, MPI_REAL16, MPI_COMPLEX32),
];

/// Decimal digits that an integer holds all numbers of.
const INTEGERS: [(c_int, MPI_Datatype); 5] =
    [(2, MPI_INTEGER1), (4, MPI_INTEGER2), (9, MPI_INTEGER4), (18, MPI_INTEGER8), (38, MPI_INTEGER16)];

#[cold]
fn no_kind(argument: &'static str, value: c_int, most: c_int) -> MpiError {
    let allowed = format!("it must be 0 to {most}, or MPI_UNDEFINED where the other argument says enough");
    MpiError::argument(MPI_ERR_ARG, argument, value, allowed)
}

/// The narrowest format with `p` digits and exponents up to `r`; either may be MPI_UNDEFINED.
fn format_of(p: c_int, r: c_int) -> MpiResult<&'static (c_int, c_int, MPI_Datatype, MPI_Datatype)> {
    let last = &REALS[REALS.len() - 1];
    let given = |value: c_int| if value == MPI_UNDEFINED { 0 } else { value };
    let (digits, exponent) = (given(p), given(r));
    if digits < 0 || digits > last.0 || (p == MPI_UNDEFINED && r == MPI_UNDEFINED) {
        return Err(no_kind("p", p, last.0));
    }
    if exponent < 0 || exponent > last.1 {
        return Err(no_kind("r", r, last.1));
    }
    Ok(REALS.iter().find(|of| digits <= of.0 && exponent <= of.1).unwrap_or(last))
}

fn named(combiner: c_int, arguments: Vec<c_int>, datatype: MPI_Datatype) -> MpiResult<MPI_Datatype> {
    let mut process = process::enter()?;
    match predefined_datatype(datatype) {
        Some(known) => Ok(process.datatypes.fortran(combiner, arguments, known)),
        None => Ok(MPI_DATATYPE_NULL),
    }
}

/// MPI_Type_create_f90_real.
///
/// # Errors
/// No such kind.
pub fn create_f90_real(p: c_int, r: c_int) -> MpiResult<MPI_Datatype> {
    process::enter()?;
    named(MPI_COMBINER_F90_REAL, vec![p, r], format_of(p, r)?.2)
}

/// MPI_Type_create_f90_complex.
///
/// # Errors
/// No such kind.
pub fn create_f90_complex(p: c_int, r: c_int) -> MpiResult<MPI_Datatype> {
    process::enter()?;
    named(MPI_COMBINER_F90_COMPLEX, vec![p, r], format_of(p, r)?.3)
}

/// MPI_Type_create_f90_integer.
///
/// # Errors
/// No such kind.
pub fn create_f90_integer(r: c_int) -> MpiResult<MPI_Datatype> {
    process::enter()?;
    match INTEGERS.iter().find(|of| (0..=of.0).contains(&r)) {
        Some((_, datatype)) => named(MPI_COMBINER_F90_INTEGER, vec![r], *datatype),
        None => Err(MpiError::argument(MPI_ERR_ARG, "r", r, "it must be 0 to 38")),
    }
}

/// MPI_Type_match_size: the Fortran type of a class and a size in bytes.
///
/// # Errors
/// No such class, or none of its types has the size.
pub fn match_size(typeclass: c_int, size: c_int) -> MpiResult<MPI_Datatype> {
    process::enter()?;
    let types = match typeclass {
        MPI_TYPECLASS_INTEGER => &INTEGERS.map(|(_, datatype)| datatype)[..],
        MPI_TYPECLASS_REAL => &[MPI_REAL2, MPI_REAL4, MPI_REAL8, MPI_REAL16],
        MPI_TYPECLASS_COMPLEX => &[MPI_COMPLEX4, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32],
        _ => {
            let allowed = "it must be MPI_TYPECLASS_INTEGER, _REAL or _COMPLEX";
            return Err(MpiError::argument(MPI_ERR_ARG, "typeclass", typeclass, allowed));
        }
    };
    let is_it = |of: &&MPI_Datatype| contiguous_bytes(**of) == usize::try_from(size).ok();
    types.iter().find(is_it).copied().ok_or_else(|| {
        MpiError::argument(MPI_ERR_ARG, "size", size, "no type of that class has so many bytes")
    })
}

/// MPI_Type_get_value_index: the pair for MPI_MINLOC and MPI_MAXLOC; MPI_DATATYPE_NULL when there is none.
///
/// # Errors
/// No such datatypes.
pub fn get_value_index(value_type: MPI_Datatype, index_type: MPI_Datatype) -> MpiResult<MPI_Datatype> {
    let process = process::enter()?;
    process.datatypes.find("value_type", value_type)?;
    process.datatypes.find("index_type", index_type)?;
    Ok(basic::pair_of(value_type, index_type).unwrap_or(MPI_DATATYPE_NULL))
}
